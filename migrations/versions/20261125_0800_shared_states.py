"""States that sessions share, the time that a session shows, and operations below memories.

Keys of a session's state that start with `user:` and `app:` move to the states of the user and of
the engine; where sessions differ, that of the session changed last is kept. What starts with
`temp:` goes. An expired session, which nobody sees any more, hands nothing on.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision: str = "f8a53b8d0800"
down_revision: str | None = "e7f42a7c1100"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_KEYS = {"user_states": ("engine_id", "user_id"), "app_states": ("engine_id",)}
_PREFIXES = {"user_states": "user:", "app_states": "app:"}
_ADDED = "select engine_id, octet_length(state::text) as bytes from added"
_REMOVED = "select engine_id, - octet_length(state::text) as bytes from removed"
_STATEMENTS = {
    "insert": (_ADDED, "new table as added"),
    "update": (f"{_ADDED} union all {_REMOVED}", "old table as removed new table as added"),
    "delete": (_REMOVED, "old table as removed"),
}
_IS_OWN = "not starts_with(key, 'user:') and not starts_with(key, 'app:')"


def upgrade() -> None:
    op.add_column("operations", sa.Column("memory_id", sa.Text(), nullable=True))
    _create("user_states", sa.Column("user_id", sa.Text(), nullable=False))
    _create("app_states")
    for table in _KEYS:
        for verb, (rows, transition) in _STATEMENTS.items():
            _count(table, verb, rows, transition)
        _move_out(table)
    op.execute(
        "update sessions set session_state = ("  # noqa: S608 - of constants
        "select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(session_state)"
        f" where {_IS_OWN} and not starts_with(key, 'temp:')"
        ") where exists (select from jsonb_object_keys(session_state) as key"
        f" where not ({_IS_OWN}) or starts_with(key, 'temp:'))"
    )
    _add_shown_time()


def downgrade() -> None:
    op.drop_column("sessions", "shown_update_time")
    # What sessions show stays as it is.
    op.execute(
        "update sessions set session_state = session_state"
        " || coalesce((select state from user_states where user_states.engine_id ="
        " sessions.engine_id and user_states.user_id = sessions.user_id), '{}')"
        " || coalesce((select state from app_states where app_states.engine_id ="
        " sessions.engine_id), '{}')"
        " where exists (select from user_states where user_states.engine_id = sessions.engine_id"
        " and user_states.user_id = sessions.user_id) or exists (select from app_states"
        " where app_states.engine_id = sessions.engine_id)"
    )
    for table in _KEYS:
        # So that their bytes are taken off the totals.
        op.execute(f"delete from {table}")  # noqa: S608 - a constant
        op.drop_table(table)
        for verb in _STATEMENTS:
            op.execute(f"drop function total_{table}_{verb}()")
    op.drop_column("operations", "memory_id")


def _create(table: str, *keys: sa.Column[str]) -> None:
    op.create_table(
        table,
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        *keys,
        sa.Column("state", pg.JSONB(none_as_null=True), nullable=False),
        sa.PrimaryKeyConstraint(*_KEYS[table], name=op.f(f"pk_{table}")),
    )


def _count(table: str, verb: str, rows: str, transition: str) -> None:
    """Count what statements of one kind add to an engine, as the migration `totals` does."""
    name = f"total_{table}_{verb}"
    statement = (
        "insert into engine_totals as total"  # noqa: S608 - of constants
        " (engine_id, backend, memories, sessions, events, bytes)"
        " select engine_id, pg_backend_pid(), 0, 0, 0, bytes"
        f" from (select engine_id, sum(bytes) as bytes from ({rows}) as rows"
        " group by engine_id) as change"
        " where bytes <> 0"
        " on conflict (engine_id, backend) do update set bytes = total.bytes + excluded.bytes"
    )
    op.execute(
        f"create function {name}() returns trigger language plpgsql"
        f" as $$ begin {statement}; return null; end $$"
    )
    op.execute(
        f"create trigger total_{verb} after {verb} on {table} referencing {transition}"
        f" for each statement execute function {name}()"
    )


def _move_out(table: str) -> None:
    """Gather the keys of a table from sessions; of equal keys, an object keeps the last."""
    keys = ", ".join(_KEYS[table])
    op.execute(
        f"insert into {table} ({keys}, state)"  # noqa: S608 - of constants
        f" select {keys}, jsonb_object_agg(key, value order by update_time, session_id)"
        " from sessions, jsonb_each(session_state)"
        f" where starts_with(key, '{_PREFIXES[table]}') and expire_time > now()"
        f" group by {keys}"
    )


def _add_shown_time() -> None:
    """Show of each session the time of its newest event, unless a change came after it."""
    column = sa.Column("shown_update_time", sa.DateTime(timezone=True), nullable=True)
    op.add_column("sessions", column)
    op.execute("update sessions set shown_update_time = update_time")
    op.execute(
        "update sessions set shown_update_time ="
        " greatest(sessions.create_time, least(event.timestamp, event.create_time))"
        " from session_events as event where event.engine_id = sessions.engine_id"
        " and event.session_id = sessions.session_id and event.seq = sessions.last_seq"
        " and event.create_time = sessions.update_time"
    )
    op.alter_column("sessions", "shown_update_time", nullable=False)
