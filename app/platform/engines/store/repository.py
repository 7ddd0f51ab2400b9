"""Every statement on engines."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta
from enum import Enum
from functools import cache, partial
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Select,
    and_,
    any_,
    bindparam,
    delete,
    exists,
    func,
    literal,
    select,
    text,
    true,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, insert

from app.adapters.db.bulk import insert_drawn_row
from app.adapters.db.clock import database_time
from app.adapters.db.filter_fields import MapField, TextField, TimestampField
from app.adapters.db.filters import Fields
from app.adapters.db.lists import List
from app.adapters.db.session import Database, Session
from app.adapters.db.spread import Key, RowSearch, find_keys
from app.kernel.auth import Reach
from app.kernel.errors import FailedPrecondition, NotFound, Reason
from app.kernel.names import WILDCARD, EngineName, LocationName
from app.platform.engines.logic.config import search_language
from app.platform.engines.store.tables import EmbeddingModelRow, EngineRow, config_of
from app.platform.operations.store.tables import OperationRow

_STALE = timedelta(seconds=300)
"""Time after a switch in which writes with the former model may still commit: two minutes for a
transaction, one for clock differences, and twice the recovery time of a two-phase commit."""
# Reads one engine, so on a distributed database it depends only on the node of that engine.
_IS_RESTORING = b"""
select true from engines where engine_id = $1 and restore is not null and delete_time is null
"""
_MODEL = select(EngineRow.embedding_model).where(EngineRow.engine_id == bindparam("engine_id"))
# Citus answers a statement over all shards with all rows or with none. So each node is asked for
# the ids on it; then the statement names them, and reaches no other node.
_REACHABLE_IDS = text("""
select engine_id::bigint
from (
    select nodename::text, nodeport,
        format('select coalesce(json_agg(engine_id), ''[]'') from (%s) as held', string_agg(
            format('select engine_id from %s', shard_name(logicalrelid, shardid)), ' union all '
        )) as question
    from pg_dist_shard
    join pg_dist_placement using (shardid)
    join pg_dist_node using (groupid)
    where logicalrelid = 'engines'::regclass and noderole = 'primary'
        and nodename || ':' || nodeport <> all(:away)
    group by nodename, nodeport
) as asked,
lateral master_run_on_worker(
    array[nodename], array[nodeport], array[question], false
) as answered,
lateral json_array_elements_text(case when success then result::json else '[]' end) as engine_id
""")


class Lock(Enum):
    """The lock that a transaction takes on an engine it reads."""

    NONE = "NONE"
    SHARED = "SHARED"
    """The engine cannot be deleted before the transaction ends; for writing children."""
    UPDATE = "UPDATE"
    """The engine cannot be changed; writers of its children do not wait."""
    EXCLUSIVE = "EXCLUSIVE"
    """No rows can be written below the engine; for deleting it."""


async def get(
    session: Session, name: EngineName, lock: Lock = Lock.NONE, *, even_restoring: bool = False
) -> EngineRow:
    """Return an engine that is not deleted nor, unless `even_restoring`, being restored.

    A restore begins and ends under `Lock.EXCLUSIVE`, so a locked engine stays as it was read.

    Raises:
        FailedPrecondition: the engine is being restored.
        NotFound: no such engine in this project and location.
    """
    parts = {"project": name.project, "location": name.location}
    parts = {part: value for part, value in parts.items() if value != WILDCARD}
    values = {"engine_id": name.engine, **parts}
    row = (await session.execute(_living(lock, tuple(parts)), values)).scalar_one_or_none()
    if row is None:
        raise NotFound.of(name)
    if row.restore is not None and not even_restoring:
        raise under_restore(name)
    return row


@cache
def _living(lock: Lock, parts: Sequence[str]) -> Select[EngineRow]:
    """Select an engine by its id and by these parts of its name; each value is a parameter."""
    # Cached, since every request that changes something sends it, and building it costs the most.
    columns = (EngineRow.engine_id, *(getattr(EngineRow, part) for part in parts))
    statement = select(EngineRow).where(
        EngineRow.delete_time.is_(None), *(column == bindparam(column.key) for column in columns)
    )
    if lock is Lock.SHARED:
        return statement.with_for_update(key_share=True, read=True)
    if lock is Lock.UPDATE:
        return statement.with_for_update(key_share=True)
    return statement.with_for_update() if lock is Lock.EXCLUSIVE else statement


def locked(name: EngineName, lock: Lock = Lock.SHARED) -> Callable[[Session], Awaitable[EngineRow]]:
    """Return the function that reads and locks an engine in a transaction, as `get` does."""
    return partial(get, name=name, lock=lock)


def unchanged(condition: str) -> str:
    """Return a part of a hot statement: it locks a cached engine as `Lock.SHARED` does.

    It finds the engine only in the version of the cache, not being restored, and if it meets the
    condition. It does not wait for a deletion or an erasure: hot statements have few connections,
    so the reference path waits. `version_of` gives its values.
    """
    return f"""
    select 1 from engines
    where engine_id = %(engine)s and version = %(version)s and delete_time is null
        and restore is null and {condition}
    for key share skip locked
    """  # noqa: S608 - of constants


def version_of(engine: EngineRow) -> dict[str, Any]:
    """Return the values of `unchanged`."""
    return {"engine": engine.engine_id, "version": engine.version}


def under_restore(name: EngineName) -> FailedPrecondition:
    """Return the error of a method that has to wait for the end of a restore."""
    return FailedPrecondition(
        f"{name} is being restored from an archive; repeat the restore until it ends, or delete"
        " the engine.",
        Reason.ENGINE_RESTORING,
    )


def is_settled(engine_id: Any) -> ColumnElement[bool]:  # noqa: ANN401 - a column of any table
    """Select rows of engines that are not being restored; for sweeps, which pass those over."""
    restoring = select(EngineRow.engine_id).where(EngineRow.restore.is_not(None))
    condition: ColumnElement[bool] = engine_id.not_in(restoring)
    return condition


def is_engine_settled(engine_id: int) -> ColumnElement[bool]:
    """Select rows of one engine unless it is being restored; for sweeps, as `is_settled`."""
    return ~exists().where(EngineRow.engine_id == engine_id, EngineRow.restore.is_not(None))


async def find_location(session: Session, engine_id: int) -> LocationName | None:
    """Return the location of an engine in any state; its operations outlive it and need it."""
    parts = (func.split_part(OperationRow.engine_name, "/", place) for place in (2, 4))
    # One statement: a missing engine must not take longer to look up than an existing one.
    statement = union_all(
        select(EngineRow.project, EngineRow.location).where(EngineRow.engine_id == engine_id),
        select(*parts).where(OperationRow.engine_id == engine_id),
    )
    row = (await session.execute(statement.limit(1))).first()
    return None if row is None else LocationName(*row)


async def is_live(session: Session, engine_id: int) -> bool:
    """Return True if an engine with this id exists and is not deleted."""
    statement = select(EngineRow.engine_id).where(
        EngineRow.engine_id == engine_id, EngineRow.delete_time.is_(None)
    )
    return (await session.execute(statement)).first() is not None


async def list_with_encryption(session: Session, limit: int) -> Sequence[int]:
    """Return engines of any project that have encryption settings; for the start-up log."""
    statement = select(EngineRow.engine_id).where(
        EngineRow.encryption_spec.is_not(None), EngineRow.delete_time.is_(None)
    )
    ordered = statement.order_by(EngineRow.engine_id).limit(limit)
    return (await session.execute(ordered)).scalars().all()


async def list_models(session: Session) -> Sequence[str]:
    """Return the models whose vectors serve engines of any project; for the start-up log."""
    statement = select(EngineRow.embedding_model).where(
        EngineRow.embedding_model.is_not(None), EngineRow.delete_time.is_(None)
    )
    return [
        model_id for model_id in (await session.execute(statement.distinct())).scalars() if model_id
    ]


async def find_deleted(session: Session, search: RowSearch) -> Sequence[Key]:
    """Find engines that are hidden but not removed yet, of any project; for a sweep."""
    return await _find(session, search, EngineRow.delete_time.is_not(None))


async def _find(
    session: Session, search: RowSearch, *conditions: ColumnElement[bool]
) -> Sequence[Key]:
    statement = select(EngineRow.engine_id).where(*conditions)
    return await find_keys(session, search.bounded(statement, (EngineRow.engine_id,)))


def _lies_in(location: LocationName) -> ColumnElement[bool]:
    parts = ((EngineRow.project, location.project), (EngineRow.location, location.location))
    return and_(true(), *(column == value for column, value in parts if value != WILDCARD))


async def insert_engine(session: Session, values: dict[str, Any]) -> EngineRow:
    """Insert an engine under a drawn id."""
    return await insert_drawn_row(EngineRow, session, values, "engine_id")


async def insert_once(session: Session, values: dict[str, Any]) -> None:
    """Insert an engine unless its id exists, even if hidden."""
    await session.execute(insert(EngineRow).values(values).on_conflict_do_nothing())


async def update_engine(session: Session, engine_id: int, values: dict[str, Any]) -> EngineRow:
    """Change an engine that the caller has locked."""
    statement = (
        update(EngineRow)
        .where(EngineRow.engine_id == engine_id)
        .values(**values, version=EngineRow.version + 1)
        .returning(EngineRow)
        .execution_options(populate_existing=True)
    )
    return (await session.execute(statement)).scalar_one()


async def mark_deleted(session: Session, engine_id: int, now: datetime) -> None:
    """Hide an engine from every read."""
    await update_engine(session, engine_id, {"delete_time": now})


async def remove(session: Session, engine_id: int) -> None:
    """Remove an engine that has no children left."""
    await session.execute(delete(EngineRow).where(EngineRow.engine_id == engine_id))


async def find_language(session: Session, engine_id: int) -> str | None:
    """Return the text-search configuration of an engine, if one is set."""
    statement = select(EngineRow).where(EngineRow.engine_id == engine_id)
    row = (await session.execute(statement)).scalar_one_or_none()
    return None if row is None else search_language(config_of(row))


async def find_model(session: Session, engine_id: int) -> str | None:
    """Return the embedding model that serves an engine, if any."""
    return (await session.execute(_MODEL, {"engine_id": engine_id})).scalar_one_or_none()


async def adopt_model(session: Session, engine_id: int, model_id: str, dimensions: int) -> str:
    """Assign a model to an engine without one; return the model that then serves it.

    Waits for a transaction that does the same. Raises FailedPrecondition if the vectors' length
    differs.
    """
    await learn_model(session, model_id, dimensions)
    statement = (
        update(EngineRow)
        .where(EngineRow.engine_id == engine_id, EngineRow.embedding_model.is_(None))
        .values(embedding_model=model_id)
        .returning(EngineRow.embedding_model)
        .execution_options(synchronize_session=False)
    )
    adopted = (await session.execute(statement)).scalar_one_or_none()
    return adopted or await find_model(session, engine_id) or model_id


async def serve_model(session: Session, engine_id: int, model_id: str) -> None:
    """Assign a model to an engine from the commit on; the caller holds `Lock.UPDATE`."""
    values = {"embedding_model": model_id, "embedding_target": None}
    await set_models(session, engine_id, {**values, **stale_vectors(session)})


def stale_vectors(session: Session) -> dict[str, Any]:
    """Return the columns that mark an engine as possibly having vectors of a former model."""
    return {"stale_vectors_until": database_time(session) + _STALE}


async def set_models(session: Session, engine_id: int, values: dict[str, Any]) -> None:
    """Set an engine's embedding state, without a new version of the engine."""
    await session.execute(
        update(EngineRow)
        .where(EngineRow.engine_id == engine_id)
        .values(values)
        .execution_options(synchronize_session=False)
    )


