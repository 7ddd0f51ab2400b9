"""Insertion of many rows in one statement, and of rows under drawn ids.

The driver sends a list of rows one by one, so statement-level triggers run for each row, at four
times the CPU time of one statement.

Another process may have drawn the same id. Rows that refer to a drawn id are written after it. Each
transaction inserts ids in the order in which it draws them: an operation, memories, their
revisions. Two transactions that drew the same ids therefore cannot deadlock.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from operator import itemgetter
from typing import Any, TypeVar

from psycopg.types.json import Json, Jsonb
from sqlalchemy import (
    CollectionAggregate,
    Column,
    ColumnElement,
    CursorResult,
    Date,
    DateTime,
    Executable,
    Integer,
    Interval,
    LargeBinary,
    Table,
    TableValuedAlias,
    Text,
    all_,
    any_,
    bindparam,
    column,
    func,
    inspect,
    literal,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY, Insert, insert
from sqlalchemy.types import UserDefinedType
from typing_extensions import override

from app.adapters.concurrency import each
from app.adapters.db.base import Base
from app.adapters.db.session import Database, Session, after_commit, is_distributed
from app.adapters.db.statistics import COUNTED_ROWS
from app.adapters.db.vectors import EMBEDDING, Numbers, part
from app.kernel.errors import Aborted, Reason
from app.kernel.ids import draw_again

_FEW = 5
"""Rows that a cluster is sent one by one: it copies a list to a shard, which costs more CPU."""
_DRAWS = 10
Row = TypeVar("Row", bound=Base)


@dataclass(frozen=True)
class Conflict:
    """The handling of a taken key (empty: any): skip the row, or update the existing one."""

    key: tuple[str, ...] = ()
    updates: tuple[str, ...] = ()


async def insert_rows(
    row: type[Base],
    session: Session,
    values: Sequence[Mapping[str, Any]],
    conflict: Conflict | None = None,
    *,
    as_sent: bool = False,
) -> int:
    """Insert rows with values for the same attributes; return the number inserted or updated.

    Only JSON columns keep objects. `as_sent`: columns of the type `json` keep the order of keys and
    the form of numbers.
    """
    if not values:
        return 0
    if is_distributed(session) and len(values) <= _FEW:
        single = _single(row, conflict, *values[0])
        return sum(
            [(await _send(row, session, single, row_values)).rowcount for row_values in values]
        )
    _count(row, session, len(values))
    # The session would take the list as the values of several statements.
    connection = await session.connection()
    statement = _insertion(row, conflict, *values[0], as_sent=as_sent)
    parameters = await _parameters(row, values, as_sent=as_sent)
    return (await connection.execute(statement, parameters)).rowcount


async def insert_free(
    row: type[Base],
    session: Session,
    values: Sequence[Mapping[str, Any]],
    name: str,
    *,
    as_sent: bool = False,
) -> set[Any]:
    """Insert the rows whose keys are free; return one column of the rows inserted."""
    returned = row.__table__.c[name]
    if len(values) == 1 or (is_distributed(session) and len(values) <= _FEW):
        single = _single(row, Conflict(), *values[0]).returning(returned)
        results = [await _send(row, session, single, row_values) for row_values in values]
        return {key for result in results for key in result.scalars()}
    _count(row, session, len(values))
    connection = await session.connection()
    statement = _insertion(row, Conflict(), *values[0], as_sent=as_sent).returning(returned)
    parameters = await _parameters(row, values, as_sent=as_sent)
    return set((await connection.execute(statement, parameters)).scalars())


def _count(row: type[Base], session: Session, rows: int) -> None:
    """Count committed rows for the statistics of their table, unless its nodes do so."""

    async def note(db: Database) -> None:
        db.server.statistics.note(row.__tablename__, rows)

    if rows >= COUNTED_ROWS and not is_distributed(session):
        after_commit(session, note)


async def _send(
    row: type[Base], session: Session, statement: Executable, values: Mapping[str, Any]
) -> CursorResult[Any]:
    columns = _columns(row, *values)
    parameters = {columns[name].name: value for name, value in values.items()}
    return await (await session.connection()).execute(statement, parameters)


async def _parameters(
    row: type[Base], values: Sequence[Mapping[str, Any]], *, as_sent: bool = False
) -> dict[str, Any]:
    """Return the parameters of an insertion: rows as JSON, and vectors as numbers."""
    rows = [dict(row_values) for row_values in values]
    columns = _columns(row, *values[0])
    for name, column_ in columns.items():
        if (write := _WRITERS.get(type(column_.type))) is not None:
            for row_values in rows:
                if (value := row_values[name]) is not None:
                    row_values[name] = write(value)
    vector_name = _vector_name(columns)
    if vector_name is None:
        return {"given": await _to_json(rows, as_sent=as_sent)}
    last = 0
    vectors = [row_values.pop(vector_name) for row_values in rows]
    for row_values, vector in zip(rows, vectors, strict=True):
        row_values["first"], last = last + 1, last + len(vector)
        row_values["last"] = last
    return {"given": await _to_json(rows), "numbers": Numbers(vectors)}


async def _to_json(rows: Sequence[Mapping[str, Any]], *, as_sent: bool = False) -> Json | Jsonb:
    """Return rows with their JSON text, built in steps: the driver would build it in one go."""
    text = f"[{','.join(await each(rows, json.dumps))}]"
    return (Json if as_sent else Jsonb)(rows, dumps=lambda _: text)


class _JsonParameter(UserDefinedType[Json]):
    """JSON as the driver accepts it."""

    cache_ok = True

    @override
    def get_col_spec(self, **_: Any) -> str:
        return "jsonb"


def _hex(value: bytes) -> str:
    return f"\\x{value.hex()}"


def _seconds(value: timedelta) -> str:
    return f"{value.total_seconds():f} seconds"


_WRITERS: Mapping[type[Any], Callable[[Any], str]] = {
    Date: date.isoformat,
    DateTime: datetime.isoformat,
    Interval: _seconds,
    LargeBinary: _hex,
}
"""Writers for column types without a JSON form, by type."""


@cache
def _columns(row: type[Base], *names: str) -> dict[str, Column[Any]]:
    attributes = inspect(row).column_attrs
    columns = {name: attributes[name].columns[0] for name in names}
    return {name: column_ for name, column_ in columns.items() if isinstance(column_, Column)}


def _vector_name(columns: Mapping[str, Column[Any]]) -> str | None:
    return next((name for name in columns if columns[name].type is EMBEDDING), None)


@cache
def _single(row: type[Base], conflict: Conflict | None, *names: str) -> Insert:
    columns = _columns(row, *names).values()
    assert isinstance(row.__table__, Table)
    insertion = insert(row.__table__).values(
        {column_.name: bindparam(column_.name) for column_ in columns}
    )
    return _settling(insertion, conflict)


@cache
def _insertion(
    row: type[Base], conflict: Conflict | None, *names: str, as_sent: bool = False
) -> Insert:
    columns = _columns(row, *names)
    vector = _vector_name(columns)
    given = [column(name, column_.type) for name, column_ in columns.items() if name != vector]
    places = [column("first", Integer), column("last", Integer)] if vector else []
    records = func.json_to_recordset if as_sent else func.jsonb_to_recordset
    rows = (
        records(bindparam("given", type_=_JsonParameter()))
        .table_valued(*given, *places)
        .render_derived(name="given", with_types=True)
    )
    values: dict[str, ColumnElement[Any]] = {
        name: part("numbers", rows.c.first, rows.c.last) if name == vector else rows.c[name]
        for name in columns
    }
    assert isinstance(row.__table__, Table)
    insertion = insert(row.__table__)
    targets = [column_.name for column_ in columns.values()]
    return _settling(insertion.from_select(targets, select(*values.values())), conflict)


def _settling(insertion: Insert, conflict: Conflict | None) -> Insert:
    if conflict is None:
        return insertion
    if not conflict.updates:
        return insertion.on_conflict_do_nothing(index_elements=conflict.key or None)
    updated = {name: insertion.excluded[name] for name in conflict.updates}
    return insertion.on_conflict_do_update(index_elements=conflict.key, set_=updated)


async def insert_drawn_rows(
    row: type[Base],
    session: Session,
    values: Sequence[dict[str, Any]],
    name: str,
    *,
    chosen: Collection[str] = (),
    as_sent: bool = False,
) -> set[Any]:
    """Insert rows under ids of the column `name`; return the ids inserted.

    A taken id is replaced in `values`; a row with a taken id in `chosen`, by clients, is left out.

    Raises:
        Aborted: ten draws of an id were taken.
    """
    inserted: set[Any] = set()
    missing = sorted(values, key=itemgetter(name))
    draws = 0
    while missing:
        if draws == _DRAWS:
            raise _all_taken()
        inserted |= await insert_free(row, session, missing, name, as_sent=as_sent)
        missing = [
            row_values
            for row_values in missing
            if row_values[name] not in inserted and row_values[name] not in chosen
        ]
        for row_values in missing:
            row_values[name] = draw_again(row_values[name], draws)
        draws += 1
    return inserted


async def insert_drawn_row(
    row: type[Row], session: Session, values: Mapping[str, Any], name: str
) -> Row:
    """Insert a row under an id drawn for `name`; raise `Aborted` if ten draws were taken."""
    values = dict(values)
    for draws in range(_DRAWS):
        statement = insert(row).values(values).on_conflict_do_nothing().returning(row)
        inserted = (await session.execute(statement)).scalar_one_or_none()
        if inserted is not None:
            return inserted
        values[name] = draw_again(values[name], draws)
    raise _all_taken()


def _all_taken() -> Aborted:
    return Aborted("A concurrent change won; retry.", Reason.CONCURRENT_CHANGE)


def any_of(texts: Collection[str]) -> CollectionAggregate[bool]:
    """Return an expression that equals any of the texts, which are one parameter.

    The driver parses a statement's text for each new number of parameters, for milliseconds.
    """
    return any_(literal(list(texts), ARRAY(Text())))


def all_of(texts: Collection[str]) -> CollectionAggregate[bool]:
    """Return an expression for `!=`, which is true if a column equals none of the texts."""
    return all_(literal(list(texts), ARRAY(Text())))


def rows_of(
    name: str, columns: Mapping[str, Column[Any]], rows: Sequence[Sequence[Any]]
) -> TableValuedAlias:
    """Return rows of values as a table; `columns` maps its column names to columns of the type."""
    lists = zip(*rows, strict=True) if rows else [() for _ in columns]
    arrays = [
        literal(list(values), ARRAY(column.type))
        for values, column in zip(lists, columns.values(), strict=True)
    ]
    return func.unnest(*arrays).table_valued(*columns).render_derived(name)
