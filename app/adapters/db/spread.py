"""A search for rows of all engines, and their change by key, engine by engine.

A distributed database locks rows of one engine at a time. So the search covers all engines, but
takes no lock. Then the rows of each engine are locked and changed if they still meet the condition;
rows that are deleted or locked by then are skipped.
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

from app.adapters.db.base import Base
from app.adapters.db.bulk import all_of, rows_of
from app.adapters.db.session import Session

Key = tuple[Any, ...]
"""The primary key of a row; the first part is the engine's id, if the table has one."""
KeyColumns = Sequence[InstrumentedAttribute[Any]]
"""The columns of a key, in its order."""
_Columns = Sequence[ColumnElement[Any] | InstrumentedAttribute[Any]]
Selected = Select[*tuple[Any, ...]]
"""A statement that selects keys."""
Changed = TypeVar("Changed")
ChangeKeys = Callable[[Session, int, Sequence[Key]], Awaitable[Changed]]
"""Lock and change rows of one engine; the arguments are the session, the engine's id and keys."""
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""The moment from which Postgres counts the microseconds of a timestamp."""


@dataclass(frozen=True)
class RowSearch:
    """The bounds of a search for rows.

    Attributes:
        but: the names of excluded rows, as made by `name_of`.
        but_below: the names of first key parts; all rows below them are excluded.
        only: the key of the only row to find; None: all rows that are not excluded.
    """

    limit: int
    but: Collection[str] = ()
    but_below: Collection[str] = ()
    only: Key | None = None

    def bounded(self, keys: Selected, columns: _Columns) -> Selected:
        """Add the bounds to a statement that selects these key columns; its order stays."""
        # A search without exclusions keeps its plan.
        if self.but:
            keys = keys.where(_name(columns) != all_of(self.but))
        if self.but_below:
            keys = keys.where(_name(columns[:1]) != all_of(self.but_below))
        if self.only is not None:
            pairs = zip(columns, self.only, strict=True)
            keys = keys.where(*(column.is_not_distinct_from(value) for column, value in pairs))
        return keys.limit(self.limit)


FindRows = Callable[[Session, RowSearch], Awaitable[Sequence[Key]]]
"""Find keys of rows over all engines, the oldest first, without locks."""
SelectRows = Callable[[Session, RowSearch], Selected]
"""Return the statement that selects keys of rows over all engines."""
RemoveSelected = Callable[[Session, Selected], Awaitable[int]]
"""Remove or change the rows with the keys that a statement selects; return the count."""


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
    """Return the SQL expression of a row's name; the plan of a join would sort all due rows."""
    first, *others = (_text_of(column) for column in columns)
    for other in others:
        first = first.concat("/").concat(other)
    return first


def _text_of(column: Any) -> ColumnElement[str]:  # noqa: ANN401 - a column of any type
    if isinstance(column.type, LargeBinary):
        return func.encode(column, literal_column("'hex'"))
    if isinstance(column.type, DateTime):
        # The cast to text depends on the session's time zone. A distributed database refuses such
        # expressions in changes.
        column = func.encode(func.timestamptz_send(column), literal_column("'hex'"))
    return func.coalesce(cast(column, Text), "")


async def find_keys(session: Session, statement: Executable) -> list[Key]:
    """Return the keys that a statement selects, without locks."""
    return [tuple(row) for row in await session.execute(statement)]


def locked(
    columns: KeyColumns, engine_id: int, keys: Sequence[Key], *conditions: ColumnElement[bool]
) -> Select[Any]:
    """Return a select that locks the free rows of one engine that still meet conditions."""
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
    # Not a subquery: a plan may run it once per row and lock other rows each time.
    held = locked(columns, engine_id, keys, *conditions).cte("held")
    # Not `in`: for a row of several columns, Citus sends `true = any (...)` to the node.
    is_held = (column == held.c[column.key] for column in others)
    statement = (
        delete(table)
        .where(engine == engine_id, exists().where(*is_held))
        .returning(engine)
        .execution_options(synchronize_session=False)
    )
    return len((await session.execute(statement)).all())
