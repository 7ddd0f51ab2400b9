"""The tables of archives, by name: those of features above this one are known by it alone."""

from collections.abc import Mapping
from functools import cache

from sqlalchemy import Table

from app.adapters.db.base import Base


def table_of(name: str) -> Table:
    """Return a table."""
    return Base.metadata.tables[name]


@cache
def row_of(name: str) -> type[Base]:
    """Return the mapped class of a table.

    Raises:
        KeyError: no class has the table.
    """
    rows = {mapper.local_table.name: mapper.class_ for mapper in Base.registry.mappers}  # type: ignore[attr-defined]  # every class here has a table
    row: type[Base] = rows[name]
    return row


@cache
def renamed_of(name: str) -> Mapping[str, str]:
    """Return the attributes of a table's class with other names than their columns, by these."""
    properties = row_of(name).__mapper__.column_attrs
    named = ((mapped.columns[0].name, mapped.key) for mapped in properties)
    return {column: attribute for column, attribute in named if attribute != column}
