"""Import of memories from Hindsight, in the form of its memory lists.

Source: the API of Hindsight 0.8, `GET /v1/default/banks/{bank}/memories/list`.
"""

from collections.abc import Iterator

from app.memory.transfer.logic.importers.drafts import (
    Draft,
    Made,
    Options,
    Record,
    fields_of,
    id_of,
    left_out,
)

CONTAINERS = ("items",)
_BESIDE = ("fact_type", "entities", "tags", "proof_count")
_KNOWN = (
    *("id", "text", "context", "date", "mentioned_at", "occurred_start", "occurred_end", "state"),
    *("document_id", "metadata", "bank_id", "type"),
)


def convert(record: Record, options: Options) -> Iterator[Made]:
    """Yield the draft of an item; an item that Hindsight has invalidated is outdated."""
    del options
    item = fields_of(record.value, "id", "text")
    yield from left_out(item, *_KNOWN, *_BESIDE)
    own, context = item.get("metadata"), item.get("context")
    yield Draft(
        fact=item["text"],
        # Pages of a list do not name the bank, so the caller must name it.
        scope={"bank": item.get("bank_id")},
        source_id=id_of(item["id"]),
        metadata={
            **{key: item[key] for key in _BESIDE if item.get(key) not in (None, "", [])},
            "document": item.get("document_id"),
            **(own if isinstance(own, dict) else {"metadata": own}),
        },
        moments={
            "valid_from": item.get("occurred_start"),
            "valid_until": item.get("occurred_end"),
        },
        create_time=item.get("mentioned_at") or item.get("date") or None,
        ended=item.get("state") == "invalidated",
        fields={"context": context} if isinstance(context, str) and context else {},
    )
