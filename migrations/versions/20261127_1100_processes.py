"""Adds the live processes, with their heartbeats."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "b1c27d401100"
down_revision: str | None = "a9c7e4b21000"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "processes",
        sa.Column("process_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("release", sa.Text(), nullable=False),
        sa.Column("schema", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("start_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("beat_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("running", sa.Integer(), nullable=False),
        sa.Column("skew_seconds", sa.Double(), nullable=True),
        sa.Column("last_sweep_time", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("process_id", name=op.f("pk_processes")),
    )


def downgrade() -> None:
    op.drop_table("processes")
