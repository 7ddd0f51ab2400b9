"""`memory-bank import --revisions`: imports memories of Vertex with their history, as an archive.

A revision of Vertex has the fact of its memory at that time, or the data of a profile. Other
content comes from the memory, unless the revision has it too. Source: wire specification, section
6.

Both files are held in memory, because the lines of an archive are ordered. The archive is a
temporary file that only its owner can read, and it is deleted after the transfer.
"""

import gzip
import hashlib
import json
import re
import tempfile
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from app.kernel.names import MAX_INT64
from app.kernel.release import RELEASE
from app.kernel.wire.base import camel_name
from app.kernel.wire.violations import invalid_fields
from app.memory.bulk.schemas import ImportedMemory
from app.memory.memories.logic.provenance import named_in
from app.memory.memories.schemas.memories import stored_type
from app.memory.revisions.schemas import ExtractedMemory
from app.memory.transfer.logic.fields import LineKind
from app.memory.transfer.logic.format import REVISIONS_IN_LINE, ArchiveWriter, Header
from app.memory.transfer.logic.kinds import ENGINE, MEMORY, REVISION
from app.process.imports.files import opened
from app.process.imports.items import ItemError, Json, check_storable, fields_of, moment_of
from app.process.imports.products import Converted, ItemLine, Rejected
from app.process.imports.records import Record, read_records
from app.process.remote_api import connected
from app.process.restoring import TargetEngine, WantedRestore, run

_CONTAINERS = ("memoryRevisions", "memory_revisions")
_NAME = re.compile(r"(?:.*/)?memories/([^/]+)/revisions/([^/]+)")
_DIGITS = re.compile(r"[0-9]{1,19}")
_LIFE = timedelta(days=365)
"""Lifetime of a revision without an expiry time, as in the source."""
_FIRST_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_OWN = ("displayName", "description", "topics", "metadata", "context")
"""Content that revisions of this service have, but revisions of Vertex normally lack."""
_CONTENT = (*_OWN, "fact", "structuredContent", "memoryType")
_DATA = "structuredData"
_DELETION: Json = {"fact": None, "structuredContent": None, "action": "DELETED"}
_MADE_ID_CHARS = 15
_NAMESPACE = uuid.UUID("8d1f2c35-6f0a-5d3e-9b57-2f6f0f6f9a11")
_PRIVATE = 0o600
_WITHOUT_MEMORY = "revisions of memories that are not in the file"
_LISTED_TWICE = "memories that are listed twice"


@dataclass(frozen=True)
class _Revision:
    """A revision from the source's list.

    Attributes:
        revision_id: None if the source's id is not a 64-bit number.
        content: the memory's content fields that the revision has.
        extracted: unchecked `extractedMemories`.
    """

    record: Record
    memory: str
    revision_id: int | None
    create_time: datetime
    expire_time: datetime
    content: Json
    labels: Json
    extracted: Any

    @property
    def is_deletion(self) -> bool:
        return not self.content.keys() & {"fact", _DATA}

    @classmethod
    def read(cls, record: Record, now: datetime) -> "_Revision":
        """Read a revision with names in camelCase or snake_case, and a time from 1970 to `now`."""
        if record.error is not None:
            raise ItemError("NOT_JSON", record.error)
        item = {camel_name(name): inner for name, inner in fields_of(record.value).items()}
        match = _NAME.fullmatch(str(fields_of(item, "name", "createTime")["name"]))
        if match is None:
            raise ItemError("ITEM_UNKNOWN", "The name must be that of a memory's revision.")
        memory, number = match.groups()
        created = _time_of(item["createTime"], now)
        is_number = _DIGITS.fullmatch(number) is not None and int(number) <= MAX_INT64
        return cls(
            record,
            memory,
            int(number) if is_number else None,
            created,
            moment_of(item.get("expireTime")) or created + _LIFE,
            {name: item[name] for name in _OWN if item.get(name) is not None}
            | {name: item[name] for name in ("fact", _DATA) if item.get(name)},
            fields_of(item.get("labels") or {}),
            item.get("extractedMemories") or [],
        )


