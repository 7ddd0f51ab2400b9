"""Indexes of large scopes: existing indexes, indexes to create, and their construction.

An index is created and removed outside transactions (`app/adapters/db/own_connections.py`).
Postgres creates only one index at a time for each table.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from hashlib import blake2b
from typing import Any, NamedTuple

from psycopg import sql
from sqlalchemy import ColumnElement, and_, delete, func, or_, select, tablesample, text, update
from sqlalchemy.dialects.postgresql import insert

from app.adapters.db.session import Session
from app.adapters.db.spread import RowSearch
from app.adapters.db.subjects import Counts, Erasure, Subject
from app.kernel.ids import scope_hash
from app.memory.memories.store.tables import MemoryRow, MemoryVectorRow
from app.memory.retrieval.store.nearest import ScopeIndex
from app.memory.retrieval.store.tables import ScopeIndexRow

MAX_DIMENSIONS = 4_000
"""Maximum dimensions of an index in pgvector."""
_PREFIX = "scope_index_"
_WORDS = "coalesce(terms || grams, terms)"
"""The lexemes of a memory; the same expression as `joined` in `app/adapters/db/lexical.py`."""
_SAMPLED = 200
"""Expected vectors in a sample, for a scope just large enough; pages hold about ten each."""
_HAS_SHARDS = text("select to_regclass('pg_dist_shard') is not null")
_SHARDS = text("select count(*) from pg_dist_shard where logicalrelid = 'memory_vectors'::regclass")


class IndexKey(NamedTuple):
    """Key of one large scope and the model of its vectors."""

    engine_id: int
    scope_hash: bytes
    model_id: str

    @property
    def index_name(self) -> str:
        """Name of the index of vectors."""
        return _name(self.engine_id, self.scope_hash.hex(), self.model_id)

    @property
    def words_name(self) -> str:
        """Name of the index of words; all models share it."""
        return _name(self.engine_id, self.scope_hash.hex(), "", _WORDS)


def _name(*key: int | str) -> str:
    return _PREFIX + blake2b(repr(key).encode(), digest_size=16).hexdigest()


async def list_ready(session: Session) -> dict[IndexKey, ScopeIndex]:
    """Return the indexes of all engines that searches may use."""
    statement = select(ScopeIndexRow).where(ScopeIndexRow.is_ready)
    rows = (await session.execute(statement)).scalars()
    return {_key(row): ScopeIndex(row.dimensions, row.memories) for row in rows}


async def list_known(session: Session) -> dict[IndexKey, ScopeIndexRow]:
    """Return all registered indexes, built or not."""
    rows = (await session.execute(select(ScopeIndexRow))).scalars()
    return {_key(row): row for row in rows}


def _key(row: ScopeIndexRow) -> IndexKey:
    return IndexKey(row.engine_id, row.scope_hash, row.model_id)


async def list_likely(session: Session, memories: int, search: RowSearch) -> list[IndexKey]:
    """Return scopes that probably have at least `memories` memories, the largest first."""
    # The estimate reads a sample of the table's pages: one in forty for scopes of 8,000. A
    # later sweep finds a scope that was missed.
    row = MemoryVectorRow
    share = min(1.0, _SAMPLED / memories)
    sample = tablesample(row.__table__, func.system(100 * share))
    key = (sample.c.engine_id, sample.c.scope_hash, sample.c.model_id)
    statement = (
        select(*key)
        .group_by(*key)
        # Half of the expected number; the exact count comes later.
        .having(func.count() >= max(1, memories * share / 2))
        .order_by(func.count().desc())
    )
    return [IndexKey(*row) for row in await session.execute(search.bounded(statement, key))]


async def count(session: Session, key: IndexKey) -> int:
    """Return the number of vectors of a model in a scope."""
    statement = (
        select(func.count()).select_from(MemoryVectorRow).where(_has_key(MemoryVectorRow, key))
    )
    return (await session.execute(statement)).scalar_one()


async def register(session: Session, key: IndexKey, memories: int) -> bool:
    """Register an index to be built; return False if that is impossible or already done."""
    dimensions = func.vector_dims(MemoryVectorRow.vector)
    statement = select(dimensions).where(_has_key(MemoryVectorRow, key)).limit(1)
    length = (await session.execute(statement)).scalar_one_or_none()
    if length is None or length > MAX_DIMENSIONS:
        return False
    insertion = insert(ScopeIndexRow).values(**key._asdict(), dimensions=length, memories=memories)
    made = insertion.on_conflict_do_nothing().returning(ScopeIndexRow.engine_id)
    return (await session.execute(made)).first() is not None


async def claim(session: Session, key: IndexKey, lease: timedelta) -> bool:
    """Lease an index for work on it, out of searches; return False if another worker has it."""
    until = ScopeIndexRow.lease_until
    is_free = or_(until.is_(None), until < func.statement_timestamp())
    if not await _lock(session, key, is_free):
        return False
    await _set(session, key, is_ready=False, lease_until=func.statement_timestamp() + lease)
    return True


async def renew(session: Session, key: IndexKey, lease: timedelta) -> None:
    """Extend the holder's lease, or block other workers for that time."""
    if await _lock(session, key):
        await _set(session, key, lease_until=func.statement_timestamp() + lease)


async def recount(session: Session, key: IndexKey, memories: int) -> None:
    """Store the current number of memories."""
    await _set(session, key, memories=memories)


