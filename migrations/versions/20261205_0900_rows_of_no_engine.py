"""Moves audit events and request ids of no engine into tables that are not distributed.

They had the engine id 0, so on a cluster they lay on the node of some engines.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision: str = "d8f5b63e0900"
down_revision: str | None = "c7e4a52d0900"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_EVENTS = (
    "engine_id, create_time, event_id, caller, method, resource, operation, address, request_id,"
    " result, reason, replayed, surface"
)
_REQUESTS = (
    "engine_id, caller, request_id, request_hash, operation_engine_id, operation_id, answer,"
    " remove_time"
)
# Two statements: on a cluster, none writes into a distributed table and another one.
_MOVES = [
    ("audit_events", "service_audit_events", _EVENTS),
    ("request_ids", "service_request_ids", _REQUESTS),
]


def upgrade() -> None:
    op.create_table(
        "service_audit_events",
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
        sa.Column("replayed", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("surface", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint(
            "create_time", "event_id", "engine_id", name="pk_service_audit_events"
        ),
    )
    op.create_table(
        "service_request_ids",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("caller", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.LargeBinary(), nullable=False),
        sa.Column("operation_engine_id", sa.BigInteger(), nullable=False),
        sa.Column("operation_id", sa.Text(), nullable=True),
        sa.Column("answer", pg.JSONB(), nullable=True),
        sa.Column("remove_time", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("engine_id", "caller", "request_id", name="pk_service_request_ids"),
    )
    op.create_index("ix_service_request_ids_remove_time", "service_request_ids", ["remove_time"])
    for source, target, columns in _MOVES:
        _move(source, target, columns)
    op.execute(
        "create trigger service_audit_events_are_final before update or delete or truncate"
        " on service_audit_events for each statement"
        " execute function refuse_change_of_audit_events()"
    )
    op.execute(
        "create trigger service_audit_events_keep_their_content before update"
        " on service_audit_events for each row execute function refuse_change_of_audit_event()"
    )


def downgrade() -> None:
    for source, target, columns in _MOVES:
        _move(target, source, columns)
        op.drop_table(target)


def _move(source: str, target: str, columns: str) -> None:
    # What others write meanwhile would be in neither table, or in both.
    op.execute(f"lock table {source}, {target} in share row exclusive mode")
    op.execute("set local memory_bank.audit_retention = 'on'")
    op.execute(
        f"insert into {target} ({columns}) select {columns} from {source} where engine_id = 0"  # noqa: S608 - of constants
    )
    op.execute(f"delete from {source} where engine_id = 0")  # noqa: S608 - of constants
