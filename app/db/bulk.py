"""Many rows in one statement.

The driver sends a list of rows one by one, and what a trigger does for each statement it then does
for each row. In one statement, they also cost the process a quarter.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Insert, Table, bindparam, column, func, insert, inspect, select
from sqlalchemy.dialects.postgresql import JSONB

from app.db.base import Base
from app.db.session import Session


async def insert_rows(
    row: type[Base], session: Session, values: Sequence[Mapping[str, Any]]
) -> None:
    """Insert rows that all have values for the same attributes; columns of JSON alone keep objects.

    Not for vectors, nor for JSON that is kept as it was sent.
    """
    if not values:
        return
    given = [{name: _to_json(value) for name, value in one.items()} for one in values]
    # The session itself would take the list for the values of several statements.
    connection = await session.connection()
    await connection.execute(_insertion(row, *values[0]), {"given": given})


def _to_json(value: object) -> object:
    match value:
        case datetime():
            return value.isoformat()
        case bytes():
            return f"\\x{value.hex()}"
        case _:
            return value


@cache
def _insertion(row: type[Base], *names: str) -> Insert:
    """Return the statement that inserts a list of JSON objects with these names."""
    attributes = inspect(row).column_attrs
    columns = {name: attributes[name].columns[0] for name in names}
    given = (
        func.jsonb_to_recordset(bindparam("given", type_=JSONB()))
        .table_valued(*(column(name, one.type) for name, one in columns.items()))
        .render_derived(name="given", with_types=True)
    )
    assert isinstance(row.__table__, Table)
    targets = [one.name for one in columns.values()]
    return insert(row.__table__).from_select(targets, select(*(given.c[name] for name in names)))
