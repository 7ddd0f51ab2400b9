"""The audit log, of which a trigger lets nothing be changed."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "b1c40e5a0801"
down_revision: str | None = "b1c40e5a0800"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

# Once a statement, not once a row: that something is tried at all is refused.
_REFUSE = """
create function refuse_change_of_audit_events() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE'
        and current_setting('memory_bank.audit_retention', true) = 'on' then
        return null;
    end if;
    raise exception 'audit_events takes new rows only' using errcode = 'insufficient_privilege';
end
$$
"""
_TRIGGER = """
create trigger audit_events_are_final before update or delete or truncate on audit_events
for each statement execute function refuse_change_of_audit_events()
"""


def upgrade() -> None:
    op.create_table(
        "audit_events",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("caller", sa.Text(), nullable=True),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=True),
        sa.Column("operation", sa.Text(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("result", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("engine_id", "create_time", "event_id", name="pk_audit_events"),
    )
    op.create_index(
        "ix_audit_events_create_time", "audit_events", ["create_time", "event_id", "engine_id"]
    )
    op.execute(_REFUSE)
    op.execute(_TRIGGER)


def downgrade() -> None:
    op.drop_table("audit_events")
    op.execute("drop function refuse_change_of_audit_events()")
