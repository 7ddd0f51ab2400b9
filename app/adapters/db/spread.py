"""Rows of many engines that are found by a search and changed by their keys, engine by engine.

A distributed database locks rows of one engine at a time. So keys are found over all engines, but
without a lock. Then the rows of each engine are locked and changed, if they still meet the
condition; those that are gone by then, or held by others, are skipped.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    DateTime,
    Executable,
    LargeBinary,
    Select,
    Text,
    and_,
    cast,
    delete,
    exists,
    func,
    literal_column,
    select,
)
from sqlalchemy.orm import InstrumentedAttribute

from app.adapters.db.arrays import all_of, rows_of
from app.adapters.db.base import Base
from app.adapters.db.session import Session

Key = tuple[Any, ...]
"""The key of a row, of which the engine's id is the first part; tables without engines have one."""
KeyColumns = Sequence[InstrumentedAttribute[Any]]
"""The columns of such a key."""
_Columns = Sequence[ColumnElement[Any] | InstrumentedAttribute[Any]]
Selected = Select[*tuple[Any, ...]]
"""A statement that selects keys."""
Changed = TypeVar("Changed")
ChangeKeys = Callable[[Session, int, Sequence[Key]], Awaitable[Changed]]
"""Lock and change what has keys of one engine; the arguments end with its id and its keys."""
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""From which Postgres counts the microseconds of a time."""


@dataclass(frozen=True)
class RowSearch:
    """The bounds of a search for rows.

    Attributes:
        limit: the most rows that are found.
        but: the names of rows that are passed over, by `name_of`.
        but_below: the same for all rows whose keys begin so.
        only: the one row that is wanted; None: all others.
    """

    limit: int
    but: Collection[str] = ()
    but_below: Collection[str] = ()
    only: Key | None = None

    def bounded(self, keys: Selected, columns: _Columns) -> Selected:
        """Bound a statement that selects these columns of a key; its order stays."""
        # Only where there are any: the plan of every other search is as it was.
        if self.but:
            keys = keys.where(_name(columns) != all_of(self.but))
        if self.but_below:
            keys = keys.where(_name(columns[:1]) != all_of(self.but_below))
        if self.only is not None:
            pairs = zip(columns, self.only, strict=True)
            keys = keys.where(*(column.is_not_distinct_from(value) for column, value in pairs))
        return keys.limit(self.limit)


FindRows = Callable[[Session, RowSearch], Awaitable[Sequence[Key]]]
"""Find the keys of rows of any engine, the oldest first, without locks."""
SelectRows = Callable[[Session, RowSearch], Selected]
"""Return the statement that selects the keys of rows of any engine."""
RemoveSelected = Callable[[Session, Selected], Awaitable[int]]
"""Remove or change the rows whose keys a statement selects; return the count."""


def name_of(key: Key) -> str:
    """Return the name of a row: the parts of its key, as `RowSearch` compares them."""
    return "/".join(map(_text, key))


def _text(part: object) -> str:
    if isinstance(part, bytes):
        return part.hex()
    if isinstance(part, datetime):
        microseconds = (part - _EPOCH) // timedelta(microseconds=1)
        return microseconds.to_bytes(8, signed=True).hex()
    return "" if part is None else str(part)


def _name(columns: _Columns) -> ColumnElement[str]:
    """Return the expression of the name of a row.

    An expression, since with a join to the names a plan would sort all that is due.
    """
    first, *others = (_text_of(column) for column in columns)
    for other in others:
        first = first.concat("/").concat(other)
    return first


def _text_of(column: Any) -> ColumnElement[str]:  # noqa: ANN401 - a column of any type
    if isinstance(column.type, LargeBinary):
        return func.encode(column, literal_column("'hex'"))
    if isinstance(column.type, DateTime):
        # Its text depends on the session's zone, which a distributed database refuses in changes.
        column = func.encode(func.timestamptz_send(column), literal_column("'hex'"))
    return func.coalesce(cast(column, Text), "")


async def find_keys(session: Session, statement: Executable) -> list[Key]:
    """Return the keys that a statement selects, without locks."""
    return [tuple(row) for row in await session.execute(statement)]


def locked(
    columns: KeyColumns, engine_id: int, keys: Sequence[Key], *conditions: ColumnElement[bool]
) -> Select[Any]:
    """Select the keys of one engine whose rows still meet conditions; lock those that are free."""
    engine, *others = columns
    names: dict[str, Any] = {f"wanted_{column.key}": column for column in others}
    wanted = rows_of("wanted", names, [key[1:] for key in keys])
    is_wanted = (column == wanted.c[f"wanted_{column.key}"] for column in others)
    return (
        select(*columns)
        .join(wanted, and_(*is_wanted))
        .where(engine == engine_id, *conditions)
        .with_for_update(of=engine.class_, skip_locked=True)
    )


async def remove_found(
    table: type[Base],
    columns: KeyColumns,
    session: Session,
    engine_id: int,
    keys: Sequence[Key],
    *conditions: ColumnElement[bool],
) -> int:
    """Delete rows of one engine by their keys, as `locked` selects them; return the count."""
    engine, *others = columns
    # Not a subquery: a plan may run one per row and so lock several.
    held = locked(columns, engine_id, keys, *conditions).cte("held")
    # Nor `in`: of a row of several columns, Citus writes `true = any (...)` for the node.
    is_held = (column == held.c[column.key] for column in others)
    statement = (
        delete(table)
        .where(engine == engine_id, exists().where(*is_held))
        .returning(engine)
        .execution_options(synchronize_session=False)
    )
    return len((await session.execute(statement)).all())
