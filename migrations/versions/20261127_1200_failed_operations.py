"""Finds the operations that failed lately, to count them."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "b1c27d401200"
down_revision: str | None = "b1c27d401100"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index(
        "ix_operations_failed",
        "operations",
        ["update_time"],
        postgresql_where=sa.text("state = 'FAILED'"),
    )


def downgrade() -> None:
    op.drop_index("ix_operations_failed", "operations")
