"""The indexes of large scopes: which there are, which there should be, and how they are made.

What takes a session takes part in the caller's transaction. An index is made and removed past it
(`app/adapters/db/definitions.py`); of one table Postgres makes one at a time, whoever asks.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from hashlib import blake2b
from typing import Any, NamedTuple

from psycopg import sql
from sqlalchemy import ColumnElement, and_, delete, func, or_, select, tablesample, text, update
from sqlalchemy.dialects.postgresql import insert

from app.adapters.db.session import Session
from app.memory.memories.store.tables import MemoryVectorRow
from app.memory.retrieval.store.nearest import ScopeIndex
from app.memory.retrieval.store.tables import ScopeIndexRow

MAX_DIMENSIONS = 4_000
"""That pgvector can index."""
_PREFIX = "scope_index_"
_SAMPLED = 200
"""Vectors of a scope that is just large, in a sample of all; by whole pages, of some ten each."""


class Key(NamedTuple):
    """One large scope, and the model of its vectors."""

    engine_id: int
    scope_hash: bytes
    model_id: str

    @property
    def index_name(self) -> str:
        """The name of the index of the vectors."""
        return _name(self.engine_id, self.scope_hash.hex(), self.model_id)

    @property
    def words_name(self) -> str:
        """The name of the index of words, which all models share."""
        return _name(self.engine_id, self.scope_hash.hex())


def _name(*key: int | str) -> str:
    return _PREFIX + blake2b(repr(key).encode(), digest_size=16).hexdigest()


async def list_ready(session: Session) -> dict[Key, ScopeIndex]:
    """Return the indexes that searches may use, of all engines."""
    statement = select(ScopeIndexRow).where(ScopeIndexRow.is_ready)
    rows = (await session.execute(statement)).scalars()
    return {_key(row): ScopeIndex(row.dimensions, row.memories) for row in rows}


async def list_known(session: Session) -> dict[Key, ScopeIndexRow]:
    """Return all that are, or are to be."""
    rows = (await session.execute(select(ScopeIndexRow))).scalars()
    return {_key(row): row for row in rows}


def _key(row: ScopeIndexRow) -> Key:
    return Key(row.engine_id, row.scope_hash, row.model_id)


async def list_likely(session: Session, memories: int, limit: int) -> list[Key]:
    """Return scopes that seem to have so many memories, the largest first.

    Told from a part of the table's pages, the smaller the larger a scope has to be: of scopes of
    20 thousand, one page in a hundred. One that was missed is found at another time.
    """
    row = MemoryVectorRow
    share = min(1.0, _SAMPLED / memories)
    sample = tablesample(row.__table__, func.system(100 * share))
    key = (sample.c.engine_id, sample.c.scope_hash, sample.c.model_id)
    statement = (
        select(*key)
        .group_by(*key)
        # Half of what is expected: the exact count comes later.
        .having(func.count() >= max(1, memories * share / 2))
        .order_by(func.count().desc())
        .limit(limit)
    )
    return [Key(*found) for found in await session.execute(statement)]


async def count(session: Session, key: Key) -> int:
    """Return how many vectors of a model a scope has."""
    statement = select(func.count()).select_from(MemoryVectorRow).where(_is_in(key))
    return (await session.execute(statement)).scalar_one()


async def register(session: Session, key: Key, memories: int) -> bool:
    """Note that there is to be an index; false where one cannot be, or is already noted."""
    dimensions = func.vector_dims(MemoryVectorRow.vector)
    statement = select(dimensions).where(_is_in(key)).limit(1)
    found = (await session.execute(statement)).scalar_one_or_none()
    if found is None or found > MAX_DIMENSIONS:
        return False
    insertion = insert(ScopeIndexRow).values(**key._asdict(), dimensions=found, memories=memories)
    made = insertion.on_conflict_do_nothing().returning(ScopeIndexRow.engine_id)
    return (await session.execute(made)).first() is not None


async def claim(session: Session, key: Key, lease: timedelta) -> bool:
    """Take the right to work at an index, and keep it from searches meanwhile.

    False where another has it.
    """
    until = ScopeIndexRow.lease_until
    is_free = or_(until.is_(None), until < func.clock_timestamp())
    statement = (
        update(ScopeIndexRow)
        .where(_is_of(key), is_free)
        .values(is_ready=False, lease_until=func.clock_timestamp() + lease)
        .returning(ScopeIndexRow.engine_id)
        .execution_options(synchronize_session=False)
    )
    return (await session.execute(statement)).first() is not None


async def renew(session: Session, key: Key, lease: timedelta) -> None:
    """Lengthen the lease of who has claimed; or let others wait for so long."""
    await _set(session, key, lease_until=func.clock_timestamp() + lease)


async def recount(session: Session, key: Key, memories: int) -> None:
    """Note how many memories there are now."""
    await _set(session, key, memories=memories)


async def mark_ready(session: Session, key: Key) -> None:
    """Let searches use an index that was made, and end the claim."""
    await _set(session, key, is_ready=True, lease_until=None)


async def forget(session: Session, key: Key) -> None:
    """Remove what is known of an index that is gone."""
    await session.execute(delete(ScopeIndexRow).where(_is_of(key)))


async def list_made(session: Session) -> dict[str, bool]:
    """Return the names of the indexes that Postgres has, and whether each was made to its end."""
    statement = text(
        "select c.relname, i.indisvalid from pg_index as i"
        " join pg_class as c on c.oid = i.indexrelid"
        " where i.indrelid in ('memory_vectors'::regclass, 'memories'::regclass)"
        " and starts_with(c.relname, :prefix)"
    )
    rows = await session.execute(statement, {"prefix": _PREFIX})
    return {str(name): bool(is_valid) for name, is_valid in rows}


async def can_be_used(session: Session) -> bool:
    """Say whether this pgvector goes on where a filter leaves over too few: 0.8 and later do."""
    statement = text("select extversion from pg_extension where extname = 'vector'")
    version = str((await session.execute(statement)).scalar_one())
    return tuple(map(int, version.split(".")[:2])) >= (0, 8)


def build(key: Key, dimensions: int) -> sql.Composed:
    """Return what makes an index while its scope is read and written; it takes a minute or more."""
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


def build_words(key: Key) -> sql.Composed:
    """Return what makes an index of words, likewise, in seconds."""
    return sql.SQL(
        "create index concurrently {name} on memories using gin (terms) with (fastupdate = off)"
        " where engine_id = {engine}::bigint and scope_hash = {scope}::bytea"
    ).format(
        name=sql.Identifier(key.words_name),
        engine=sql.Literal(key.engine_id),
        scope=sql.Literal(key.scope_hash),
    )


def drop(name: str) -> sql.Composed:
    """Return what removes an index, if it is there, while its table is read and written."""
    return sql.SQL("drop index concurrently if exists {}").format(sql.Identifier(name))


def strays(made: Collection[str], known: Collection[Key]) -> Sequence[str]:
    """Return the names of indexes that nobody knows any more."""
    wanted = {name for key in known for name in (key.index_name, key.words_name)}
    return sorted(set(made) - wanted)


def is_whole(made: Mapping[str, bool], key: Key) -> bool:
    """Say whether both indexes were made to their end."""
    return bool(made.get(key.index_name) and made.get(key.words_name))


async def _set(session: Session, key: Key, **values: object) -> None:
    await session.execute(
        update(ScopeIndexRow)
        .where(_is_of(key))
        .values(**values)
        .execution_options(synchronize_session=False)
    )


def _is_in(key: Key) -> ColumnElement[bool]:
    return _has_key(MemoryVectorRow, key)


def _is_of(key: Key) -> ColumnElement[bool]:
    return _has_key(ScopeIndexRow, key)


def _has_key(row: Any, key: Key) -> ColumnElement[bool]:  # noqa: ANN401 - either class of rows
    values: Mapping[str, Any] = key._asdict()
    return and_(*(getattr(row, name) == value for name, value in values.items()))
