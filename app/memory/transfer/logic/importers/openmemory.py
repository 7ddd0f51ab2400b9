"""Import of memories from a backup of OpenMemory: `memories.json`, or one memory per line.

Source: the export of mem0ai/mem0, openmemory/api, as of 2026. This converter has not been tested
with the dump of a real installation. It rejects items with unexpected states or missing fields.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from app.memory.transfer.logic.importers.drafts import (
    Draft,
    ItemError,
    Lost,
    Made,
    Options,
    Record,
    fields_of,
    id_of,
    left_out,
)

CONTAINERS = ("memories",)
MEMBERS = ("memories.json", "memories.json.gz", "memories.jsonl.gz")
_KNOWN = (
    *("id", "user_id", "app_id", "app", "content", "metadata", "state", "created_at", "updated_at"),
    *("archived_at", "deleted_at", "category_ids", "categories"),
)
_STATES = ("active", "paused", "archived")


def convert(record: Record, options: Options) -> Iterator[Made]:
    """Yield the draft of an item, or only a loss for an item in the state `deleted`."""
    del options
    item = fields_of(record.value, "id", "content", "state")
    state = item["state"]
    if state == "deleted":
        yield Lost("memories in the state deleted")
        return
    if state not in _STATES:
        raise ItemError(
            "ITEM_UNKNOWN", f"The state must be deleted or one of {', '.join(_STATES)}."
        )
    yield from left_out(item, *_KNOWN)
    own = item.get("metadata")
    yield Draft(
        fact=item["content"],
        scope={"user_id": _user(record.heading)},
        source_id=id_of(item["id"]),
        metadata={
            "app": item.get("app") or _named(record.heading, "apps", item.get("app_id")),
            "categories": _categories(item, record.heading) or None,
            **({} if state == "active" else {state: True}),
            **(own if isinstance(own, dict) else {"metadata": own}),
        },
        create_time=item.get("created_at"),
        update_time=item.get("updated_at"),
    )


def _user(heading: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    """Return the user's id from the heading; the id in an item is only a database key."""
    user = heading.get("user")
    return user.get("user_id") if isinstance(user, dict) else None


def _categories(item: Mapping[str, Any], heading: Mapping[str, Any]) -> list[Any]:
    ids = item.get("category_ids")
    known = (_named(heading, "categories", key) for key in ids) if isinstance(ids, list) else ()
    return item.get("categories") or [name for name in known if name is not None]


def _named(heading: Mapping[str, Any], table: str, key: Any) -> Any:  # noqa: ANN401 - any JSON value
    rows = heading.get(table)
    if key is None or not isinstance(rows, list):
        return None
    named = [row for row in rows if isinstance(row, dict) and row.get("id") == key]
    return named[0].get("name") if named else None
