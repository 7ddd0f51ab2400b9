"""Import of items from LangGraph's stores.

Source: `Item` of langgraph.store.base, in the form of its `dict()`. LangMem stores its memories in
the item's value.
"""

import json
from collections.abc import Iterator
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

CONTAINERS = ("items",)
_TEXTS = ("content", "text", "memory")
_KNOWN = ("namespace", "key", "value", "created_at", "updated_at", "score")


def convert(record: Record, options: Options) -> Iterator[Made]:
    """Yield the draft of an item; the levels of its namespace form the scope."""
    item = fields_of(record.value, "namespace", "key", "value")
    yield from left_out(item, *_KNOWN)
    namespace = item["namespace"]
    places = namespace.split(".") if isinstance(namespace, str) else namespace
    if not isinstance(places, list) or len(places) != len(options.keys):
        raise ItemError(
            "NAMESPACE_UNKNOWN",
            f"The namespace must have as many places as --scope names: {len(options.keys)}.",
        )
    if "" in places:
        raise ItemError("SCOPE_INVALID", "No place of the namespace may be empty.")
    fact, rest = _fact(item["value"])
    yield Draft(
        fact=fact,
        scope=dict(zip(options.keys, places, strict=True)),
        source_id=json.dumps([places, item["key"]]),
        metadata={**rest, "key": item["key"]},
        create_time=item.get("created_at"),
        update_time=item.get("updated_at"),
    )


def _fact(value: Any) -> tuple[str, dict[str, Any]]:  # noqa: ANN401 - any JSON value
    """Return the text of a value and its other fields; without a text, the value as JSON."""
    for name in _TEXTS if isinstance(value, dict) else ():
        text = value.get(name)
        if isinstance(text, dict) and isinstance(text.get("content"), str):
            text = text["content"]
        if isinstance(text, str):
            return text, {key: inner for key, inner in value.items() if key != name}
    return json.dumps(value, ensure_ascii=False), {}
