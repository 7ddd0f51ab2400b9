"""SQL statements about the facts of a scope: present ones, earlier ones, and their times."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, func, select

from app.adapters.db.bulk import any_of
from app.adapters.db.hot_sql import filled
from app.adapters.db.session import Database, Session
from app.kernel.ids import scope_hash
from app.memory.memories.logic.provenance import EndedFact
from app.memory.memories.logic.search_hints import same
from app.memory.memories.store.repository import is_known
from app.memory.memories.store.tables import MemoryRow, RevisionRow

_MAX_CHANGED = 1_000
"""Maximum memories of a scope to examine, the most recently changed or deleted first."""
_END_MARKS = ".!? "
_DELETED = """
select m.fact, m.memory_id, coalesce(m.held_time, m.delete_time)
from memories m
where m.engine_id = %(engine)s and m.scope_hash = %(scope)s and m.delete_time is not null
    and m.recover_until > %(now)s and m.cues && %(hints)s::text[]
    and (%(metadata)s::jsonb is null or m.metadata = %(metadata)s::jsonb) and {reach}
"""


@dataclass(frozen=True)
class FactsOfScope:
    """The search hints `same:` of present facts of memories, and of their earlier facts."""

    present: frozenset[str] = frozenset()
    earlier: frozenset[str] = frozenset()


async def find_facts(
    session: Session,
    engine_id: int,
    scope: Mapping[str, str],
    texts: Collection[str],
    now: datetime,
) -> FactsOfScope:
    """Return the given texts that are facts of the scope's memories, deleted ones included."""
    # Earlier facts are only read from the thousand most recently changed memories.
    hints = sorted({same(text) for text in texts})
    is_of_scope = and_(_is_of(engine_id, scope), is_known(now))
    facts = await session.execute(
        select(MemoryRow.fact).where(is_of_scope, MemoryRow.cues.overlap(hints))
    )
    present = frozenset(same(fact) for fact in facts.scalars() if fact)
    changed = await session.execute(
        select(MemoryRow.memory_id)
        .where(is_of_scope, MemoryRow.version > 1)
        .order_by(MemoryRow.update_time.desc())
        .limit(_MAX_CHANGED)
    )
    # Select by ids, since a join on the text would read the revisions of every engine.
    ids = changed.scalars().all()
    had = select(RevisionRow.fact).where(_had(engine_id, ids, texts, now))
    earlier = (await session.execute(had)).scalars() if ids else ()
    return FactsOfScope(present, frozenset(same(fact) for fact in earlier if fact) - present)


async def find_deleted(
    db: Database,
    engine_id: int,
    scope: Mapping[str, str],
    texts: Collection[str],
    metadata: Mapping[str, Any] | None,
    now: datetime,
) -> dict[str, EndedFact]:
    """Return the given texts that were facts of recoverable deleted memories, by their hints.

    If metadata are given, only memories with them count.
    """
    # A hot statement, in a transaction of its own: each generation asks it.
    reach, values = db.reach(MemoryRow, "m")
    parameters = {
        "engine": engine_id,
        "scope": scope_hash(scope),
        "hints": sorted({same(text) for text in texts}),
        "metadata": None if metadata is None else json.dumps(metadata),
        "now": now,
    }
    return _latest(await db.run(*filled(_DELETED.format(reach=reach), parameters | values)))


async def find_replaced(
    session: Session,
    engine_id: int,
    memory_ids: Sequence[str],
    texts: Collection[str],
    now: datetime,
) -> dict[str, EndedFact]:
    """Return the given texts that were earlier facts of memories, by their hints."""
    statement = (
        select(RevisionRow.fact, MemoryRow.memory_id, MemoryRow.rests_on)
        .join(
            MemoryRow,
            and_(
                MemoryRow.engine_id == RevisionRow.engine_id,
                MemoryRow.memory_id == RevisionRow.memory_id,
            ),
        )
        .where(
            MemoryRow.engine_id == engine_id,
            MemoryRow.memory_id == any_of(memory_ids),
            MemoryRow.fact.is_distinct_from(RevisionRow.fact),
            _had(engine_id, memory_ids, texts, now),
        )
    )
    return _latest(await session.execute(statement))


async def find_deleted_profiles(
    session: Session, engine_id: int, scope: Mapping[str, str], now: datetime
) -> list[tuple[dict[str, Any], EndedFact]]:
    """Return a scope's deleted, recoverable profiles; the latest if there are very many."""
    # Tombstones of earlier releases lack the time of the statement.
    ended = func.coalesce(MemoryRow.held_time, MemoryRow.delete_time)
    statement = (
        select(MemoryRow.structured_content, MemoryRow.memory_id, ended)
        .where(
            _is_of(engine_id, scope),
            MemoryRow.delete_time.is_not(None),
            MemoryRow.recover_until > now,
            MemoryRow.structured_content.is_not(None),
        )
        .order_by(MemoryRow.delete_time.desc())
        .limit(_MAX_CHANGED)
    )
    return [
        (content or {}, EndedFact(memory_id, moment))
        for content, memory_id, moment in await session.execute(statement)
    ]


def _is_of(engine_id: int, scope: Mapping[str, str]) -> ColumnElement[bool]:
    return and_(MemoryRow.engine_id == engine_id, MemoryRow.scope_hash == scope_hash(scope))


def _had(
    engine_id: int, memory_ids: Sequence[str], texts: Collection[str], now: datetime
) -> ColumnElement[bool]:
    return and_(
        RevisionRow.engine_id == engine_id,
        RevisionRow.memory_id == any_of(memory_ids),
        RevisionRow.expire_time > now,
        func.lower(func.rtrim(RevisionRow.fact, _END_MARKS))
        == any_of({text.lower().rstrip(_END_MARKS) for text in texts}),
    )


def _latest(rows: Iterable[Sequence[Any]]) -> dict[str, EndedFact]:
    ended: dict[str, EndedFact] = {}
    for fact, memory_id, moment in rows:
        hint = same(fact or "")
        if hint not in ended or ended[hint].ended_at < moment:
            ended[hint] = EndedFact(memory_id, moment)
    return ended