def _time_of(value: Any, now: datetime) -> datetime:  # noqa: ANN401 - any JSON value
    moment = moment_of(value)
    if moment is None or not _FIRST_TIME <= moment <= now:
        raise ItemError("TIME_INVALID", "The createTime must lie between 1970 and now.")
    return moment


def _by_memory(revisions: Iterable[_Revision]) -> dict[str, list[_Revision]]:
    grouped = defaultdict[str, dict[object, _Revision]](dict)
    for revision in revisions:
        key = revision.create_time if revision.revision_id is None else revision.revision_id
        grouped[revision.memory].setdefault(key, revision)
    return {memory: list(known.values()) for memory, known in grouped.items()}


@dataclass(frozen=True)
class RevisedMemory:
    """Fields of an archive's line for a memory, and of its revisions."""

    memory: Json
    revisions: Sequence[Json]

    @property
    def memory_id(self) -> str:
        """The id of the memory; an archive is sorted by it."""
        return str(self.memory["memoryId"])


@dataclass
class RevisedMemories:
    """The memories of one file with their revisions from another file.

    Attributes:
        now: the latest allowed time.
        losses: the numbers of omitted items, by kind.
        added: the number of revisions created from memories that differ from their last revision.
        rejected: the rejected items of both files.
    """

    now: datetime
    losses: Counter[str]
    memories: list[RevisedMemory] = field(default_factory=list)
    added: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    _revision_ids: set[int] = field(default_factory=set)

    @property
    def revisions(self) -> int:
        """The number of revisions of all memories."""
        return sum(len(history.revisions) for history in self.memories)

    def read(self, items: Iterable[Converted], file: Path) -> None:
        """Join the memories with the revisions in a file, or raise FileError."""
        of_memory = _by_memory(self._listed(file))
        known: set[str] = set()
        for item in items:
            if isinstance(item, Rejected):
                self.rejected.append(item)
            elif isinstance(item, ItemLine):
                source_id = str(item.item.get("name")).rpartition("/")[2]
                own = of_memory.pop(source_id, ())
                if item.line["memoryId"] in known:
                    self.losses[_LISTED_TWICE] += 1
                else:
                    known.add(item.line["memoryId"])
                    self._add(item, own)
        if of_memory:
            self.losses[_WITHOUT_MEMORY] += sum(map(len, of_memory.values()))

    def _listed(self, file: Path) -> Iterator[_Revision]:
        with opened(str(file), ()) as data:
            for record in read_records(data.pieces, _CONTAINERS):
                try:
                    yield _Revision.read(record, self.now)
                except ItemError as error:
                    self._reject(record.number, record.value, error)

    def _add(self, item: ItemLine, revisions: Iterable[_Revision]) -> None:
        try:
            memory = _checked(item.line)
            versions = []
            for revision in revisions:
                try:
                    versions.append(_version(revision, memory))
                except ItemError as error:
                    self._reject(revision.record.number, revision.record.value, error)
            versions.sort(key=lambda version: (version["createTime"], version["revisionId"] or 0))
            self._add_history(memory, versions)
        except ItemError as error:
            self._reject(item.number, item.item, error)

    def _add_history(self, memory: Json, versions: list[Json]) -> None:
        """Number the versions; add one if the current memory differs from the last of them."""
        created = _time_of(memory.get("createTime"), self.now)
        updated = max(created, _time_of(memory.get("updateTime", memory["createTime"]), self.now))
        present = _content(memory)
        is_added = not versions or not _is_same(versions[-1], present)
        if is_added:
            changed = max([updated, *(version["createTime"] for version in versions[-1:])])
            labels = memory.get("revisionLabels", {})
            added = {"createTime": changed, "expireTime": changed + _LIFE, "labels": labels}
            versions.append({**present, **added})
        for number, version in enumerate(versions, start=1):
            self._number(version, memory["memoryId"], number)
        own = {
            "memoryId": memory["memoryId"],
            "version": len(versions),
            "scope": memory["scope"],
            "createTime": created,
            "updateTime": updated,
            "expireTime": moment_of(memory.get("expireTime")),
        }
        versions[-1]["memoryExpireTime"] = own["expireTime"]
        revisions = [_encoded(REVISION, version) for version in versions]
        self.memories.append(RevisedMemory(_encoded(MEMORY, {**present, **own}), revisions))
        self.added += is_added

    def _number(self, version: Json, memory_id: str, number: int) -> None:
        version |= {"memoryId": memory_id, "version": number}
        version.setdefault("action", "CREATED" if number == 1 else "UPDATED")
        kept = version.get("revisionId")
        if kept is None or kept in self._revision_ids:
            digest = hashlib.sha256(f"{memory_id}/{number}".encode()).hexdigest()
            version["revisionId"] = int(digest[:_MADE_ID_CHARS], 16)
        self._revision_ids.add(version["revisionId"])

    def _reject(self, number: int, item: Any, error: ItemError) -> None:  # noqa: ANN401 - any JSON value
        self.rejected.append(Rejected(number, error.reason, error.detail, item))


