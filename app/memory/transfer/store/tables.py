"""Look-up of archived tables by name, since this package must not import features above it."""

from collections.abc import Mapping
from functools import cache

from sqlalchemy import Table

from app.adapters.db.base import Base


def table_of(name: str) -> Table:
    """Return the table of a name."""
    return Base.metadata.tables[name]


@cache
def row_of(name: str) -> type[Base]:
    """Return the mapped class of a table."""
    rows = {mapper.local_table.name: mapper.class_ for mapper in Base.registry.mappers}  # type: ignore[attr-defined]  # every class here has a table
    row: type[Base] = rows[name]
    return row


@cache
def renamed_of(name: str) -> Mapping[str, str]:
    """Return the attributes whose names differ from their columns, by column name."""
    properties = row_of(name).__mapper__.column_attrs
    named = ((mapped.columns[0].name, mapped.key) for mapped in properties)
    return {column: attribute for column, attribute in named if attribute != column}
