"""How much engines hold: by their totals, and counted anew from the rows themselves."""

from sqlalchemy import text

from app.adapters.db.session import Database
from app.kernel.limits import Counted
from app.memory.memories.store.tables import MemoryRow, RevisionRow, counted_columns

Totals = dict[int, dict[str, int]]


def _length(*columns: str) -> str:
    return " + ".join(f"coalesce(octet_length({column}::text), 0)" for column in columns)


_SUMMED = "select engine_id, {} from engine_totals group by engine_id"
_RECOUNT = f"""
    select engine_id, sum(memories), sum(sessions), sum(events), sum(bytes), sum(artifact_bytes)
    from (
        select engine_id, case when delete_time is null then 1 else 0 end as memories,
               0 as sessions, 0 as events, {_length(*counted_columns(MemoryRow))} as bytes,
               0 as artifact_bytes
        from memories
        union all
        select engine_id, 0, 0, 0, {_length(*counted_columns(RevisionRow))}, 0
        from memory_revisions
        union all
        select engine_id, 0, 1, 0,
               {_length("display_name", "labels", "session_state", "memory_policy")}, 0
        from sessions
        union all
        select engine_id, 0, 0, 0, {_length("text", "policy", "template")}, 0
        from session_summaries
        union all
        select engine_id, 0, 0, 0, {_length("scope")} + octet_length(digest), 0
        from read_lines
        union all
        select engine_id, 0, 0, 0, {_length("state")}, 0 from user_states
        union all
        select engine_id, 0, 0, 0, {_length("state")}, 0 from app_states
        union all
        select engine_id, 0, 0, 1, size_bytes, 0 from session_events
        union all
        select engine_id, 0, 0, 1, content_bytes, 0 from stream_events where content is not null
        union all
        select engine_id, 0, 0, 0, 0, size_bytes from task_artifacts
    ) as counted
    group by engine_id
"""


async def held(database: Database) -> Totals:
    """Return what the totals say, of engines that hold anything."""
    return await _read(database, _SUMMED.format(", ".join(f"sum({kind})" for kind in Counted)))


async def recounted(database: Database) -> Totals:
    """Return what the rows say, of engines that hold anything."""
    return await _read(database, _RECOUNT)


async def waiting(database: Database) -> list[tuple[int, int]]:
    """Return how many events and bytes wait in each stream, by the stream and counted anew."""
    statement = """
        select pending_count = waiting.count and pending_bytes = waiting.bytes,
               pending_count, pending_bytes
        from streams, lateral (
            select count(*) as count, coalesce(sum(content_bytes), 0) as bytes
            from stream_events as event
            where event.engine_id = streams.engine_id and event.scope_hash = streams.scope_hash
            and event.stream_id = streams.stream_id and process_time is null
        ) as waiting
    """
    async with database.snapshot() as session:
        rows = (await session.execute(text(statement))).all()
    assert all(is_equal for is_equal, _, _ in rows)
    return [(count, length) for _, count, length in rows]


async def _read(database: Database, statement: str) -> Totals:
    async with database.snapshot() as session:
        rows = (await session.execute(text(statement))).all()
    found = {
        row[0]: {kind.value: int(n) for kind, n in zip(Counted, row[1:], strict=True)}
        for row in rows
    }
    return {engine: totals for engine, totals in found.items() if any(totals.values())}
