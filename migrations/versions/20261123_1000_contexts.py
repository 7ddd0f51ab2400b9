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


def downgrade() -> None:
    op.drop_table("session_summaries")
    for name in ("delete_time", "token_count", "exchange"):
        op.drop_column("session_events", name)
    for name in ("memory_policy", "cleared_exchange", "cleared_seq", "is_answered", "exchanges"):
        op.drop_column("sessions", name)
