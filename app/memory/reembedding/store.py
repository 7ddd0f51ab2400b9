"""Queries for memories without vectors, and for stale vectors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import (
    ColumnElement,
    and_,
    exists,
    func,
    select,
    update,
)

from app.adapters.db.session import Session
from app.adapters.db.spread import Key, RowSearch, find_keys, locked
from app.memory.memories.store import repository as memories
from app.memory.memories.store.tables import MemoryRow, MemoryVectorRow, UnembeddedRow
from app.platform.engines.store import repository as engines

Facts = dict[str, str]
"""Facts by memory id."""
_KEY = (UnembeddedRow.engine_id, UnembeddedRow.memory_id)


@dataclass(frozen=True)
class MemorySpan:
    """A range of an engine's memories by id: greater than `after`, up to and including `last`.

    `since` leaves out memories with an earlier last change.
    """

    after: str = ""
    last: str | None = None
    since: datetime | None = None

    def beyond(self, page: Facts) -> "MemorySpan":
        """Return the rest of the span after a page, which must be sorted as in the database."""
        return replace(self, after=next(reversed(page)))


async def end_of_span(session: Session, engine_id: int, after: str, size: int) -> str | None:
    """Return the id of the last of the next `size` memories; None if fewer are left."""
    statement = (
        select(MemoryRow.memory_id)
        .where(MemoryRow.engine_id == engine_id, MemoryRow.memory_id > after)
        .order_by(MemoryRow.memory_id)
        .offset(size - 1)
        .limit(1)
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def list_lacking(
    session: Session, engine_id: int, model_id: str, span: MemorySpan, now: datetime, limit: int
) -> Facts:
    """Return live memories of a span with a fact, but no vector of a model, ordered by id."""
    statement = (
        select(MemoryRow.memory_id, MemoryRow.fact)
        .where(
            MemoryRow.engine_id == engine_id,
            _within(span),
            _has_fact(now),
            ~_has_vector(engine_id, model_id),
        )
        .order_by(MemoryRow.memory_id)
        .limit(limit)
    )
    return {memory_id: str(fact) for memory_id, fact in await session.execute(statement)}


def _within(span: MemorySpan) -> ColumnElement[bool]:
    if span.since is not None:
        return and_(MemoryRow.memory_id > span.after, MemoryRow.update_time >= span.since)
    if span.last is not None:
        return and_(MemoryRow.memory_id > span.after, MemoryRow.memory_id <= span.last)
    return MemoryRow.memory_id > span.after


def _has_fact(now: datetime) -> ColumnElement[bool]:
    return and_(memories.is_live(now), MemoryRow.fact.is_not(None))


def _has_vector(engine_id: int, model_id: str) -> ColumnElement[bool]:
    return exists().where(
        MemoryVectorRow.engine_id == engine_id,
        MemoryVectorRow.memory_id == MemoryRow.memory_id,
        MemoryVectorRow.model_id == model_id,
    )


async def count_facts(session: Session, engine_id: int, now: datetime) -> int:
    """Count the live memories of an engine with a fact."""
    statement = (
        select(func.count())
        .select_from(MemoryRow)
        .where(MemoryRow.engine_id == engine_id, _has_fact(now))
    )
    return (await session.execute(statement)).scalar_one()


async def count_vectors(session: Session, engine_id: int, model_id: str) -> int:
    """Count an engine's vectors of a model."""
    statement = (
        select(func.count())
        .select_from(MemoryVectorRow)
        .where(MemoryVectorRow.engine_id == engine_id, MemoryVectorRow.model_id == model_id)
    )
    return (await session.execute(statement)).scalar_one()


# Embedding queue --------------------------------------------------------------------------------


async def find_due(session: Session, search: RowSearch) -> Sequence[Key]:
    """Find due memories of all engines in the embedding queue."""
    statement = (
        select(*_KEY)
        .where(_is_due(), engines.is_settled(UnembeddedRow.engine_id))
        .order_by(UnembeddedRow.due_time)
    )
    return await find_keys(session, search.bounded(statement, _KEY))


async def claim(
    session: Session, engine_id: int, keys: Sequence[Key], lease: timedelta
) -> list[str]:
    """Lease memories from the embedding queue; they are due again after `lease` if still queued."""
    held = locked(_KEY, engine_id, keys, _is_due(), engines.is_engine_settled(engine_id)).cte(
        "held"
    )
    statement = (
        update(UnembeddedRow)
        .where(
            UnembeddedRow.engine_id == engine_id,
            UnembeddedRow.memory_id.in_(select(held.c.memory_id)),
        )
        .values(due_time=func.statement_timestamp() + lease)
        .returning(UnembeddedRow.memory_id)
        .execution_options(synchronize_session=False)
    )
    return list((await session.execute(statement)).scalars())


def _is_due() -> ColumnElement[bool]:
    return UnembeddedRow.due_time <= func.statement_timestamp()


async def put_back(
    session: Session, engine_id: int, memory_ids: Sequence[str], pause: timedelta
) -> None:
    """Make leased memories due again after a pause."""
    await session.execute(
        update(UnembeddedRow)
        .where(UnembeddedRow.engine_id == engine_id, UnembeddedRow.memory_id.in_(memory_ids))
        .values(due_time=func.statement_timestamp() + pause)
        .execution_options(synchronize_session=False)
    )


async def list_facts(
    session: Session, engine_id: int, memory_ids: Sequence[str], now: datetime
) -> Facts:
    """Return the facts of live memories; memories without a fact are left out."""
    statement = select(MemoryRow.memory_id, MemoryRow.fact).where(
        MemoryRow.engine_id == engine_id, MemoryRow.memory_id.in_(memory_ids), _has_fact(now)
    )
    return {memory_id: str(fact) for memory_id, fact in await session.execute(statement)}


async def count_waiting(session: Session) -> int:
    """Count the memories of all engines that wait for embedding."""
    return (await session.execute(select(func.count()).select_from(UnembeddedRow))).scalar_one()


async def count_waiting_of(session: Session, engine_id: int, most: int) -> int:
    """Count the memories of an engine that wait for embedding, up to `most`."""
    some = (
        select(UnembeddedRow.memory_id)
        .where(UnembeddedRow.engine_id == engine_id)
        .limit(most)
        .subquery()
    )
    return (await session.execute(select(func.count()).select_from(some))).scalar_one()


# Stale vectors ----------------------------------------------------------------------------------


async def find_stale(
    session: Session, engine_id: int, kept: Sequence[str], search: RowSearch
) -> Sequence[Key]:
    """Find an engine's memories with vectors of models other than `kept`, ordered by id."""
    key = (MemoryVectorRow.engine_id, MemoryVectorRow.memory_id)
    statement = (
        select(*key)
        .where(MemoryVectorRow.engine_id == engine_id, MemoryVectorRow.model_id.not_in(kept))
        .group_by(*key)
        .order_by(MemoryVectorRow.memory_id)
    )
    return await find_keys(session, search.bounded(statement, key))


async def list_lacking_of(
    session: Session, engine_id: int, model_id: str, memory_ids: Sequence[str], now: datetime
) -> list[str]:
    """Return the ids of live memories with a fact, but no vector of a model."""
    statement = select(MemoryRow.memory_id).where(
        MemoryRow.engine_id == engine_id,
        MemoryRow.memory_id.in_(memory_ids),
        _has_fact(now),
        ~_has_vector(engine_id, model_id),
    )
    return list((await session.execute(statement)).scalars())
