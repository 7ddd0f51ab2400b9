"""How much each engine holds, kept by triggers, and how much waits in each stream.

A statement adds its change to the row of the engine and of its own connection, which no other
transaction writes: those who write the same engine do not wait for each other. The sum over an
engine's rows is exact; a sweep adds them together.
"""

from collections.abc import Iterator, Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "b1c40e5a0803"
down_revision: str | None = "b1c40e5a0802"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_TOTALS = ("memories", "sessions", "events", "bytes")
# What one row of a table counts as. Lengths are those of texts, and so depend on the content
# alone: what an insertion has added, a deletion takes away, however the row was stored.
_SESSION_BYTES = "octet_length(concat({0}display_name, {0}labels, {0}session_state))"
_COUNTED = {
    "memories": {
        "memories": "(delete_time is null)::int",
        "bytes": (
            "octet_length(concat(scope, fact, display_name, description, topics, metadata,"
            " structured_content, context))"
        ),
    },
    "memory_revisions": {
        "bytes": (
            "octet_length(concat(fact, display_name, description, topics, metadata,"
            " structured_content, context, labels, extracted_memories))"
        ),
    },
    "sessions": {"sessions": "1", "bytes": _SESSION_BYTES.format("")},
    "session_events": {"events": "1", "bytes": "size_bytes"},
    "stream_events": {
        "events": "(content is not null)::int",
        "bytes": "case when content is null then 0 else content_bytes end",
    },
}
_ADDED = "select 1 as sign, * from added"
_REMOVED = "select -1 as sign, * from removed"
_STATEMENTS = {
    "insert": (_ADDED, "new table as added"),
    "update": (f"{_ADDED} union all {_REMOVED}", "old table as removed new table as added"),
    "delete": (_REMOVED, "old table as removed"),
}
# The events of a session never change. A session's counters do with every event; its state may be
# long, and is only looked at where a statement sets it: a trigger for certain columns is one for
# each row, since it cannot have the tables of what was added and removed.
_NEVER_UPDATED = frozenset({"sessions", "session_events"})


def upgrade() -> None:
    op.create_table(
        "engine_totals",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("backend", sa.BigInteger(), autoincrement=False, nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _TOTALS),
        sa.PrimaryKeyConstraint("engine_id", "backend", name=op.f("pk_engine_totals")),
    )
    # A row is rewritten by every change: room for its next version on the same page.
    op.execute("alter table engine_totals set (fillfactor = 50)")
    for table, verb in _triggers():
        _count(table, verb)
    _count_state()
    # Behind the triggers, which have locked the tables: what is there is counted once.
    op.execute(_add(_of_all(), "0"))
    op.add_column(
        "streams", sa.Column("pending_bytes", sa.BigInteger(), nullable=False, server_default="0")
    )
    op.execute(
        "update streams set pending_bytes = waiting.bytes from"
        " (select engine_id, scope_hash, stream_id, sum(content_bytes) as bytes"
        " from stream_events where process_time is null"
        " group by engine_id, scope_hash, stream_id) as waiting"
        " where streams.engine_id = waiting.engine_id"
        " and streams.scope_hash = waiting.scope_hash"
        " and streams.stream_id = waiting.stream_id"
    )
    op.alter_column("streams", "pending_bytes", server_default=None)


def downgrade() -> None:
    op.drop_column("streams", "pending_bytes")
    for table, verb in [*_triggers(), ("sessions", "update")]:
        op.execute(f"drop trigger total_{verb} on {table}")
        op.execute(f"drop function total_{table}_{verb}()")
    op.drop_table("engine_totals")


def _triggers() -> Iterator[tuple[str, str]]:
    for table in _COUNTED:
        for verb in _STATEMENTS:
            if verb != "update" or table not in _NEVER_UPDATED:
                yield table, verb


def _count(table: str, verb: str) -> None:
    """Count what statements of one kind do to a table."""
    rows, transition = _STATEMENTS[verb]
    _create_function(f"total_{table}_{verb}", _add(_counted(table, f"({rows}) as rows", "sign *")))
    op.execute(
        f"create trigger total_{verb} after {verb} on {table} referencing {transition}"
        f" for each statement execute function total_{table}_{verb}()"
    )


def _count_state() -> None:
    """Count what statements do to the content of sessions that are there."""
    change = f"{_SESSION_BYTES.format('new.')} - {_SESSION_BYTES.format('old.')}"
    one = f"select new.engine_id, 0 as memories, 0 as sessions, 0 as events, {change} as bytes"
    _create_function("total_sessions_update", _add(one))
    op.execute(
        "create trigger total_update after update of display_name, labels, session_state"
        " on sessions for each row execute function total_sessions_update()"
    )


def _create_function(name: str, statement: str) -> None:
    op.execute(
        f"create function {name}() returns trigger language plpgsql"
        f" as $$ begin {statement}; return null; end $$"
    )


def _add(counted: str, backend: str = "pg_backend_pid()") -> str:
    """Add what is counted to the totals; nothing is written where nothing has changed."""
    columns = ", ".join(_TOTALS)
    sums = ", ".join(f"sum({name}) as {name}" for name in _TOTALS)
    added = ", ".join(f"{name} = total.{name} + excluded.{name}" for name in _TOTALS)
    return (
        f"insert into engine_totals as total (engine_id, backend, {columns})"  # noqa: S608 - of constants
        f" select engine_id, {backend}, {columns}"
        f" from (select engine_id, {sums} from ({counted}) as counted group by engine_id) as change"
        f" where ({columns}) <> (0, 0, 0, 0)"
        f" on conflict (engine_id, backend) do update set {added}"
    )


def _counted(table: str, rows: str, sign: str = "") -> str:
    """Select what each of these rows of a table counts as."""
    values = (f"{sign} ({_COUNTED[table].get(name, '0')}) as {name}" for name in _TOTALS)
    return f"select engine_id, {', '.join(values)} from {rows}"  # noqa: S608 - of constants


def _of_all() -> str:
    return " union all ".join(_counted(table, table) for table in _COUNTED)
