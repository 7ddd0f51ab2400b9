"""Import of lines in the form of `memories:import`, such as the output of `export --plain`."""

from collections.abc import Iterator

from app.memory.transfer.logic.importers.drafts import (
    Draft,
    ItemError,
    Made,
    Options,
    Record,
    fields_of,
    id_of,
)

CONTAINERS = ("memories",)
_TAKEN = frozenset({"fact", "scope", "memoryId", "createTime", "updateTime", "expireTime"})


def convert(record: Record, options: Options) -> Iterator[Made]:
    """Yield the draft of a line; a missing id is derived from the content, so retries are safe."""
    del options
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
        fields={name: value for name, value in item.items() if name not in _TAKEN},
    )