async def mark_ready(session: Session, key: IndexKey) -> None:
    """Release a built index to searches and end the claim."""
    await _set(session, key, is_ready=True, lease_until=None)


async def forget(session: Session, key: IndexKey) -> None:
    """Remove the registration of a dropped index."""
    await session.execute(delete(ScopeIndexRow).where(_has_key(ScopeIndexRow, key)))


async def list_made(session: Session) -> dict[str, bool]:
    """Return the names of the indexes in Postgres, with True for each whose build is complete."""
    statement = text(
        "select c.relname, i.indisvalid from pg_index as i"
        " join pg_class as c on c.oid = i.indexrelid"
        " where i.indrelid in ('memory_vectors'::regclass, 'memories'::regclass)"
        " and starts_with(c.relname, :prefix)"
    )
    rows = await session.execute(statement, {"prefix": _PREFIX})
    return {str(name): bool(is_valid) for name, is_valid in rows}


async def count_shards(session: Session) -> int:
    """Return the number of shards with vectors; each holds a part of every index."""
    has_shards = (await session.execute(_HAS_SHARDS)).scalar_one()
    return (await session.execute(_SHARDS)).scalar_one() if has_shards else 1


async def can_be_used(session: Session) -> bool:
    """Return True if this pgvector continues a scan when a filter removes rows: 0.8 and later."""
    statement = text("select extversion from pg_extension where extname = 'vector'")
    version = str((await session.execute(statement)).scalar_one())
    return tuple(map(int, version.split(".")[:2])) >= (0, 8)


def build(key: IndexKey, dimensions: int) -> sql.Composed:
    """Return the statement that builds an index without blocking; it takes a minute or more."""
    return sql.SQL(
        "create index concurrently {name} on memory_vectors"
        " using hnsw ((vector::halfvec({dimensions})) halfvec_l2_ops)"
        " where engine_id = {engine}::bigint and scope_hash = {scope}::bytea"
        " and model_id = {model}::text"
    ).format(
        name=sql.Identifier(key.index_name),
        dimensions=sql.Literal(dimensions),
        engine=sql.Literal(key.engine_id),
        scope=sql.Literal(key.scope_hash),
        model=sql.Literal(key.model_id),
    )


def build_words(key: IndexKey) -> sql.Composed:
    """Return the statement that builds an index of words without blocking; it takes seconds."""
    return sql.SQL(
        "create index concurrently {name} on memories using gin (({words}))"
        " with (fastupdate = off)"
        " where engine_id = {engine}::bigint and scope_hash = {scope}::bytea"
    ).format(
        words=sql.SQL(_WORDS),
        name=sql.Identifier(key.words_name),
        engine=sql.Literal(key.engine_id),
        scope=sql.Literal(key.scope_hash),
    )


def drop(name: str) -> sql.Composed:
    """Return the statement that drops an index, if it exists, without blocking its table."""
    return sql.SQL("drop index concurrently if exists {}").format(sql.Identifier(name))


def strays(made: Collection[str], known: Collection[IndexKey]) -> Sequence[str]:
    """Return the names of built indexes that are not registered."""
    wanted = {name for key in known for name in (key.index_name, key.words_name)}
    return sorted(set(made) - wanted)


def is_whole(made: Mapping[str, bool], key: IndexKey) -> bool:
    """Return True if both indexes were built completely."""
    return bool(made.get(key.index_name) and made.get(key.words_name))


async def _lock(session: Session, key: IndexKey, *conditions: ColumnElement[bool]) -> bool:
    # A lease is set later, so that waiting for the lock does not shorten it.
    statement = (
        select(ScopeIndexRow.engine_id)
        .where(_has_key(ScopeIndexRow, key), *conditions)
        .with_for_update()
    )
    return (await session.execute(statement)).first() is not None


async def _set(session: Session, key: IndexKey, **values: object) -> None:
    await session.execute(
        update(ScopeIndexRow)
        .where(_has_key(ScopeIndexRow, key))
        .values(**values)
        .execution_options(synchronize_session=False)
    )


def _has_key(row: Any, key: IndexKey) -> ColumnElement[bool]:  # noqa: ANN401 - either class of rows
    values: Mapping[str, Any] = key._asdict()
    return and_(*(getattr(row, name) == value for name, value in values.items()))


def _are_of(subject: Subject) -> ColumnElement[bool]:
    scopes = select(MemoryRow.scope_hash).where(subject.selects(MemoryRow))
    return and_(
        ScopeIndexRow.engine_id == subject.engine_id,
        or_(
            ScopeIndexRow.scope_hash == scope_hash(subject.scope),
            ScopeIndexRow.scope_hash.in_(scopes),
        ),
    )


async def _count(session: Session, subject: Subject) -> Counts:
    statement = select(func.count()).select_from(ScopeIndexRow).where(_are_of(subject))
    return {ScopeIndexRow.__tablename__: (await session.execute(statement)).scalar_one()}


async def _remove(session: Session, subject: Subject, _: int) -> Counts:
    # All of the rows at once, as they are few; the scopes are found while their memories exist.
    removed = await session.execute(
        delete(ScopeIndexRow)
        .where(_are_of(subject))
        .returning(ScopeIndexRow.model_id)
        .execution_options(synchronize_session=False)
    )
    count = len(removed.all())
    return {ScopeIndexRow.__tablename__: count} if count else {}


ERASURES = (Erasure((ScopeIndexRow.__tablename__,), _count, _remove),)
"""Erasure of a scope's rows, which have its digest. The sweep drops indexes without a row."""
