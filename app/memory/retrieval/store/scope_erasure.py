"""Erasure of the digests of a scope that has its own indexes.

All functions take part in the caller's transaction. The sweep drops indexes without a row.
"""

from sqlalchemy import ColumnElement, and_, delete, func, or_, select

from app.adapters.db.session import Session
from app.adapters.db.subjects import Counts, Erasure, Subject
from app.kernel.ids import scope_hash
from app.memory.memories.store.tables import MemoryRow
from app.memory.retrieval.store.tables import ScopeIndexRow

_TABLE = ScopeIndexRow.__tablename__


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
    return {_TABLE: (await session.execute(statement)).scalar_one()}


async def _remove(session: Session, subject: Subject, _: int) -> Counts:
    """Remove all of the rows, as they are few; the scopes are found while their memories exist."""
    removed = await session.execute(
        delete(ScopeIndexRow)
        .where(_are_of(subject))
        .returning(ScopeIndexRow.model_id)
        .execution_options(synchronize_session=False)
    )
    count = len(removed.all())
    return {_TABLE: count} if count else {}


ERASURES = (Erasure((_TABLE,), _count, _remove),)
"""Erasure of the rows that belong to a scope."""
