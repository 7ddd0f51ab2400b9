"""Import of memories and sessions that a client of Vertex AI Agent Engine has listed.

Field names may be in camelCase or snake_case. A session has its events under `sessionEvents`.
Source: wire specification, sections 5 and 13.
"""

from collections.abc import Iterator

from app.kernel.wire.base import camel_name
from app.memory.transfer.logic.importers.drafts import (
    Conversation,
    Draft,
    ItemError,
    Json,
    Lost,
    Made,
    Options,
    Record,
    fields_of,
    id_of,
    left_out,
)
from app.memory.transfer.logic.importers.rules import made_id

CONTAINERS = ("memories", "sessions")
_TAKEN = (
    "displayName",
    "description",
    "topics",
    "metadata",
    "memoryType",
    "structuredContent",
    "context",
)
_READ = ("name", "fact", "scope", "createTime", "updateTime", "expireTime", "etag")
_SESSION = ("displayName", "labels", "sessionState")


def convert(record: Record, options: Options) -> Iterator[Made]:
    """Yield the draft of a memory, or a session with its events."""
    item = {camel_name(name): value for name, value in fields_of(record.value).items()}
    if "userId" in item:
        yield from _session(item, options)
        return
    if "fact" not in item and "structuredContent" not in item:
        fields_of(item, "fact")
    name = id_of(fields_of(item, "name", "scope")["name"])
    memory_id = name and name.rpartition("/")[2]
    yield from left_out(item, *_TAKEN, *_READ)
    yield Draft(
        fact=item.get("fact"),
        scope=item["scope"] if isinstance(item["scope"], dict) else {},
        source_id=memory_id,
        memory_id=memory_id,
        create_time=item.get("createTime"),
        update_time=item.get("updateTime"),
        expire_time=item.get("expireTime"),
        fields={name: item[name] for name in _TAKEN if item.get(name) is not None},
    )


def _session(item: Json, options: Options) -> Iterator[Made]:
    name, events = str(fields_of(item, "name")["name"]), item.get("sessionEvents", [])
    if not options.sessions:
        yield Lost("sessions, without --sessions")
        return
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise ItemError("ITEM_UNKNOWN", "The sessionEvents must be a list of objects.")
    yield Conversation(
        made_id(options.source, name.rpartition("/")[2]),
        str(item["userId"]),
        tuple(events),
        {key: item[key] for key in _SESSION if item.get(key) is not None},
    )
