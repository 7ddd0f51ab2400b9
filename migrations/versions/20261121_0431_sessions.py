"""Sessions and their events; requests that are done once and make no operation."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "b1c40e5a0431"
down_revision: str | None = "b1c40e5a0430"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    _create_sessions()
    _create_events()
    op.alter_column("request_ids", "operation_id", existing_type=sa.Text(), nullable=True)


def _create_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=True),
        sa.Column(
            "labels",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
        ),
        sa.Column(
            "session_state",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
        ),
        sa.Column("last_seq", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("update_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expire_time", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("engine_id", "session_id", name=op.f("pk_sessions")),
    )
    op.create_index(
        "ix_sessions_create_time", "sessions", ["engine_id", "create_time", "session_id"]
    )
    op.create_index(
        "ix_sessions_update_time", "sessions", ["engine_id", "update_time", "session_id"]
    )
    op.create_index(
        "ix_sessions_user", "sessions", ["engine_id", "user_id", "create_time", "session_id"]
    )
    op.create_index("ix_sessions_expire_time", "sessions", ["expire_time"])


def _create_events() -> None:
    op.create_table(
        "session_events",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("session_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("invocation_id", sa.Text(), nullable=False),
        sa.Column("timestamp", sa.DateTime(timezone=True), nullable=False),
        sa.Column("content", sa.JSON(), nullable=True),
        sa.Column("actions", sa.JSON(), nullable=True),
        sa.Column("error_code", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("event_metadata", sa.JSON(), nullable=True),
        sa.Column("raw_event", sa.JSON(), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["engine_id", "session_id"],
            ["sessions.engine_id", "sessions.session_id"],
            name=op.f("fk_session_events_sessions"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("engine_id", "session_id", "seq", name=op.f("pk_session_events")),
        sa.UniqueConstraint(
            "engine_id",
            "session_id",
            "event_id",
            name=op.f("uq_session_events_engine_id_session_id_event_id"),
        ),
    )
    op.create_index(
        "ix_session_events_timestamp",
        "session_events",
        ["engine_id", "session_id", "timestamp", "seq"],
    )


def downgrade() -> None:
    # What was done once and made no operation is only compared, so any text will do.
    op.alter_column(
        "request_ids",
        "operation_id",
        type_=sa.Text(),
        postgresql_using="coalesce(operation_id, '')",
    )
    op.alter_column("request_ids", "operation_id", existing_type=sa.Text(), nullable=False)
    op.drop_table("session_events")
    op.drop_table("sessions")
