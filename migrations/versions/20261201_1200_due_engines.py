"""Adds the hints of which engines have work, for the workers of a distributed database."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "d7e1f03a1200"
down_revision: str | None = "e6b9d4f21101"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "due_engines",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("due_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("touched", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("engine_id", name=op.f("pk_due_engines")),
    )
    op.create_index("ix_due_engines_due_time", "due_engines", ["due_time"])


def downgrade() -> None:
    op.drop_table("due_engines")
