"""Supported import sources, and the conversion of their records to lines (pure)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from app.memory.transfer.logic.importers import (
    edges,
    hindsight,
    jsonl,
    langgraph,
    letta,
    mcp_memory,
    mem0,
    openmemory,
    vertex,
)
from app.memory.transfer.logic.importers.drafts import (
    Conversation,
    Convert,
    Draft,
    ItemError,
    Json,
    Lost,
    Options,
    Record,
)
from app.memory.transfer.logic.importers.rules import line_of


@dataclass(frozen=True)
class Product:
    """A product from which memories can be imported.

    Attributes:
        containers: fields of a document with lists of records.
        members: names of the product's file in a zip; empty: the only JSON file.
        needs_keys: True if `--scope a,b` must name the levels of a namespace.
        has_sessions: True if the product's files can contain conversations.
        beside: other lists of a document, which are left out.
    """

    convert: Convert
    containers: Sequence[str]
    members: Sequence[str] = ()
    needs_keys: bool = False
    has_sessions: bool = False
    beside: Sequence[str] = ()


SOURCES = MappingProxyType(
    {
        "mem0": Product(mem0.convert, mem0.CONTAINERS, beside=mem0.BESIDE),
        "openmemory": Product(openmemory.convert, openmemory.CONTAINERS, openmemory.MEMBERS),
        "vertex": Product(vertex.convert, vertex.CONTAINERS, has_sessions=True),
        "hindsight": Product(hindsight.convert, hindsight.CONTAINERS),
        "zep": Product(edges.convert, edges.CONTAINERS, beside=edges.BESIDE),
        "graphiti": Product(edges.convert, edges.CONTAINERS, beside=edges.BESIDE),
        "letta": Product(letta.convert, letta.CONTAINERS, has_sessions=True),
        "langgraph": Product(langgraph.convert, langgraph.CONTAINERS, needs_keys=True),
        "mcp-memory": Product(mcp_memory.convert, mcp_memory.CONTAINERS),
        "jsonl": Product(jsonl.convert, jsonl.CONTAINERS),
    }
)


@dataclass(frozen=True)
class ItemLine:
    """A line of `memories:import`, with its source item.

    Attributes:
        ended: True if the source considers the fact outdated.
    """

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


def converted(
    records: Iterable[Record], options: Options, losses: Counter[str]
) -> Iterator[Converted]:
    """Yield lines, conversations and rejected items; count left-out values in `losses`."""
    product = SOURCES[options.source]
    convert = product.convert
    for record in _counting_beside(records, product, losses):
        if record.error is not None:
            yield Rejected(record.number, "NOT_JSON", record.error, record.value)
            continue
        try:
            for made in convert(record, options):
                if isinstance(made, Lost):
                    losses.update({made.kind: made.count} if made.count else ())
                elif isinstance(made, Conversation):
                    yield made
                else:
                    yield from _checked(made, record, options, losses)
        except ItemError as error:
            yield Rejected(record.number, error.reason, error.detail, record.value)
        except RecursionError:
            # The item is left out, since it could not be serialised either.
            yield Rejected(record.number, "ITEM_TOO_DEEP", "The item has too many levels.", None)


def _counting_beside(
    records: Iterable[Record], product: Product, losses: Counter[str]
) -> Iterator[Record]:
    """Yield records; count the other lists of each document after its last record."""
    heading: Mapping[str, Any] = {}

    def count() -> None:
        for name in product.beside:
            if isinstance(held := heading.get(name), list) and held:
                losses[name] += len(held)

    for record in records:
        if record.heading is not heading:
            count()
            heading = record.heading
        yield record
    count()


def _checked(
    draft: Draft, record: Record, options: Options, losses: Counter[str]
) -> Iterator[Converted]:
    item = record.value if draft.item is None else draft.item
    try:
        line = line_of(draft, options, losses)
    except ItemError as error:
        yield Rejected(record.number, error.reason, error.detail, item)
        return
    if line is not None:
        yield ItemLine(record.number, item, line, draft.ended)