async def end_stale_vectors(session: Session, engine_id: int, until: datetime) -> None:
    """Record that no stale vectors are left, unless `stale_vectors_until` has changed."""
    await session.execute(
        update(EngineRow)
        .where(EngineRow.engine_id == engine_id, EngineRow.stale_vectors_until == until)
        .values(stale_vectors_until=None)
        .execution_options(synchronize_session=False)
    )


async def find_with_stale_vectors(session: Session, search: RowSearch) -> Sequence[Key]:
    """Find engines that may have vectors of models other than the serving one; for a sweep."""
    return await _find(
        session,
        search,
        EngineRow.stale_vectors_until.is_not(None),
        EngineRow.delete_time.is_(None),
        EngineRow.restore.is_(None),
    )


async def find_length(session: Session, model_id: str) -> int | None:
    """Return the length of a model's vectors, if any were ever stored."""
    statement = select(EmbeddingModelRow.dimensions).where(EmbeddingModelRow.model_id == model_id)
    return (await session.execute(statement)).scalar_one_or_none()


async def learn_model(session: Session, model_id: str, dimensions: int) -> None:
    """Store the length of a model's vectors, or raise FailedPrecondition if it has changed."""
    new = insert(EmbeddingModelRow).values(model_id=model_id, dimensions=dimensions)
    await session.execute(new.on_conflict_do_nothing())
    check_length(model_id, await find_length(session, model_id), dimensions)


