"""Import of revisions from Vertex AI Agent Engine, by way of an archive (pure).

A revision has the fact of its memory at that time, or the data of a profile. Other content comes
from the memory, unless the revision has it too. Source: wire specification, section 6.
"""

import hashlib
import json
import re
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from app.kernel.names import MAX_INT64
from app.kernel.release import RELEASE
from app.kernel.wire.base import camel_name
from app.memory.memories.logic.provenance import named_in
from app.memory.transfer.logic.fields import Kind
from app.memory.transfer.logic.format import REVISIONS_IN_LINE, ArchiveWriter, Header
from app.memory.transfer.logic.importers.drafts import ItemError, Json, Record, fields_of
from app.memory.transfer.logic.importers.rules import moment_of
from app.memory.transfer.logic.memory_kinds import ENGINE, MEMORY, REVISION

CONTAINERS = ("memoryRevisions", "memory_revisions")
_NAME = re.compile(r"(?:.*/)?memories/([^/]+)/revisions/([^/]+)")
_DIGITS = re.compile(r"[0-9]{1,19}")
_LIFE = timedelta(days=365)
"""Lifetime of a revision without an expiry time, as in the source."""
_FIRST_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_OWN = ("displayName", "description", "topics", "metadata", "context")
"""Content that revisions of this service have, but revisions of Vertex normally lack."""
_CONTENT = (*_OWN, "fact", "structuredContent", "memoryType")
_REMOVED = ("fact", "structuredContent")
_DATA = "structuredData"
_DELETED = "DELETED"
_MADE_ID_CHARS = 15
_NAMESPACE = uuid.UUID("8d1f2c35-6f0a-5d3e-9b57-2f6f0f6f9a11")

Check = Callable[[Json], Json]
"""Validator that returns a memory's fields in the API's form, or raises ItemError."""


@dataclass(frozen=True)
class ListedRevision:
    """A revision from the source's list.

    Attributes:
        record: the record of the revision.
        memory: id of the memory at the source.
        revision_id: id of the revision; None if it is not a 64-bit number.
        content: the memory's content fields that the revision has.
        extracted: unchecked `extractedMemories`.
        is_deletion: True if the revision has neither a fact nor the data of a profile.
    """

    record: Record
    memory: str
    revision_id: int | None
    create_time: datetime
    expire_time: datetime
    content: Json
    labels: Json
    extracted: Any
    is_deletion: bool


def read_revision(record: Record, now: datetime) -> ListedRevision:
    """Read a revision with names in camelCase or snake_case.

    Raises:
        ItemError: the record is not a revision, or its time is not between 1970 and `now`.
    """
    if record.error is not None:
        raise ItemError("NOT_JSON", record.error)
    item = {camel_name(name): inner for name, inner in fields_of(record.value).items()}
    match = _NAME.fullmatch(str(fields_of(item, "name", "createTime")["name"]))
    if match is None:
        raise ItemError("ITEM_UNKNOWN", "The name must be that of a memory's revision.")
    memory, number = match.groups()
    created = _time_of(item["createTime"], now)
    content = {name: item[name] for name in _OWN if item.get(name) is not None}
    if item.get("fact"):
        content["fact"] = item["fact"]
    if item.get(_DATA):
        content[_DATA] = item[_DATA]
    is_number = _DIGITS.fullmatch(number) is not None and int(number) <= MAX_INT64
    return ListedRevision(
        record,
        memory,
        int(number) if is_number else None,
        created,
        moment_of(item.get("expireTime")) or created + _LIFE,
        content,
        fields_of(item.get("labels") or {}),
        item.get("extractedMemories") or [],
        is_deletion=not item.get("fact") and not item.get(_DATA),
    )


def _time_of(value: Any, now: datetime) -> datetime:  # noqa: ANN401 - any JSON value
    moment = moment_of(value)
    if moment is None or not _FIRST_TIME <= moment <= now:
        raise ItemError("TIME_INVALID", "The createTime must lie between 1970 and now.")
    return moment


@dataclass(frozen=True)
class RevisedMemory:
    """Fields of an archive's line for a memory, and of its revisions."""

    memory: Json
    revisions: Sequence[Json]

    @property
    def memory_id(self) -> str:
        """The id of the memory; an archive is sorted by it."""
        return str(self.memory["memoryId"])


def state_of(one: ListedRevision, memory: Json, check: Check) -> Json:
    """Return the state of the memory after a revision, with the revision's labels.

    Args:
        one: the revision.
        memory: the current memory, as returned by `check`.
        check: checks a memory; it keeps `extractedMemories`, although memories lack this field.

    Raises:
        ItemError: the state could not be stored.
    """
    own = {name: inner for name, inner in one.content.items() if name != _DATA}
    if _DATA in one.content:
        present = memory.get("structuredContent", {})
        own["structuredContent"] = {**present, "data": one.content[_DATA]}
    own["revisionLabels"] = {**memory.get("revisionLabels", {}), **one.labels}
    own["extractedMemories"] = one.extracted
    return check({**memory, **own})


