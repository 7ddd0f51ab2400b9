"""Many rows in one statement.

The driver sends a list of rows one by one, and what a trigger does for each statement it then does
for each row. In one statement, they also cost the process a quarter.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from psycopg.types.json import Jsonb
from sqlalchemy import (
    Column,
    ColumnElement,
    DateTime,
    Integer,
    LargeBinary,
    Table,
    bindparam,
    column,
    func,
    inspect,
    select,
)
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.types import UserDefinedType
from typing_extensions import override

from app.adapters.cooperative import each
from app.adapters.db.base import Base
from app.adapters.db.columns import EMBEDDING
from app.adapters.db.numbers import Numbers, part
from app.adapters.db.session import Session


@dataclass(frozen=True)
class Conflict:
    """What becomes of a row whose key is taken: it is left out, or `updates` columns of the other.

    Attributes:
        key: the columns of the key; none: any.
        updates: what the row that is there gets from the one that is not inserted.
    """

    key: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()


async def insert_rows(
    row: type[Base],
    session: Session,
    values: Sequence[Mapping[str, Any]],
    conflict: Conflict | None = None,
) -> int:
    """Insert rows that all have values for the same attributes; columns of JSON alone keep objects.

    Not for JSON that is kept as it was sent. Returns how many were inserted or updated.
    """
    if not values:
        return 0
    # The session itself would take the list for the values of several statements.
    connection = await session.connection()
    statement = _insertion(row, conflict, *values[0])
    return (await connection.execute(statement, await _given(row, values))).rowcount


async def insert_free(
    row: type[Base], session: Session, values: Sequence[Mapping[str, Any]], told: str
) -> set[Any]:
    """As `insert_rows`, but for rows whose key is taken; return a column of those inserted."""
    connection = await session.connection()
    statement = _insertion(row, Conflict(), *values[0]).returning(row.__table__.c[told])
    return set((await connection.execute(statement, await _given(row, values))).scalars())


async def _given(row: type[Base], values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the parameters of an insertion: rows as JSON has them, and vectors as numbers."""
    found = [dict(one) for one in values]
    columns = _columns(row, *values[0])
    for name, column_ in columns.items():
        if (write := _WRITERS.get(type(column_.type))) is not None:
            for one in found:
                if (value := one[name]) is not None:
                    one[name] = write(value)
    vector_name = _vector(columns)
    if vector_name is None:
        return {"given": await _encoded(found)}
    last = 0
    vectors = [one.pop(vector_name) for one in found]
    for one, vector in zip(found, vectors, strict=True):
        one["first"], last = last + 1, last + len(vector)
        one["last"] = last
    return {"given": await _encoded(found), "numbers": Numbers(vectors)}


async def _encoded(rows: Sequence[Mapping[str, Any]]) -> Jsonb:
    """Return rows with their text: the driver would make it at once, however long it takes."""
    text = f"[{','.join(await each(rows, json.dumps))}]"
    return Jsonb(rows, dumps=lambda _: text)


class _Encoded(UserDefinedType[Jsonb]):
    """JSON as the driver takes it."""

    cache_ok = True

    @override
    def get_col_spec(self, **_: Any) -> str:
        return "jsonb"


def _hex(value: bytes) -> str:
    return f"\\x{value.hex()}"


_WRITERS: Mapping[type[Any], Callable[[Any], str]] = {
    DateTime: datetime.isoformat,
    LargeBinary: _hex,
}
"""By the types of columns, what writes their values as JSON has none."""


@cache
def _columns(row: type[Base], *names: str) -> dict[str, Column[Any]]:
    attributes = inspect(row).column_attrs
    found = {name: attributes[name].columns[0] for name in names}
    return {name: one for name, one in found.items() if isinstance(one, Column)}


def _vector(columns: Mapping[str, Column[Any]]) -> str | None:
    return next((name for name in columns if columns[name].type is EMBEDDING), None)


@cache
def _insertion(row: type[Base], conflict: Conflict | None, *names: str) -> Insert:
    """Return the statement that inserts a list of JSON objects with these names."""
    columns = _columns(row, *names)
    vector = _vector(columns)
    given = [column(name, one.type) for name, one in columns.items() if name != vector]
    places = [column("first", Integer), column("last", Integer)] if vector else []
    rows = (
        func.jsonb_to_recordset(bindparam("given", type_=_Encoded()))
        .table_valued(*given, *places)
        .render_derived(name="given", with_types=True)
    )
    values: dict[str, ColumnElement[Any]] = {
        name: part("numbers", rows.c.first, rows.c.last) if name == vector else rows.c[name]
        for name in columns
    }
    assert isinstance(row.__table__, Table)
    found = insert(row.__table__)
    targets = [one.name for one in columns.values()]
    statement = found.from_select(targets, select(*values.values()))
    if conflict is None:
        return statement
    if not conflict.updates:
        return statement.on_conflict_do_nothing(index_elements=conflict.key or None)
    updated = {name: found.excluded[name] for name in conflict.updates}
    return statement.on_conflict_do_update(index_elements=conflict.key, set_=updated)
