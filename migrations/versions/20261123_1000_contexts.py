"""Contexts of sessions: exchanges of events, policies, summaries."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "d6e31f6b1000"
down_revision: str | None = "c5d20e5a0902"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("sessions", _count("exchanges"))
    op.add_column("sessions", _flag("is_answered"))
    op.add_column("sessions", _count("cleared_seq"))
    op.add_column("sessions", _count("cleared_exchange"))
    op.add_column("sessions", sa.Column("memory_policy", postgresql.JSONB(), nullable=True))
    op.add_column("session_events", _count("exchange"))
    op.add_column("session_events", sa.Column("token_count", sa.BigInteger(), nullable=True))
    op.add_column(
        "session_events", sa.Column("delete_time", sa.DateTime(timezone=True), nullable=True)
    )
    _create_summaries()
    op.add_column("request_ids", sa.Column("answer", postgresql.JSONB(), nullable=True))
    _number_exchanges()
    _count_erasures()


def _number_exchanges() -> None:
    """Give the events there are their exchanges, by the rule of ``sessions/logic/event_text.py``.

    Engine by engine, however long that takes: every event is written anew, and a limit of time
    would stop the migration of a large database each time that it is tried.
    """
    bound = op.get_bind()
    limit = bound.scalar(sa.text("select current_setting('statement_timeout')"))
    op.execute("set local statement_timeout = 0")
    engines = bound.scalars(sa.text("select distinct engine_id from sessions order by engine_id"))
    for engine_id in engines.all():
        bound.execute(sa.text(_NUMBERING), {"engine_id": engine_id})
    bound.execute(sa.text("select set_config('statement_timeout', :limit, true)"), {"limit": limit})


def _plain(text: str) -> str:
    """Return a text in lower case, without blanks around it, as Python has both."""
    return f'lower(btrim({text}, {_BLANKS}) collate "C")'


def _kind(name: str) -> str:
    """Return whose what is called so is; null: nobody's who is known."""
    cases = (f"when {name} in {names} then '{kind}'" for kind, names in _KINDS.items())
    return f"case {' '.join(cases)} end"


def _readable(column: str) -> str:
    """Return JSON with question marks for what no text of the database can hold.

    Whatever looks into an object reads all of its texts, and one of those would stop the migration.
    """
    # Backslashes that are escaped give way first, so that no other `\u` is left but escapes.
    plain = rf"replace({column}::text, '\\', '\u005c')"
    unreadable = r"'\\u(0000|[dD][89a-fA-F]..)'"
    return (
        f"case when {column}::text ~ {unreadable}"
        f" then regexp_replace({plain}, {unreadable}, '?', 'g')::json else {column} end"
    )


_BLANKS = "U&'" + "".join(f"\\{n:04x}" for n in range(0x3001) if chr(n).isspace()) + "'"
_USERS = "('user', 'human')"
_KINDS = {
    "user": _USERS,
    "agent": "('model', 'assistant', 'agent', 'ai')",
    "system": "('system', 'developer')",
    "tool": "('tool', 'function')",
}
_PARTS = """
    select
        (part -> 'functionCall') is not null as is_call,
        (part -> 'functionResponse') is not null as is_result,
        coalesce((part -> 'text')::text, '""') <> '""' or exists (
            select from json_object_keys(part) as name
            where name not in ('text', 'thought', 'thoughtSignature')
        ) as says
    from json_array_elements(
        case json_typeof(stored -> 'parts') when 'array' then stored -> 'parts' else '[]' end
    ) as part
    where coalesce((part -> 'thought')::text, 'false') <> 'true'
"""
_TOLD = f"""
    select
        count(*) filter (where says) as said,
        coalesce(bool_or(is_call and says), false) as calls,
        coalesce(bool_or(is_result), false) as has_results,
        coalesce(bool_and(is_result), false) as has_only_results
    from ({_PARTS}) as part
"""  # noqa: S608 - of constants
_STEPS = f"""
    select session_id, seq, case
        when said = 0 or (told -> 'partial')::text = 'true' then null
        when has_only_results or (has_results and who not in {_USERS}) then null
        else case coalesce({_kind("role")}, {_kind("who")}, 'agent')
            when 'user' then 'asks'
            when 'agent' then case when calls then null else 'answers' end
        end
    end as step
    from session_events,
        lateral (
            select {_readable("content")} as stored, {_readable("event_metadata")} as told offset 0
        ) as readable,
        lateral ({_TOLD}) as counted,
        lateral (
            select {_plain("author")} as who, {_plain("coalesce(stored ->> 'role', '')")} as role
        ) as named
    where engine_id = :engine_id
"""  # noqa: S608 - of constants
# An exchange begins with what a user says, unless the user has spoken last: the agent not yet. What
# is no step is apart from what is one, so that `lag` skips it.
_NUMBERING = f"""
    with stepping as materialized ({_STEPS}), begun as (
        select *, step = 'asks' and lag(step) over
            (partition by session_id, step is null order by seq) is distinct from 'asks' as begins
        from stepping
    ), numbered as materialized (
        select session_id, seq, step,
            count(*) filter (where begins) over (partition by session_id order by seq) as number
        from begun
    ), writing as (
        update session_events as event set exchange = number from numbered
        where number > 0 and event.engine_id = :engine_id
            and event.session_id = numbered.session_id and event.seq = numbered.seq
    ), ended as (
        select session_id, max(number) as number,
            max(seq) filter (where step = 'asks') as asked,
            max(seq) filter (where step = 'answers') as answered
        from numbered group by session_id
    )
    update sessions as session
    set exchanges = number, is_answered = coalesce(answered > asked, false)
    from ended
    where number > 0 and session.engine_id = :engine_id and session.session_id = ended.session_id
"""  # noqa: S608 - of constants


