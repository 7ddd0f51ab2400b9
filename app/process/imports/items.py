"""Items of other products, and the rules by which they become lines of `memories:import` (pure).

A converter makes drafts. Ids, scopes, limits, metadata and times then follow the same rules for all
products.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from app.kernel.names import CHOSEN_ID
from app.kernel.text import is_storable
from app.kernel.wire.scalars import format_timestamp
from app.platform.engines.logic.topics import MAX_FACT_CHARS

Json = dict[str, Any]

EXPIRED = "expired memories"
_MAX_PAIRS = 5
_MAX_KEY_CHARS = 256
_MAX_VALUE_CHARS = 1_024
_MAX_METADATA = 50
_MAX_METADATA_KEY_CHARS = 128
_MAX_METADATA_CHARS = 4_096
_MAX_EXACT = 2**53
_DIGEST_CHARS = 32
_SHOWN_FIELDS = 30
_ID = re.compile(CHOSEN_ID)
_MOMENT_KEY = "_at"
_EMPTY: tuple[Any, ...] = (None, "", [], {})


@dataclass(frozen=True)
class Options:
    """Options of an import command.

    Attributes:
        source: name of the product, such as `mem0`.
        pairs: key-value pairs to add to each scope.
        keys: scope keys to keep; for `langgraph`, the names of the namespace's levels.
        sessions: True converts messages as well.
        infer: True generates memories from texts instead of storing the texts.
        with_ended: True stores ended facts and deletes them at once.
        overwrite: True replaces memories that were changed in the service.
    """

    source: str
    now: datetime
    pairs: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    sessions: bool = False
    infer: bool = False
    with_ended: bool = False
    overwrite: bool = False


@dataclass(frozen=True)
class Draft:
    """An unchecked memory of a product.

    Attributes:
        source_id: id at the source; None: scope and fact identify the memory.
        memory_id: id to keep if it is valid.
        moments: additional metadata with times as text.
        ended: True if the source considers the fact outdated.
        fields: additional fields of the line, in the form of the API.
        item: the item to show if the draft is rejected; None: the whole record.
    """

    fact: Any
    scope: Mapping[str, Any]
    source_id: str | None = None
    memory_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    moments: Mapping[str, Any] = field(default_factory=dict)
    create_time: Any = None
    update_time: Any = None
    expire_time: Any = None
    ended: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)
    item: Any = None


@dataclass(frozen=True)
class Conversation:
    """A session with its events in order, in the form that `events:batch` accepts."""

    session_id: str
    user_id: str
    events: tuple[Json, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)


class ItemError(Exception):
    """An item that cannot be imported; `reason` is a constant, `detail` quotes nothing of it."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def fields_of(value: Any, *needed: str) -> Json:  # noqa: ANN401 - any JSON value
    """Return an item that has the fields that its source requires, or raise ItemError."""
    if not isinstance(value, dict):
        raise ItemError("ITEM_UNKNOWN", "The item must be a JSON object.")
    missing = [name for name in needed if name not in value]
    if missing:
        has = ", ".join(sorted(value)[:_SHOWN_FIELDS]) or "none"
        raise ItemError("ITEM_UNKNOWN", f"The item lacks {', '.join(missing)}; it has: {has}.")
    return value


def count_unknown(item: Json, losses: Counter[str], *known: str) -> None:
    """Count each field with a value that a converter does not know as a loss."""
    unknown = item.keys() - set(known)
    losses.update(f"field {name}" for name in unknown if item[name] not in _EMPTY)


def id_of(value: Any) -> str | None:  # noqa: ANN401 - any JSON value
    """Return an id as text, or None for an empty value, so that no two items share an empty id."""
    return None if value in _EMPTY else str(value)


def made_id(source: str, source_id: str) -> str:
    """Return a deterministic id for an item of a source."""
    # Ids from JSON may contain lone surrogates, which strict UTF-8 cannot encode.
    digest = hashlib.sha256(source_id.encode(errors="surrogatepass")).hexdigest()
    return f"{source}-{digest[:_DIGEST_CHARS]}"


