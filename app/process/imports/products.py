"""Products from which memories can be imported: their files, and a converter for each (pure).

A converter knows all fields of its product: a further one with a value is a loss.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from types import MappingProxyType
from typing import Any

from app.kernel.wire.base import camel_name
from app.process.imports import letta
from app.process.imports.items import (
    Conversation,
    Draft,
    ItemError,
    Json,
    Options,
    count_unknown,
    fields_of,
    id_of,
    line_of,
    made_id,
    moment_of,
)
from app.process.imports.records import Record

Losses = Counter[str]

_MEM0_SCOPE = ("user_id", "agent_id", "run_id")
_MEM0_METADATA = ("actor_id", "role", "app_id", "categories")
_MEM0_KNOWN = (
    *("id", "memory", "metadata", "created_at", "updated_at", "expiration_date"),
    # The hash is derived from the text; the score belongs to a search.
    *("hash", "score", "owner", "organization"),
)


def _mem0(record: Record, _: Options, losses: Losses) -> Iterator[Draft]:
    """Convert what `get_all` of mem0 returns; see docs.mem0.ai, "Get memories"."""
    item = fields_of(record.value, "id", "memory")
    count_unknown(item, losses, *_MEM0_SCOPE, *_MEM0_METADATA, *_MEM0_KNOWN)
    source_id = id_of(item["id"])
    yield Draft(
        fact=item["memory"],
        scope={key: item.get(key) for key in _MEM0_SCOPE},
        source_id=source_id,
        memory_id=source_id and f"mem0-{source_id}",
        metadata={
            **{key: item.get(key) for key in _MEM0_METADATA if item.get(key) != []},
            **_own_metadata(item),
        },
        create_time=item.get("created_at"),
        update_time=item.get("updated_at"),
        expire_time=_end_of(item.get("expiration_date")),
    )


def _own_metadata(item: Json) -> Json:
    own = item.get("metadata")
    return own if isinstance(own, dict) else {"metadata": own}


def _end_of(day: Any) -> Any:  # noqa: ANN401 - any JSON value
    try:
        start = datetime.combine(datetime.fromisoformat(day).date(), time())
        return f"{(start + timedelta(days=1)).isoformat()}Z"
    except (TypeError, ValueError, OverflowError):
        return day


_OPENMEMORY_KNOWN = (
    *("id", "user_id", "app_id", "app", "content", "metadata", "state", "created_at", "updated_at"),
    *("archived_at", "deleted_at", "category_ids", "categories"),
)
_OPENMEMORY_STATES = ("active", "paused", "archived")


def _openmemory(record: Record, _: Options, losses: Losses) -> Iterator[Draft]:
    """Convert a memory of an OpenMemory backup, whose heading names users, apps and categories.

    Source: the export of mem0ai/mem0, openmemory/api, as of 2026. It has not been tested with the
    dump of a real installation, so it rejects unexpected states and missing fields.
    """
    item, heading = fields_of(record.value, "id", "content", "state"), record.heading
    state = item["state"]
    if state == "deleted":
        losses["memories in the state deleted"] += 1
        return
    if state not in _OPENMEMORY_STATES:
        states = ", ".join(_OPENMEMORY_STATES)
        raise ItemError("ITEM_UNKNOWN", f"The state must be deleted or one of {states}.")
    count_unknown(item, losses, *_OPENMEMORY_KNOWN)
    # The user's id in an item is only a database key.
    user, ids = heading.get("user"), item.get("category_ids")
    names = [_name_in(heading, "categories", key) for key in ids] if isinstance(ids, list) else []
    yield Draft(
        fact=item["content"],
        scope={"user_id": user.get("user_id") if isinstance(user, dict) else None},
        source_id=id_of(item["id"]),
        metadata={
            "app": item.get("app") or _name_in(heading, "apps", item.get("app_id")),
            "categories": item.get("categories")
            or [name for name in names if name is not None]
            or None,
            **({} if state == "active" else {state: True}),
            **_own_metadata(item),
        },
        create_time=item.get("created_at"),
        update_time=item.get("updated_at"),
    )


def _name_in(heading: Mapping[str, Any], table: str, key: Any) -> Any:  # noqa: ANN401 - any JSON value
    rows = heading.get(table)
    if key is None or not isinstance(rows, list):
        return None
    matching = (row for row in rows if isinstance(row, dict) and row.get("id") == key)
    return next(matching, {}).get("name")


_VERTEX_CONTENT = (
    *("displayName", "description", "topics", "metadata", "memoryType", "structuredContent"),
    "context",
)
_VERTEX_KNOWN = ("name", "fact", "scope", "createTime", "updateTime", "expireTime", "etag")
_VERTEX_SESSION = ("displayName", "labels", "sessionState")


def _vertex(record: Record, options: Options, losses: Losses) -> Iterator[Draft | Conversation]:
    """Convert a memory or session of Vertex AI, with events in `sessionEvents`, in any case."""
    item = {camel_name(name): value for name, value in fields_of(record.value).items()}
    if "userId" in item:
        yield from _vertex_session(item, options, losses)
        return
    if "fact" not in item and "structuredContent" not in item:
        fields_of(item, "fact")
    name = id_of(fields_of(item, "name", "scope")["name"])
    memory_id = name and name.rpartition("/")[2]
    count_unknown(item, losses, *_VERTEX_CONTENT, *_VERTEX_KNOWN)
    yield Draft(
        fact=item.get("fact"),
        scope=item["scope"] if isinstance(item["scope"], dict) else {},
        source_id=memory_id,
        memory_id=memory_id,
        create_time=item.get("createTime"),
        update_time=item.get("updateTime"),
        expire_time=item.get("expireTime"),
        fields={name: item[name] for name in _VERTEX_CONTENT if item.get(name) is not None},
    )


def _vertex_session(item: Json, options: Options, losses: Losses) -> Iterator[Conversation]:
    name, events = str(fields_of(item, "name")["name"]), item.get("sessionEvents", [])
    if not options.sessions:
        losses["sessions, without --sessions"] += 1
        return
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise ItemError("ITEM_UNKNOWN", "The sessionEvents must be a list of objects.")
    yield Conversation(
        made_id(options.source, name.rpartition("/")[2]),
        str(item["userId"]),
        tuple(events),
        {key: item[key] for key in _VERTEX_SESSION if item.get(key) is not None},
    )


_HINDSIGHT_METADATA = ("fact_type", "entities", "tags", "proof_count")
_HINDSIGHT_KNOWN = (
    *("id", "text", "context", "date", "mentioned_at", "occurred_start", "occurred_end", "state"),
    *("document_id", "metadata", "bank_id", "type"),
)


def _hindsight(record: Record, _: Options, losses: Losses) -> Iterator[Draft]:
    """Convert an item of Hindsight's memory lists; an invalidated one is outdated.

    Source: the API of Hindsight 0.8, `GET /v1/default/banks/{bank}/memories/list`.
    """
    item = fields_of(record.value, "id", "text")
    count_unknown(item, losses, *_HINDSIGHT_KNOWN, *_HINDSIGHT_METADATA)
    context = item.get("context")
    yield Draft(
        fact=item["text"],
        # Pages of a list do not name the bank, so the caller must name it.
        scope={"bank": item.get("bank_id")},
        source_id=id_of(item["id"]),
        metadata={
            **{
                key: item[key] for key in _HINDSIGHT_METADATA if item.get(key) not in (None, "", [])
            },
            "document": item.get("document_id"),
            **_own_metadata(item),
        },
        moments={"valid_from": item.get("occurred_start"), "valid_until": item.get("occurred_end")},
        create_time=item.get("mentioned_at") or item.get("date") or None,
        ended=item.get("state") == "invalidated",
        fields={"context": context} if isinstance(context, str) and context else {},
    )


_EDGE_KNOWN = (
    *("uuid", "uuid_", "fact", "name", "group_id", "created_at", "expired_at", "valid_at"),
    *("invalid_at", "attributes", "fact_embedding", "score", "relevance"),
)


def _edge(record: Record, options: Options, losses: Losses) -> Iterator[Draft]:
    """Convert a fact of Zep or Graphiti, an edge that ends if it expires or becomes invalid.

    Source: help.getzep.com, "Get Edge"; `EntityEdge` of graphiti.
    """
    item = fields_of(record.value, "fact")
    # The Python client of Zep writes `uuid_`, since `uuid` is a module.
    uuid = item.get("uuid") or item.get("uuid_")
    if uuid is None:
        raise ItemError("ITEM_UNKNOWN", "The item lacks uuid.")
    count_unknown(item, losses, *_EDGE_KNOWN)
    attributes, until = item.get("attributes"), moment_of(item.get("invalid_at"))
    is_invalid = until is not None and until <= options.now
    yield Draft(
        fact=item["fact"],
        scope={"user_id": item.get("group_id")},
        source_id=str(uuid),
        metadata={
            **(attributes if isinstance(attributes, dict) else {}),
            "relation": item.get("name") or None,
        },
        moments={"valid_from": item.get("valid_at"), "valid_until": item.get("invalid_at")},
        create_time=item.get("created_at"),
        ended=item.get("expired_at") is not None or is_invalid,
    )


_LANGGRAPH_KNOWN = ("namespace", "key", "value", "created_at", "updated_at", "score")
_LANGGRAPH_TEXTS = ("content", "text", "memory")


def _langgraph(record: Record, options: Options, losses: Losses) -> Iterator[Draft]:
    """Convert an item of LangGraph's stores; the levels of its namespace form the scope.

    Source: `Item` of langgraph.store.base, in the form of its `dict()`. LangMem stores its memories
    in the item's value.
    """
    item = fields_of(record.value, "namespace", "key", "value")
    count_unknown(item, losses, *_LANGGRAPH_KNOWN)
    namespace = item["namespace"]
    places = namespace.split(".") if isinstance(namespace, str) else namespace
    if not isinstance(places, list) or len(places) != len(options.keys):
        raise ItemError(
            "NAMESPACE_UNKNOWN",
            f"The namespace must have as many places as --scope names: {len(options.keys)}.",
        )
    if "" in places:
        raise ItemError("SCOPE_INVALID", "No place of the namespace may be empty.")
    fact, rest = _langgraph_fact(item["value"])
    yield Draft(
        fact=fact,
        scope=dict(zip(options.keys, places, strict=True)),
        source_id=json.dumps([places, item["key"]]),
        metadata={**rest, "key": item["key"]},
        create_time=item.get("created_at"),
        update_time=item.get("updated_at"),
    )


def _langgraph_fact(value: Any) -> tuple[str, Json]:  # noqa: ANN401 - any JSON value
    for name in _LANGGRAPH_TEXTS if isinstance(value, dict) else ():
        text = value.get(name)
        if isinstance(text, dict) and isinstance(text.get("content"), str):
            text = text["content"]
        if isinstance(text, str):
            return text, {key: inner for key, inner in value.items() if key != name}
    return json.dumps(value, ensure_ascii=False), {}


def _mcp_memory(record: Record, _: Options, losses: Losses) -> Iterator[Draft]:
    """Convert an entity (a draft for each observation) or a relation of MCP's memory server.

    Source: the server's README, and its data file, which has one of them per line.
    """
    item = fields_of(record.value)
    if "observations" in item:
        yield from _entity(fields_of(item, "name", "entityType", "observations"), losses)
    elif "relationType" in item:
        fields_of(item, "from", "to")
        parts = [item["from"], item["relationType"], item["to"]]
        if not all(isinstance(part, str) for part in parts):
            raise ItemError("ITEM_UNKNOWN", "The fields from, relationType and to must be texts.")
        yield Draft(" ".join(parts), scope={}, metadata={"relation": item["relationType"]})
        count_unknown(item, losses, "type", "from", "to", "relationType")
    else:
        fields_of(item, "observations")


def _entity(item: Json, losses: Losses) -> Iterator[Draft]:
    name, texts = item["name"], item["observations"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ItemError("ITEM_UNKNOWN", "The observations must be a list of texts.")
    count_unknown(item, losses, "type", "name", "entityType", "observations")
    if not texts:
        losses["entities without observations"] += 1
    for text in texts:
        yield Draft(
            # An empty observation is refused like any other empty fact.
            fact=f"{name}: {text}" if text.strip() else text,
            scope={},
            metadata={"entity": name, "entity_type": item["entityType"]},
            item={**item, "observations": [text]},
        )


_LINE_FIELDS = frozenset({"fact", "scope", "memoryId", "createTime", "updateTime", "expireTime"})


def _line(record: Record, _: Options, __: Losses) -> Iterator[Draft]:
    """Convert a line of `memories:import`; an id is derived from the content for repetitions."""
    item = fields_of(record.value, "scope")
    scope, memory_id = item["scope"] or {}, id_of(item.get("memoryId"))
    if not isinstance(scope, dict):
        raise ItemError("SCOPE_INVALID", "The field scope must be an object.")
    yield Draft(
        fact=item.get("fact"),
        scope=scope,
        source_id=memory_id,
        memory_id=memory_id,
        create_time=item.get("createTime"),
        update_time=item.get("updateTime"),
        expire_time=item.get("expireTime"),
        fields={name: value for name, value in item.items() if name not in _LINE_FIELDS},
    )


@dataclass(frozen=True)
class Product:
    """A product from which memories can be imported.

    Attributes:
        containers: fields of a document with lists of records.
        other_lists: lists of a document that are left out.
        members: names of the product's file in a zip; empty: the only JSON file.
        needs_keys: True if `--scope a,b` must name the levels of a namespace.
    """

    convert: Callable[[Record, Options, Losses], Iterator[Draft | Conversation]]
    containers: Sequence[str]
    other_lists: Sequence[str] = ()
    members: Sequence[str] = ()
    needs_keys: bool = False
    has_sessions: bool = False


_EDGES = Product(_edge, ("edges", "facts"), ("nodes", "episodes", "communities"))
SOURCES = MappingProxyType(
    {
        "mem0": Product(_mem0, ("results", "memories"), ("relations",)),
        "openmemory": Product(
            _openmemory,
            ("memories",),
            members=("memories.json", "memories.json.gz", "memories.jsonl.gz"),
        ),
        "vertex": Product(_vertex, ("memories", "sessions"), has_sessions=True),
        "hindsight": Product(_hindsight, ("items",)),
        "zep": _EDGES,
        "graphiti": _EDGES,
        "letta": Product(letta.convert, (), has_sessions=True),
        "langgraph": Product(_langgraph, ("items",), needs_keys=True),
        "mcp-memory": Product(_mcp_memory, ("entities", "relations")),
        "jsonl": Product(_line, ("memories",)),
    }
)


@dataclass(frozen=True)
class ItemLine:
    """A line of `memories:import`; `ended`: its source considers the fact outdated."""

    number: int
    item: Any
    line: Json
    ended: bool


@dataclass(frozen=True)
class Rejected:
    """An item that is not imported."""

    number: int
    reason: str
    detail: str
    item: Any

    def wire(self) -> Json:
        """Return the line for the file of rejected items."""
        return {
            "line": self.number,
            "reason": self.reason,
            "detail": self.detail,
            "item": self.item,
        }


Converted = ItemLine | Rejected | Conversation


def converted(records: Iterable[Record], options: Options, losses: Losses) -> Iterator[Converted]:
    """Yield lines, conversations and rejected items; count left-out values in `losses`."""
    product = SOURCES[options.source]
    for record in _counting_other_lists(records, product, losses):
        if record.error is not None:
            yield Rejected(record.number, "NOT_JSON", record.error, record.value)
            continue
        try:
            for item in product.convert(record, options, losses):
                if isinstance(item, Conversation):
                    yield item
                else:
                    yield from _checked(item, record, options, losses)
        except ItemError as error:
            yield Rejected(record.number, error.reason, error.detail, record.value)
        except RecursionError:
            # The item is left out, since it could not be serialised either.
            yield Rejected(record.number, "ITEM_TOO_DEEP", "The item has too many levels.", None)


def _counting_other_lists(
    records: Iterable[Record], product: Product, losses: Losses
) -> Iterator[Record]:
    heading: Mapping[str, Any] = {}

    def count() -> None:
        for name in product.other_lists:
            if isinstance(entries := heading.get(name), list) and entries:
                losses[name] += len(entries)

    for record in records:
        if record.heading is not heading:
            count()
            heading = record.heading
        yield record
    count()


def _checked(
    draft: Draft, record: Record, options: Options, losses: Losses
) -> Iterator[ItemLine | Rejected]:
    item = record.value if draft.item is None else draft.item
    try:
        line = line_of(draft, options, losses)
    except ItemError as error:
        yield Rejected(record.number, error.reason, error.detail, item)
        return
    if line is not None:
        yield ItemLine(record.number, item, line, draft.ended)
