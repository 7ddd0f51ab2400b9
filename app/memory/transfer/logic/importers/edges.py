"""Import of facts from Zep and Graphiti, which are edges between entities.

Source: help.getzep.com, "Get Edge"; `EntityEdge` of graphiti.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from app.memory.transfer.logic.importers.drafts import (
    Draft,
    ItemError,
    Made,
    Options,
    Record,
    fields_of,
    left_out,
)
from app.memory.transfer.logic.importers.rules import moment_of

CONTAINERS = ("edges", "facts")
BESIDE = ("nodes", "episodes", "communities")
_KNOWN = (
    *("uuid", "uuid_", "fact", "name", "group_id", "created_at", "expired_at", "valid_at"),
    *("invalid_at", "attributes", "fact_embedding", "score", "relevance"),
)


def convert(record: Record, options: Options) -> Iterator[Made]:
    """Yield the draft of an edge; it is outdated if the edge expired or its fact became invalid."""
    item = fields_of(record.value, "fact")
    # The Python client of Zep writes `uuid_`, since `uuid` is a module.
    uuid = item.get("uuid") or item.get("uuid_")
    if uuid is None:
        raise ItemError("ITEM_UNKNOWN", "The item lacks uuid.")
    yield from left_out(item, *_KNOWN)
    attributes = item.get("attributes")
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
        ended=_has_ended(item, options),
    )


def _has_ended(item: Mapping[str, Any], options: Options) -> bool:
    if item.get("expired_at") is not None:
        return True
    until = moment_of(item.get("invalid_at"))
    return until is not None and until <= options.now
