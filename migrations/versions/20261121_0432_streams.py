"""Streams of ingested events."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "b1c40e5a0432"
down_revision: str | None = "b1c40e5a0431"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_JSON = postgresql.JSONB(none_as_null=True)
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "streams",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("scope_hash", sa.LargeBinary(), nullable=False),
        sa.Column("stream_id", sa.Text(), nullable=False),
        sa.Column("scope", _JSON, nullable=False),
        sa.Column("rule", _JSON, nullable=True),
        sa.Column("options", _JSON, nullable=False),
        sa.Column("operation_id", sa.Text(), nullable=True),
        sa.Column("create_time", _TIME, nullable=False),
        sa.Column("last_arrival_time", _TIME, nullable=False),
        sa.Column("oldest_pending_time", _TIME, nullable=True),
        sa.Column("pending_count", sa.BigInteger(), nullable=False),
        sa.Column("next_seq", sa.BigInteger(), nullable=False),
        sa.Column("flush_seq", sa.BigInteger(), nullable=False),
        sa.Column("failure_count", sa.BigInteger(), nullable=False),
        sa.Column("retry_time", _TIME, nullable=True),
        sa.Column("aside_time", _TIME, nullable=True),
        sa.PrimaryKeyConstraint("engine_id", "scope_hash", "stream_id", name=op.f("pk_streams")),
    )
    op.create_index(
        "ix_streams_oldest_pending_time",
        "streams",
        ["oldest_pending_time"],
        postgresql_where=sa.text("oldest_pending_time is not null"),
    )
    op.create_index("ix_streams_last_arrival_time", "streams", ["last_arrival_time"])
    op.create_table(
        "stream_events",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("scope_hash", sa.LargeBinary(), nullable=False),
        sa.Column("stream_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event_id", sa.Text(), nullable=True),
        sa.Column("event_time", _TIME, nullable=True),
        sa.Column("arrival_time", _TIME, nullable=False),
        sa.Column("process_time", _TIME, nullable=True),
        sa.Column("content", _JSON, nullable=True),
        sa.Column("content_bytes", sa.BigInteger(), nullable=False),
        sa.Column("batch_limit", sa.BigInteger(), nullable=True),
        sa.Column("retry_time", _TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["engine_id", "scope_hash", "stream_id"],
            ["streams.engine_id", "streams.scope_hash", "streams.stream_id"],
            name=op.f("fk_stream_events_streams"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "engine_id", "scope_hash", "stream_id", "seq", name=op.f("pk_stream_events")
        ),
        sa.UniqueConstraint(
            "engine_id",
            "scope_hash",
            "stream_id",
            "event_id",
            name=op.f("uq_stream_events_engine_id_scope_hash_stream_id_event_id"),
        ),
    )
    op.create_index(
        "ix_stream_events_pending",
        "stream_events",
        ["engine_id", "scope_hash", "stream_id"],
        postgresql_where=sa.text("process_time is null"),
    )
    op.create_index(
        "ix_stream_events_processed",
        "stream_events",
        ["arrival_time"],
        postgresql_where=sa.text("process_time is not null"),
    )


def downgrade() -> None:
    op.drop_table("stream_events")
    op.drop_table("streams")