def _count_erasures() -> None:
    """Take what an erased event was long off what its engine holds; its row still counts as one."""
    op.execute("""
        create function total_session_events_update() returns trigger language plpgsql as $$ begin
            insert into engine_totals as total
                (engine_id, backend, memories, sessions, events, bytes)
            select new.engine_id, pg_backend_pid(), 0, 0, 0, new.size_bytes - old.size_bytes
            where new.size_bytes <> old.size_bytes
            on conflict (engine_id, backend) do update set bytes = total.bytes + excluded.bytes;
            return null;
        end $$
    """)
    op.execute(
        "create trigger total_update after update of size_bytes on session_events"
        " for each row execute function total_session_events_update()"
    )


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), server_default=sa.text("0"), nullable=False)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), server_default=sa.text("false"), nullable=False)


def _create_summaries() -> None:
    key = ("engine_id", "session_id")
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "session_summaries",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("summary_id", sa.Text(), nullable=False),
        sa.Column("policy_key", sa.Text(), nullable=False),
        sa.Column("policy", postgresql.JSONB(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("first_seq", sa.BigInteger(), nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("last_exchange", sa.BigInteger(), nullable=False),
        sa.Column("boundary_seq", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("char_limit", sa.BigInteger(), nullable=False),
        _flag("is_cut"),
        sa.Column(
            "previous",
            postgresql.ARRAY(sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
        ),
        sa.Column("read_first_seq", sa.BigInteger(), nullable=True),
        sa.Column("read_last_seq", sa.BigInteger(), nullable=True),
        sa.Column("model_id", sa.Text(), nullable=False),
        sa.Column("template", sa.Text(), nullable=False),
        sa.Column("usage", postgresql.JSONB(), nullable=False),
        sa.Column("error_reason", sa.Text(), nullable=True),
        _count("attempts"),
        sa.Column("retry_time", moment, nullable=True),
        sa.Column("create_time", moment, nullable=False),
        sa.Column("update_time", moment, nullable=False),
        sa.PrimaryKeyConstraint(*key, "summary_id", name=op.f("pk_session_summaries")),
        sa.ForeignKeyConstraint(
            key,
            [f"sessions.{column}" for column in key],
            name=op.f("fk_session_summaries_sessions"),
            ondelete="CASCADE",
        ),
        sa.UniqueConstraint(
            *key,
            "policy_key",
            "kind",
            "first_seq",
            "last_seq",
            "version",
            name="uq_session_summaries_range",
        ),
    )
    op.create_index(
        "ix_session_summaries_active",
        "session_summaries",
        [*key, "policy_key", "last_seq"],
        postgresql_where=sa.text("state = 'active'"),
    )
    op.create_index(
        "ix_session_summaries_retried",
        "session_summaries",
        [*key, "policy_key"],
        postgresql_where=sa.text("retry_time IS NOT NULL"),
    )


def downgrade() -> None:
    # To the release before, they would be events that say nothing.
    op.execute("delete from session_events where delete_time is not null")
    op.execute("drop trigger total_update on session_events")
    op.execute("drop function total_session_events_update()")
    op.drop_column("request_ids", "answer")
    op.drop_table("session_summaries")
    for name in ("delete_time", "token_count", "exchange"):
        op.drop_column("session_events", name)
    for name in ("memory_policy", "cleared_exchange", "cleared_seq", "is_answered", "exchanges"):
        op.drop_column("sessions", name)