class _StateFields(ImportedMemory):
    """A memory with its extracted memories."""

    extracted_memories: list[ExtractedMemory] | None = None


def _checked(line: Json) -> Json:
    """Validate a memory and return its fields in the API's format, with `extractedMemories`.

    The detail of an ItemError names fields but quotes no content.
    """
    check_storable(line)
    try:
        read = _StateFields.model_validate(line)
    except ValidationError as error:
        refused = invalid_fields(error.errors(include_input=False), _StateFields)
        raise ItemError("ITEM_INVALID", refused.message) from None
    return {**read.wire(), "memoryType": stored_type(read.memory_type).value}


def _version(revision: _Revision, memory: Json) -> Json:
    """Return the version of a memory that a revision made; raise ItemError if it is unstorable."""
    own = {name: inner for name, inner in revision.content.items() if name != _DATA}
    if _DATA in revision.content:
        present = memory.get("structuredContent", {})
        own["structuredContent"] = {**present, "data": revision.content[_DATA]}
    own["revisionLabels"] = {**memory.get("revisionLabels", {}), **revision.labels}
    own["extractedMemories"] = revision.extracted
    state = _checked({**memory, **own})
    return {
        **_content(state),
        "revisionId": revision.revision_id,
        "createTime": revision.create_time,
        "expireTime": revision.expire_time,
        "labels": state.get("revisionLabels", {}),
        "extractedMemories": state.get("extractedMemories", []),
        **(_DELETION if revision.is_deletion else {}),
    }


def _content(memory: Json) -> Json:
    metadata = memory.get("metadata", {})
    content = {name: memory.get(name) for name in _CONTENT}
    content |= {"topics": memory.get("topics", []), "metadata": metadata}
    return content | {camel_name(name): value for name, value in named_in(metadata).items()}


def _is_same(version: Json, present: Json) -> bool:
    return version.get("action") != _DELETION["action"] and all(
        version.get(name) == value for name, value in present.items()
    )


def _encoded(kind: LineKind, values: Mapping[str, Any]) -> Json:
    missing: Json = {"labels": {}, "extractedMemories": []}
    return kind.encode([values.get(field.wire, missing.get(field.wire)) for field in kind.fields])


def archive_of(engine: Json, histories: Iterable[RevisedMemory]) -> Iterator[bytes]:
    """Yield the lines of an archive; its id depends only on the memories."""
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


def restore(
    memories: Iterable[RevisedMemory], target: TargetEngine, url: str | None, key_file: Path | None
) -> None:
    """Restore an archive of the memories into an engine, or exit with 1; keep its configuration."""
    with connected(url, key_file) as api:
        engine = api.ask("GET", target.path(api))
    engine_id = engine["name"].rpartition("/")[2]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vertex.omb.gz"
        file.touch(_PRIVATE)
        with gzip.open(file, "wb", compresslevel=1) as written:
            written.writelines(archive_of(engine, memories))
        run(WantedRestore(file, engine_id, extends_recovery=False, verifies=False), url, key_file)
    target.done()