def moment_of(value: Any) -> datetime | None:  # noqa: ANN401 - any JSON value
    """Parse an ISO 8601 time, in UTC if it has no offset; return None for any other value."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def check_storable(line: Json) -> None:
    """Raise ItemError if a text of the line cannot be stored."""
    if not is_storable(line):
        raise ItemError("TEXT_UNSTORABLE", "A text has U+0000 or half of a surrogate pair.")


def line_of(draft: Draft, options: Options, losses: Counter[str]) -> Json | None:
    """Return the line of a draft; None if the memory has expired.

    Values that the line leaves out are counted in `losses` by kind.

    Raises:
        ItemError: the draft cannot become a memory.
    """
    expires = _moment(draft.expire_time, "expireTime", losses)
    if expires is not None and expires <= options.now:
        losses[EXPIRED] += 1
        return None
    scope = _scope(draft, options)
    line: Json = {"memoryId": _memory_id(draft, options.source, scope), "scope": scope}
    if draft.fact is not None or "structuredContent" not in draft.fields:
        line["fact"] = _fact(draft.fact)
    line |= draft.fields
    _join(line, "metadata", _metadata(draft, options, losses))
    line |= _times(draft, losses)
    if expires is not None:
        line["expireTime"] = format_timestamp(expires)
    _join(line, "revisionLabels", options.labels)
    check_storable(line)
    return line


def _join(line: Json, name: str, more: Mapping[str, Any]) -> None:
    own = line.get(name, {})
    if not isinstance(own, dict):
        raise ItemError("ITEM_UNKNOWN", f"The field {name} must be an object.")
    if more:
        line[name] = {**own, **more}


def _memory_id(draft: Draft, source: str, scope: Mapping[str, str]) -> str:
    if draft.memory_id is not None and _ID.fullmatch(draft.memory_id):
        return draft.memory_id
    if draft.source_id is not None:
        return made_id(source, draft.source_id)
    content = draft.fields.get("structuredContent") if draft.fact is None else draft.fact
    return made_id(source, json.dumps([sorted(scope.items()), content], sort_keys=True))


def _scope(draft: Draft, options: Options) -> dict[str, str]:
    kept = {
        key: value
        for key, value in draft.scope.items()
        if value not in (None, "") and (not options.keys or key in options.keys)
    }
    if others := [key for key, value in options.pairs.items() if kept.get(key, value) != value]:
        raise ItemError(
            "SCOPE_CONFLICT",
            f"The item has another {others[0]} than --scope; --scope KEY,KEY says which of its keys"
            " are kept.",
        )
    scope = {**kept, **options.pairs}
    if not scope:
        raise ItemError("SCOPE_MISSING", "The item names no scope; give one by --scope KEY=VALUE.")
    if len(scope) > _MAX_PAIRS:
        raise ItemError("SCOPE_INVALID", f"The scope must have at most {_MAX_PAIRS} pairs.")
    return {key: _scope_value(key, value) for key, value in scope.items()}


def _scope_value(key: str, value: Any) -> str:  # noqa: ANN401 - any JSON value
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    is_fit = isinstance(text, str) and len(text) <= _MAX_VALUE_CHARS and "*" not in text
    if not is_fit or not 1 <= len(key) <= _MAX_KEY_CHARS:
        raise ItemError(
            "SCOPE_INVALID",
            f"A scope must have keys of 1 to {_MAX_KEY_CHARS} characters and texts of at most"
            f" {_MAX_VALUE_CHARS} characters without *.",
        )
    return str(text)


def _fact(fact: Any) -> str:  # noqa: ANN401 - any JSON value
    if fact is not None and not isinstance(fact, str):
        raise ItemError("ITEM_UNKNOWN", "The fact must be a text.")
    if fact is None or not fact.strip():
        raise ItemError("FACT_EMPTY", "The fact must not be blank.")
    if len(fact) > MAX_FACT_CHARS:
        raise ItemError("FACT_TOO_LONG", f"The fact must have at most {MAX_FACT_CHARS} characters.")
    return fact


def _times(draft: Draft, losses: Counter[str]) -> dict[str, str]:
    created = _moment(draft.create_time, "createTime", losses)
    if created is None:
        if draft.update_time is not None:
            losses["updateTime without createTime"] += 1
        return {}
    times = {"createTime": format_timestamp(created)}
    updated = _moment(draft.update_time, "updateTime", losses)
    if updated is not None and updated < created:
        losses["updateTime before createTime"] += 1
    elif updated is not None:
        times["updateTime"] = format_timestamp(updated)
    return times


def _moment(value: Any, name: str, losses: Counter[str]) -> datetime | None:  # noqa: ANN401 - any JSON value
    moment = moment_of(value)
    if moment is None and value is not None:
        losses[f"unreadable {name}"] += 1
    return moment


def _metadata(draft: Draft, options: Options, losses: Counter[str]) -> Json:
    typed: Json = {}
    for name, value in {**draft.metadata, **options.metadata}.items():
        if value is None:
            continue
        shown = _typed(name, value)
        if shown is None or not 1 <= len(name) <= _MAX_METADATA_KEY_CHARS:
            losses["metadata too long"] += 1
        else:
            typed[name] = shown
    for name, value in draft.moments.items():
        moment = _moment(value, name, losses)
        if moment is not None:
            typed[name] = {"timestampValue": format_timestamp(moment)}
    names = sorted(typed)
    if beyond := names[_MAX_METADATA:]:
        losses[f"metadata beyond {_MAX_METADATA} keys"] += len(beyond)
    return {name: typed[name] for name in names[:_MAX_METADATA]}


def _typed(name: str, value: Any) -> Json | None:  # noqa: ANN401 - any JSON value
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and abs(value) > _MAX_EXACT:
        # Probably an id, which would lose its last digits as a double.
        return _typed("", str(value))
    if isinstance(value, int | float):
        return {"doubleValue": float(value)} if math.isfinite(value) else None
    if name.endswith(_MOMENT_KEY) and (moment := moment_of(value)) is not None:
        return {"timestampValue": format_timestamp(moment)}
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return {"stringValue": text} if len(text) <= _MAX_METADATA_CHARS else None
