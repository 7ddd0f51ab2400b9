"""Erasures of scopes, the key of their pseudonyms, and the block of writes while one runs."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision: str = "b0d26e4f0900"
down_revision: str | None = "a9c15d3e1400"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

# A query of its own, so that it sees erasures that began after the statement did.
_REFUSE = """
create function refuse_write_to_erased_scope() returns trigger language plpgsql as $$
declare
    written jsonb;
begin
    if not exists (
        select from erasures where engine_id = new.engine_id and scope is not null
    ) then
        return new;
    end if;
    written := to_jsonb(new);
    if exists (
        select from erasures
        where engine_id = new.engine_id and scope is not null and case tg_argv[0]
            when 'scope' then written -> 'scope' @> scope
            when 'scopes' then written ->> 'kind' <> 'engines.eraseScope' and not exists (
                select from jsonb_each_text(scope) as pair
                where not coalesce(written -> 'scopes' -> pair.key ? pair.value, false)
            )
            else has_sessions
                and scope = jsonb_build_object('user_id', written ->> 'user_id')
        end
    ) then
        raise exception 'the scope is being erased' using errcode = 'OMB01';
    end if;
    return new;
end
$$
"""
_REFUSED = {
    "memories": ("scope", "insert or update of version"),
    "streams": ("scope", "insert or update of pending_count"),
    "operations": ("scopes", "insert"),
    "sessions": ("user", "insert or update of version, last_seq, session_state, user_id"),
    "user_states": ("user", "insert or update of state"),
    "task_namespaces": ("user", "insert or update of version, artifacts, user_id"),
}
"""What is refused of each table, and how its rows name their scope."""
_ERASED = "'^erased-[0-9a-f]{12}$'"
_ERASED_NAME = "'/erased-[0-9a-f]{12}$'"
# As the log has it, but for the names of what was erased, in these forms alone.
_PSEUDONYMS = f"""
create function refuse_change_of_audit_event() returns trigger language plpgsql as $$
begin
    if (to_jsonb(new) - '{{caller,address,resource,operation,request_id}}'::text[])
            is distinct from
            (to_jsonb(old) - '{{caller,address,resource,operation,request_id}}'::text[])
        or (new.caller is distinct from old.caller and new.caller !~ {_ERASED})
        or (new.resource is distinct from old.resource and new.resource !~ {_ERASED_NAME})
        or (new.operation is distinct from old.operation and new.operation !~ {_ERASED_NAME})
        or (new.address is distinct from old.address and new.address is not null)
        or (new.request_id is distinct from old.request_id and new.request_id is not null)
    then
        raise exception 'audit_events takes new rows only'
            using errcode = 'insufficient_privilege';
    end if;
    return new;
end
$$
"""
_STATEMENTS = """
create or replace function refuse_change_of_audit_events() returns trigger
language plpgsql as $$
begin
    if tg_op = 'DELETE'
        and current_setting('memory_bank.audit_retention', true) = 'on' then
        return null;
    end if;
    {erasing}
    raise exception 'audit_events takes new rows only' using errcode = 'insufficient_privilege';
end
$$
"""
_ERASING = """
    if tg_op = 'UPDATE' and current_setting('memory_bank.erasing', true) = 'on' then
        return null;
    end if;
"""


def upgrade() -> None:
    op.create_table(
        "erasures",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("certificate_id", sa.Text(), nullable=False),
        sa.Column("engine_name", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("pseudonym_key_id", sa.Text(), nullable=False),
        sa.Column("has_sessions", sa.Boolean(), nullable=False),
        sa.Column("scope", pg.JSONB(), nullable=True),
        sa.Column("operation_id", sa.Text(), nullable=False),
        sa.Column("counts", pg.JSONB(), nullable=False),
        sa.Column("pseudonymised", pg.JSONB(), nullable=False),
        sa.Column("start_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("end_time", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("engine_id", "certificate_id", name="pk_erasures"),
    )
    op.create_index(
        "ix_erasures_running",
        "erasures",
        ["engine_id"],
        postgresql_where=sa.text("scope is not null"),
    )
    op.create_table(
        "pseudonym_keys",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_pseudonym_keys"),
    )
    op.execute(_REFUSE)
    for table, (form, events) in _REFUSED.items():
        op.execute(
            f"create trigger {table}_not_erased before {events} on {table}"
            f" for each row execute function refuse_write_to_erased_scope('{form}')"
        )
    op.execute(_STATEMENTS.format(erasing=_ERASING))
    op.execute(_PSEUDONYMS)
    op.execute(
        "create trigger audit_events_keep_their_content before update on audit_events"
        " for each row execute function refuse_change_of_audit_event()"
    )


def downgrade() -> None:
    op.execute("drop function refuse_change_of_audit_event() cascade")
    op.execute(_STATEMENTS.format(erasing=""))
    op.execute("drop function refuse_write_to_erased_scope() cascade")
    op.drop_table("pseudonym_keys")
    op.drop_table("erasures")
