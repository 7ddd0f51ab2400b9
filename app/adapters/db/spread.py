"""Changes to rows of many engines, engine by engine.

A distributed database locks rows of one engine at a time. So keys are found over all engines, but
without a lock. Then the rows of each engine are locked and changed, if they still meet the
condition; those that are gone by then, or held by others, are skipped.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Executable, Select, and_, delete, exists, select
from sqlalchemy.orm import InstrumentedAttribute

from app.adapters.db.arrays import rows_of
from app.adapters.db.base import Base
from app.adapters.db.session import Database, Session

Key = tuple[Any, ...]
"""The key of a row, of which the engine's id is the first part."""
KeyColumns = Sequence[InstrumentedAttribute[Any]]
"""The columns of such a key."""
Changed = TypeVar("Changed")
FindKeys = Callable[[Session], Awaitable[Sequence[Key]]]
"""Find keys without locks, in the order in which their engines are to be taken."""
ChangeKeys = Callable[[Session, int, Sequence[Key]], Awaitable[Changed]]
"""Lock and change what has keys of one engine; the arguments end with its id and its keys."""


async def change_found(
    db: Database, find: FindKeys, change: ChangeKeys[Changed]
) -> tuple[int, list[Changed]]:
    """Find keys, and change the rows engine by engine; return their number and the results.

    Each engine has a transaction of its own on a distributed database, where one for all would have
    to commit on many nodes. On a single server, all share one.
    """
    if not db.is_distributed:
        async with db.transaction() as session:
            keys = await find(session)
            return len(keys), [
                await change(session, engine_id, theirs)
                for engine_id, theirs in _by_engine(keys).items()
            ]
    async with db.snapshot() as session:
        keys = await find(session)
    results = []
    for engine_id, theirs in _by_engine(keys).items():
        async with db.transaction() as session:
            results.append(await change(session, engine_id, theirs))
    return len(keys), results


def _by_engine(keys: Sequence[Key]) -> dict[int, list[Key]]:
    by_engine: dict[int, list[Key]] = {}
    for key in keys:
        by_engine.setdefault(key[0], []).append(key)
    return by_engine


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
