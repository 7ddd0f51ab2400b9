"""How much each engine holds: summaries of sessions, and their policies, count among the bytes."""

from collections.abc import Sequence

from alembic import op

revision: str = "d6e31f6b1001"
down_revision: str | None = "d6e31f6b1000"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_LENGTH = "octet_length(concat({}))"
_SUMMARY = _LENGTH.format("text, policy, template")
_PLAIN = ("display_name", "labels", "session_state")
_ADDED = f"select engine_id, {_SUMMARY} as bytes from added"  # noqa: S608 - of constants
_REMOVED = f"select engine_id, -{_SUMMARY} from removed"  # noqa: S608 - of constants
_SUMMARIES = {
    "insert": ("new table as added", _ADDED),
    "update": ("old table as removed new table as added", f"{_ADDED} union all {_REMOVED}"),
    "delete": (
        "old table as removed",
        f"select engine_id, -{_SUMMARY} as bytes from removed",  # noqa: S608 - of constants
    ),
}


def upgrade() -> None:
    for verb, (transition, counted) in _SUMMARIES.items():
        _create(f"total_session_summaries_{verb}", _added(counted))
        op.execute(
            f"create trigger total_{verb} after {verb} on session_summaries referencing"
            f" {transition} for each statement execute function total_session_summaries_{verb}()"
        )
    _count_sessions((*_PLAIN, "memory_policy"))
    # Behind the triggers, which have locked the tables: what is there is counted once.
    op.execute(_added(_present(""), "0"))


def downgrade() -> None:
    op.execute(_added(_present("-"), "0"))
    _count_sessions(_PLAIN)
    for verb in _SUMMARIES:
        op.execute(f"drop trigger total_{verb} on session_summaries")
        op.execute(f"drop function total_session_summaries_{verb}()")


def _present(sign: str) -> str:
    """Select the bytes that this migration counts, and the one before it does not."""
    return (
        f"select engine_id, {sign}{_SUMMARY} as bytes from session_summaries"  # noqa: S608 - of constants
        f" union all select engine_id, {sign}octet_length(memory_policy::text) from sessions"
        " where memory_policy is not null"
    )


def _count_sessions(columns: Sequence[str]) -> None:
    """Count the bytes of these columns of sessions; see the migration `totals`."""
    length = _LENGTH.format(", ".join(columns))
    for verb, sign, rows in (("insert", "", "added"), ("delete", "-", "removed")):
        counted = f"select engine_id, {sign}{length} as bytes, {sign}1 as one from {rows}"  # noqa: S608 - of constants
        _create(f"total_sessions_{verb}", _added(counted, sessions="one"))
    new, old = (
        _LENGTH.format(", ".join(f"{row}.{column}" for column in columns)) for row in ("new", "old")
    )
    _create("total_sessions_update", _added(f"select new.engine_id, {new} - {old} as bytes"))
    op.execute("drop trigger total_update on sessions")
    op.execute(
        f"create trigger total_update after update of {', '.join(columns)} on sessions"
        " for each row execute function total_sessions_update()"
    )


def _create(name: str, statement: str) -> None:
    op.execute(
        f"create or replace function {name}() returns trigger language plpgsql"
        f" as $$ begin {statement}; return null; end $$"
    )


def _added(counted: str, backend: str = "pg_backend_pid()", sessions: str = "0") -> str:
    """Add what is counted to the totals; nothing is written where nothing has changed."""
    return f"""
        insert into engine_totals as total
            (engine_id, backend, memories, sessions, events, bytes)
        select engine_id, {backend}, 0, sum({sessions}), 0, sum(bytes)
        from ({counted}) as counted group by engine_id
        having (sum({sessions}), sum(bytes)) <> (0, 0)
        on conflict (engine_id, backend) do update
        set sessions = total.sessions + excluded.sessions, bytes = total.bytes + excluded.bytes
    """  # noqa: S608 - of constants