def history_of(
    memory: Json,
    states: Sequence[tuple[ListedRevision, Json]],
    now: datetime,
    taken: set[int],
) -> tuple[RevisedMemory, bool]:
    """Return a memory with its numbered versions, and True if the newest version was added.

    A version is added if the current memory differs from its last revision.

    Args:
        memory: the current memory, as returned by `Check`.
        states: the revisions in any order, each with the state of the memory after it.
        now: the latest allowed time.
        taken: revision ids that are in use; this function adds the ids of this memory's revisions.

    Raises:
        ItemError: a time of the memory is not between 1970 and `now`.
    """
    created = _time_of(memory.get("createTime"), now)
    updated = max(created, _time_of(memory.get("updateTime", memory["createTime"]), now))
    present = _content(memory)
    ordered = sorted(states, key=lambda pair: (pair[0].create_time, pair[0].revision_id or 0))
    versions = [_version(one, state) for one, state in ordered]
    is_added = not versions or not _is_same(versions[-1], present)
    if is_added:
        changed = max([updated, *(one["createTime"] for one in versions[-1:])])
        labels = memory.get("revisionLabels", {})
        added = {"createTime": changed, "expireTime": changed + _LIFE, "labels": labels}
        versions.append({**present, **added})
    for number, version in enumerate(versions, start=1):
        _number(version, memory["memoryId"], number, taken)
    own = {
        "memoryId": memory["memoryId"],
        "version": len(versions),
        "scope": memory["scope"],
        "createTime": created,
        "updateTime": updated,
        "expireTime": moment_of(memory.get("expireTime")),
    }
    versions[-1]["memoryExpireTime"] = own["expireTime"]
    revisions = [_encoded(REVISION, one) for one in versions]
    return RevisedMemory(_encoded(MEMORY, {**present, **own}), revisions), is_added


def _number(version: Json, memory_id: str, number: int, taken: set[int]) -> None:
    version |= {"memoryId": memory_id, "version": number}
    version.setdefault("action", "CREATED" if number == 1 else "UPDATED")
    kept = version.get("revisionId")
    if kept is None or kept in taken:
        digest = hashlib.sha256(f"{memory_id}/{number}".encode()).hexdigest()
        version["revisionId"] = int(digest[:_MADE_ID_CHARS], 16)
    taken.add(version["revisionId"])


def _version(one: ListedRevision, state: Json) -> Json:
    version = {
        **_content(state),
        "revisionId": one.revision_id,
        "createTime": one.create_time,
        "expireTime": one.expire_time,
        "labels": state.get("revisionLabels", {}),
        "extractedMemories": state.get("extractedMemories", []),
    }
    if one.is_deletion:
        version |= {**dict.fromkeys(_REMOVED), "action": _DELETED}
    return version


def _content(memory: Json) -> Json:
    named = named_in(memory.get("metadata", {}))
    content = {name: memory.get(name) for name in _CONTENT}
    content["topics"] = memory.get("topics", [])
    content["metadata"] = memory.get("metadata", {})
    return content | {camel_name(name): value for name, value in named.items()}


def _is_same(version: Json, present: Json) -> bool:
    return version.get("action") != _DELETED and all(
        version.get(name) == value for name, value in present.items()
    )


def _encoded(kind: Kind, values: Mapping[str, Any]) -> Json:
    missing: Json = {"labels": {}, "extractedMemories": []}
    return kind.encode([values.get(field.wire, missing.get(field.wire)) for field in kind.fields])


def by_memory(revisions: Iterable[ListedRevision]) -> dict[str, list[ListedRevision]]:
    """Group revisions by memory id, and drop duplicates."""
    found = defaultdict[str, dict[object, ListedRevision]](dict)
    for revision in revisions:
        key = revision.create_time if revision.revision_id is None else revision.revision_id
        found[revision.memory].setdefault(key, revision)
    return {memory: list(listed.values()) for memory, listed in found.items()}


def archive_of(engine: Json, histories: Iterable[RevisedMemory]) -> Iterator[bytes]:
    """Yield the lines of an archive; its id depends only on the memories.

    Args:
        engine: the target engine, in the form of a get response; its configuration stays the same.
        histories: the memories.
    """
    ordered = sorted(histories, key=lambda history: history.memory_id)
    digest = hashlib.sha256()
    for history in ordered:
        digest.update(json.dumps([history.memory, *history.revisions], sort_keys=True).encode())
    writer = ArchiveWriter()
    created = moment_of(engine["createTime"])
    assert created is not None
    yield writer.header(
        Header(
            archive_id=str(uuid.uuid5(_NAMESPACE, digest.hexdigest())),
            release=RELEASE,
            schema_revision="",
            engine=engine["name"],
            export_time=created,
            embedding_model=None,
            dimensions=None,
            options={"vectors": False, "artifacts": False, "sessions": False},
        )
    )
    config = engine.get("contextSpec", {}).get("memoryBankConfig")
    yield writer.add(
        ENGINE, _encoded(ENGINE, {**engine, "memoryBankConfig": config, "createTime": created})
    )
    for history in ordered:
        yield writer.add_memory(history.memory, history.revisions[:REVISIONS_IN_LINE])
        for revision in history.revisions[REVISIONS_IN_LINE:]:
            yield writer.add_revision(revision)
    yield writer.end({})