def check_length(model_id: str, known: int | None, dimensions: int) -> None:
    """Raise FailedPrecondition if a model's vectors are not as long as the stored ones."""
    if known not in {None, dimensions}:
        raise FailedPrecondition(
            f"The embedding model {model_id} returns vectors of {dimensions} numbers, but the"
            f" stored ones have {known}; restore the former vectors on its server, or set"
            " MEMORY_BANK_EMBEDDING_REVISION and re-embed.",
            Reason.EMBEDDING_LENGTH_CHANGED,
            metadata={"model": model_id, "stored": str(known), "given": str(dimensions)},
        )


_FIELDS: Fields = {
    "display_name": TextField(EngineRow.display_name),
    "description": TextField(EngineRow.description),
    "labels": MapField(EngineRow.labels),
    "create_time": TimestampField(EngineRow.create_time),
    "update_time": TimestampField(EngineRow.update_time),
}
ENGINES = List(
    "engines", (EngineRow.create_time, EngineRow.engine_id), is_descending=True, fields=_FIELDS
)


def _is_within(reach: Reach) -> ColumnElement[bool]:
    parts = ((EngineRow.engine_id, reach.engines), (EngineRow.project, reach.projects))
    return and_(true(), *(column.in_(sorted(some)) for column, some in parts if some is not None))


def select_engines(
    location: LocationName, reach: Reach, only: ColumnElement[bool]
) -> Select[EngineRow]:
    """Select the engines of a location that are within a caller's reach."""
    return select(EngineRow).where(
        EngineRow.delete_time.is_(None), _lies_in(location), _is_within(reach), only
    )


async def is_restoring(db: Database, engine_id: int) -> bool:
    """Return True if an engine is being restored."""
    return bool(await db.run(_IS_RESTORING, [engine_id]))


async def is_elsewhere(session: Session, away: Collection[str]) -> ColumnElement[bool]:
    """Select the engines on all nodes but those that are away, if there are some."""
    if not away:
        return true()
    ids = (await session.execute(_REACHABLE_IDS, {"away": list(away)})).scalars().all()
    condition: ColumnElement[bool] = EngineRow.engine_id == any_(
        literal(list(ids), ARRAY(BigInteger()))
    )
    return condition
