"""Import of the knowledge graph of MCP's reference memory server.

Source: the server's README, and its data file, which has one entity or relation per line.
"""

from collections.abc import Iterator

from app.memory.transfer.logic.importers.drafts import (
    Draft,
    ItemError,
    Json,
    Lost,
    Made,
    Options,
    Record,
    fields_of,
    left_out,
)

CONTAINERS = ("entities", "relations")


def convert(record: Record, options: Options) -> Iterator[Made]:
    """Yield a draft for each observation of an entity, or one for a relation."""
    del options
    item = fields_of(record.value)
    if "observations" in item:
        yield from _entity(fields_of(item, "name", "entityType", "observations"))
    elif "relationType" in item:
        yield _relation(fields_of(item, "from", "to", "relationType"))
        yield from left_out(item, "type", "from", "to", "relationType")
    else:
        fields_of(item, "observations")


def _entity(item: Json) -> Iterator[Made]:
    name, observations = item["name"], item["observations"]
    if not isinstance(observations, list) or not all(
        isinstance(text, str) for text in observations
    ):
        raise ItemError("ITEM_UNKNOWN", "The observations must be a list of texts.")
    yield from left_out(item, "type", "name", "entityType", "observations")
    if not observations:
        yield Lost("entities without observations")
    for text in observations:
        yield Draft(
            # An empty observation is refused like any other empty fact.
            fact=f"{name}: {text}" if text.strip() else text,
            scope={},
            metadata={"entity": name, "entity_type": item["entityType"]},
            item={**item, "observations": [text]},
        )


def _relation(item: Json) -> Draft:
    parts = [item["from"], item["relationType"], item["to"]]
    if not all(isinstance(part, str) for part in parts):
        raise ItemError("ITEM_UNKNOWN", "The fields from, relationType and to must be texts.")
    return Draft(
        fact=" ".join(parts),
        scope={},
        metadata={"relation": item["relationType"]},
    )
