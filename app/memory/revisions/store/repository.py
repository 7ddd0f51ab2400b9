"""Every statement that reads revisions.

All functions take part in the caller's transaction.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, and_, exists, func, select
from sqlalchemy.dialects.postgresql import distinct_on

from app.adapters.db.filter_fields import MapField
from app.adapters.db.filters import Fields
from app.adapters.db.pages import Slice
from app.adapters.db.session import Session
from app.kernel.errors import NotFound
from app.kernel.names import MemoryName, RevisionName
from app.memory.memories.store.repository import is_known
from app.memory.memories.store.tables import MemoryRow, RevisionLabelRow, RevisionRow


def _has_label(key: str, value: str) -> ColumnElement[bool]:
    """Select revisions with a label, by the index of labels."""
    return exists().where(
        RevisionLabelRow.engine_id == RevisionRow.engine_id,
        RevisionLabelRow.revision_id == RevisionRow.revision_id,
        RevisionLabelRow.key == key,
        RevisionLabelRow.value == value,
    )


FILTER_FIELDS: Fields = {"labels": MapField(RevisionRow.labels, _has_label)}
"""Fields that the filter of revisions accepts."""
KEY_IN_MEMORY = (RevisionRow.version,)
"""The order of the revisions of one memory."""
KEY_IN_ENGINE = (RevisionRow.revision_id,)
"""The order of the revisions of several memories; ids are ordered by time."""


async def get(session: Session, name: RevisionName, now: datetime) -> RevisionRow:
    """Return a revision that has not expired.

    Raises:
        NotFound: this memory has no such revision, or it has expired.
    """
    row = await find(session, name, now)
    if row is None:
        raise NotFound.of(name)
    return row


async def find(session: Session, name: RevisionName, now: datetime) -> RevisionRow | None:
    """Return a revision that has not expired, or None."""
    statement = select(RevisionRow).where(
        RevisionRow.engine_id == name.memory.engine.engine,
        RevisionRow.revision_id == name.revision,
        RevisionRow.memory_id == name.memory.memory,
        RevisionRow.expire_time > now,
    )
    return (await session.execute(statement)).scalar_one_or_none()


async def latest_ids(
    session: Session, engine_id: int, memory_ids: Sequence[str], now: datetime
) -> dict[str, int]:
    """Return the id of the newest revision of each memory that has one."""
    statement = (
        select(RevisionRow.memory_id, RevisionRow.revision_id)
        .ext(distinct_on(RevisionRow.memory_id))
        .where(
            RevisionRow.engine_id == engine_id,
            RevisionRow.memory_id.in_(memory_ids),
            RevisionRow.expire_time > now,
        )
        .order_by(RevisionRow.memory_id, RevisionRow.version.desc())
    )
    return {row.memory_id: row.revision_id for row in await session.execute(statement)}


async def latest_facts(
    session: Session, engine_id: int, memory_ids: Sequence[str], count: int, now: datetime
) -> dict[str, list[str]]:
    """Return the facts of memories before their present fact, newest first.

    Only the newest `count` revisions of each are read; a fact kept over several counts once.
    """
    place = func.row_number().over(
        partition_by=RevisionRow.memory_id, order_by=RevisionRow.version.desc()
    )
    newest = (
        select(RevisionRow.memory_id, RevisionRow.fact, place.label("place"))
        .where(
            RevisionRow.engine_id == engine_id,
            RevisionRow.memory_id.in_(memory_ids),
            RevisionRow.expire_time > now,
        )
        .subquery()
    )
    rows = await session.execute(
        select(newest.c.memory_id, newest.c.fact)
        .where(newest.c.place <= count, newest.c.fact.is_not(None))
        .order_by(newest.c.memory_id, newest.c.place)
    )
    by_memory: dict[str, list[str]] = {}
    for memory_id, fact in rows:
        facts = by_memory.setdefault(memory_id, [])
        if fact not in facts:
            facts.append(fact)
    return {memory_id: facts[1:] for memory_id, facts in by_memory.items()}


async def list_of_memory(
    session: Session,
    name: MemoryName,
    clause: ColumnElement[bool],
    now: datetime,
    page: Slice,
) -> Sequence[RevisionRow]:
    """Return a page of a memory's revisions."""
    statement = select(RevisionRow).where(
        RevisionRow.engine_id == name.engine.engine,
        RevisionRow.memory_id == name.memory,
        RevisionRow.expire_time > now,
        clause,
    )
    return (await session.execute(page.applied(statement))).scalars().all()


async def list_of_engine(
    session: Session,
    engine_id: int,
    clause: ColumnElement[bool],
    now: datetime,
    page: Slice,
) -> Sequence[RevisionRow]:
    """Return a page of the readable revisions of an engine's memories."""
    statement = (
        select(RevisionRow)
        .join(
            MemoryRow,
            and_(
                MemoryRow.engine_id == RevisionRow.engine_id,
                MemoryRow.memory_id == RevisionRow.memory_id,
            ),
        )
        .where(
            RevisionRow.engine_id == engine_id,
            MemoryRow.engine_id == engine_id,
            RevisionRow.expire_time > now,
            is_known(now),
            clause,
        )
    )
    return (await session.execute(page.applied(statement))).scalars().all()
