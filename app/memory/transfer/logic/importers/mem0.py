"""Import of memories from mem0, in the form that `get_all` returns.

Source: docs.mem0.ai, "Get memories" of the platform and of the open-source server.
"""

from collections.abc import Iterator
from datetime import datetime, time, timedelta
from typing import Any

from app.memory.transfer.logic.importers.drafts import (
    Draft,
    Made,
    Options,
    Record,
    fields_of,
    id_of,
    left_out,
)

CONTAINERS = ("results", "memories")
BESIDE = ("relations",)
_SCOPE = ("user_id", "agent_id", "run_id")
_BESIDE = ("actor_id", "role", "app_id", "categories")
"""Fields that become metadata."""
_OTHERS = ("id", "memory", "metadata", "created_at", "updated_at", "expiration_date")
# The hash is derived from the text; the score belongs to a search.
_NOT_KEPT = ("hash", "score", "owner", "organization")


def convert(record: Record, options: Options) -> Iterator[Made]:
    """Yield the draft of an item."""
    del options
    item = fields_of(record.value, "id", "memory")
    yield from left_out(item, *_SCOPE, *_BESIDE, *_OTHERS, *_NOT_KEPT)
    own = item.get("metadata")
    yield Draft(
        fact=item["memory"],
        scope={key: item.get(key) for key in _SCOPE},
        source_id=id_of(item["id"]),
        memory_id=f"mem0-{item['id']}" if id_of(item["id"]) else None,
        metadata={
            **{key: item.get(key) for key in _BESIDE if item.get(key) != []},
            **(own if isinstance(own, dict) else {"metadata": own}),
        },
        create_time=item.get("created_at"),
        update_time=item.get("updated_at"),
        expire_time=_end(item.get("expiration_date")),
    )


def _end(day: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the end of a day in UTC; return any other value unchanged."""
    try:
        start = datetime.combine(datetime.fromisoformat(day).date(), time())
        return f"{(start + timedelta(days=1)).isoformat()}Z"
    except (TypeError, ValueError, OverflowError):
        return day
