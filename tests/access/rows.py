"""What is stored, row by row, to be compared."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from sqlalchemy import text

from app.adapters.db.session import Database
from app.process.metadata import metadata

Row = tuple[str, dict[str, Any]]
"""The table, and the values by column."""
Stored = dict[str, tuple[int, Decimal]]
"""By table, how many rows it has and the sum of their hashes: the same for the same rows."""

_NOT_COMPARED = {
    "audit_events": "has what was refused, too",
    "service_audit_events": "has what was refused, too",
    "rate_buckets": "goes down with every request",
    "processes": "a heartbeat each five seconds",
    "ticks": "the clock of the sweeps",
    "due_engines": "goes with the queue",
    "engine_totals": "counts what all have in an engine",
}
_COLUMNS_NOT_COMPARED: Mapping[str, Iterable[str]] = {"api_keys": ["last_use_time"]}


def _every_row() -> str:
    parts = []
    for table in metadata.sorted_tables:
        if table.name not in _NOT_COMPARED:
            gone = "".join(f" - '{name}'" for name in _COLUMNS_NOT_COMPARED.get(table.name, ()))
            parts.append(
                f"select '{table.name}' as name, to_jsonb(t){gone} as row from {table.name} t"
            )
    return " union all ".join(parts)


_EVERY_ROW = _every_row()
# The sweep looks before and after each route: to fetch all rows as often takes long.
_DIGESTS = f"""
select name, count(*), sum(hashtextextended(row::text, 0))
from ({_EVERY_ROW}) stored
where coalesce(row ->> 'caller', '') <> all (cast(:but_of as text[]))
group by name
"""


async def rows(database: Database) -> list[Row]:
    """Return every row of every table, but for what any request changes."""
    async with database.snapshot() as session:
        found = await session.execute(text(_EVERY_ROW))
        return [(name, row) for name, row in found]


async def stored(database: Database, but_of: Collection[str] = ()) -> Stored:
    """Return what is stored, save for what callers with these ids have put there."""
    async with database.snapshot() as session:
        found = await session.execute(text(_DIGESTS), {"but_of": [*but_of]})
        return {name: (count, digest) for name, count, digest in found}


_WHOSE = {
    "memories": "scope",
    "streams": "scope",
    "operations": "scopes",
    "sessions": "user_id",
    "memory_vectors": "memory_id",
    "memory_revisions": "memory_id",
    "revision_labels": "revision_id",
    "session_events": "session_id",
    "session_summaries": "session_id",
    "stream_events": "scope_hash",
    "read_lines": "scope_hash",
    "task_namespaces": "user_id",
    "task_artifacts": "memory namespace",
    "task_pages": "memory namespace",
    "task_chunks": "memory namespace",
    "task_vectors": "memory namespace",
}
"""By table, the column that tells whose a row is, or the columns that do so together."""
_NOBODYS = {
    "engines",
    "api_keys",
    "api_key_secrets",
    "request_ids",
    "service_request_ids",
    "model_usage",
    "tool_policies",
}
"""Of these, others may add rows of their own."""


def intruding(before: Sequence[Row], after: Sequence[Row], engine: int, user: str) -> list[str]:
    """Return what was changed of a tenant's rows, and what was added to them.

    `before` is when nobody else had anything; the tenant is a user of an engine.
    """
    known = Counter(map(_text, before))
    gone = known - Counter(map(_text, after))
    theirs: dict[str, set[str]] = {
        columns: {_values(row, columns) for _, row in before if columns.split()[-1] in row}
        for columns in _WHOSE.values()
    }
    theirs["scope"] = {json.dumps([{"user_id": user}])}
    theirs["scopes"] = {json.dumps([{"user_id": [user]}])}
    added = [
        _text((table, row))
        for table, row in after
        if _text((table, row)) not in known
        and table not in _NOBODYS
        and row["engine_id"] == engine
        and _values(row, _WHOSE[table]) in theirs[_WHOSE[table]]
    ]
    return [f"gone: {one}" for one in gone] + [f"added: {one}" for one in added]


def _values(row: Mapping[str, Any], columns: str) -> str:
    return json.dumps([row[column] for column in columns.split()])


def _text(row: Row) -> str:
    return f"{row[0]} {json.dumps(row[1], sort_keys=True)}"
