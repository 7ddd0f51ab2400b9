"""Statements that check whether a database is whole; MissingError means a missing table."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ForeignKeyConstraint, TextClause, delete, text
from sqlalchemy.exc import DBAPIError

from app.adapters.db import schema
from app.adapters.db.base import Base
from app.adapters.db.errors import state_of
from app.adapters.db.session import Session
from app.kernel.checks import Batches, CountedRows, Examination, Level
from app.kernel.limits import Counted
from app.platform.checking.logic import MAX_NAMES, CheckFinding
from app.platform.limits.store import RateBucketRow, read_totals

_ENGINE = "engine_id"
_VERSION = text("select extversion from pg_extension where extname = 'vector'")
_LENGTHS = text(
    "select coalesce(jsonb_object_agg(model_id, dimensions), '{}')::text as lengths"
    " from embedding_models"
)
_REVISIONS = text("select version_num from alembic_version")
_SUMMED = """
select level, problem, count(*) as number,
    (array_agg(concat_ws('/', 'reasoningEngines/' || engine_id, name) order by engine_id, name)
        filter (where name is not null))[1:{limit}] as names
from ({finds}) found
group by level, problem
"""
_ORPHANS = """
select '{level}' as level, '{child} without its row of {parent}' as problem,
    c.engine_id, concat_ws('/', '{child}', {names}) as name
from {child} c
where {{of_engine}} and not exists (select from {parent} p where {is_parent})
"""
_BATCH = """
select max({key}) as last, count(*) as number from (
    select {key} from {table} where engine_id = :engine and {key} > :after
    order by {key} limit :size
) batch
"""
_ABSENT = {"42P01", "42703", "42704", "42883"}
"""SQLSTATEs of a missing table, column, type or function."""


class MissingError(Exception):
    """The schema lacks an object that a check reads."""


async def find_extension(session: Session) -> str | None:
    """Return the version of pgvector, or None without it."""
    version: str | None = (await session.execute(_VERSION)).scalar_one_or_none()
    return version


async def list_revisions(session: Session) -> Collection[str]:
    """Return the revisions of the schema, or raise MissingError if it was never migrated."""
    return {str(row.version_num) for row in await _rows(session, _REVISIONS, {})}


async def list_missing(session: Session) -> Sequence[str]:
    """Return the names of missing objects; a function with another text counts as missing."""
    rows = await session.execute(schema.look(with_texts=True))
    return [str(name) for name in schema.missing(rows.all())]


async def list_engines(session: Session, engine_id: int | None) -> Sequence[int]:
    """Return all engines or the given one, except ones that are being deleted or restored."""
    statement = (
        "select engine_id from engines where delete_time is null and restore is null and {}"
        " order by engine_id"
    )
    chosen = text(statement.format(_of_engine(engine_id)))
    return [row.engine_id for row in await _rows(session, chosen, {"engine": engine_id})]


async def find_batch(
    session: Session, batches: Batches, values: Mapping[str, Any]
) -> tuple[str | None, int]:
    """Return the last key of the next batch, or None after all rows, and its number of rows."""
    statement = text(_BATCH.format(table=batches.table, key=batches.key))
    (row,) = await _rows(session, statement, values)
    return row.last, row.number


async def examine(
    session: Session, examination: Examination, values: Mapping[str, Any]
) -> list[CheckFinding]:
    """Return the findings of an examination; `values` are its parameters."""
    if ":lengths" in examination.finds:
        # A statement of its own: models and memories may be on different nodes.
        (row,) = await _rows(session, _LENGTHS, {})
        values = {**values, "lengths": row.lengths}
    finds = examination.finds
    if examination.batches is None:
        finds = finds.format(of_engine=_of_engine(values["engine"]))
    return await _summed(session, finds, values)


async def list_orphans(session: Session, engine_id: int | None) -> list[list[CheckFinding]]:
    """Return the rows whose parent row is missing, for each foreign key of this release.

    A restored database may have left out foreign keys, or not validated them.
    """
    return [
        await _summed(
            session,
            _orphans(key).format(of_engine=_of_engine(engine_id)),
            {"engine": engine_id},
        )
        for table in Base.metadata.sorted_tables
        if _ENGINE in table.columns
        for key in sorted(table.foreign_key_constraints, key=lambda key: str(key.name))
    ]


def _orphans(key: ForeignKeyConstraint) -> str:
    pairs = [(element.parent.name, element.column.name) for element in key.elements]
    return _ORPHANS.format(
        level=Level.FAILED,
        child=key.table.name,
        parent=key.referred_table.name,
        names=", ".join(f"c.{own}" for own, _ in pairs if own != _ENGINE),
        is_parent=" and ".join(f"p.{other} = c.{own}" for own, other in pairs),
    )


def _of_engine(engine_id: int | None) -> str:
    return "true" if engine_id is None else "engine_id = :engine"


async def compare_totals(
    session: Session, engine_id: int, counted: Sequence[CountedRows]
) -> list[CheckFinding]:
    """Return the totals of an engine that differ from the sums over its rows."""
    sums = ", ".join(f"coalesce(sum({kind}), 0) as {kind}" for kind in Counted)
    statement = text(f"select {sums} from ({' union all '.join(map(_added, counted))}) added")  # noqa: S608 - of constants
    (row,) = await _rows(session, statement, {"engine": engine_id})
    held = await read_totals(session, engine_id)
    return [
        CheckFinding(
            Level.FAILED,
            f"the total of {kind} differs from what is counted anew",
            names=(f"reasoningEngines/{engine_id} ({held[kind]:,}, counted {int(number):,})",),
        )
        for kind, number in zip(Counted, row, strict=True)
        if held[kind] != number
    ]


def _added(rows: CountedRows) -> str:
    columns = ", ".join(f"{rows.adds.get(kind, '0')} as {kind}" for kind in Counted)
    return f"select {columns} from {rows.table} where engine_id = :engine"  # noqa: S608 - of constants


async def clear_rates(session: Session) -> None:
    """Fill the rate buckets of all keys and engines."""
    await session.execute(delete(RateBucketRow))


async def _summed(session: Session, finds: str, values: Mapping[str, Any]) -> list[CheckFinding]:
    statement = text(_SUMMED.format(finds=finds, limit=MAX_NAMES))
    return [
        CheckFinding(Level(row.level), row.problem, row.number, tuple(row.names or ()))
        for row in await _rows(session, statement, values)
    ]


async def _rows(
    session: Session, statement: TextClause, values: Mapping[str, Any]
) -> Sequence[Any]:
    """Run a statement of a check in a savepoint: after a failure, the transaction stays usable."""
    try:
        async with session.begin_nested():
            return (await session.execute(statement, dict(values))).all()
    except DBAPIError as error:
        if state_of(error.orig) in _ABSENT:
            raise MissingError from error
        raise
