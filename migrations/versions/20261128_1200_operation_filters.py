"""Finds the open and the failed operations of an engine, and notes when an operation first ran."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "a3c7d2e51200"
down_revision: str | None = "b2a1c4e51200"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("operations", sa.Column("start_time", sa.DateTime(timezone=True), nullable=True))
    op.execute("alter index ix_operations_failed rename to ix_operations_failed_time")
    op.create_index(
        "ix_operations_failed",
        "operations",
        ["engine_id", "operation_id"],
        postgresql_where=sa.text("state = 'FAILED'"),
    )
    op.create_index(
        "ix_operations_open",
        "operations",
        ["engine_id", "operation_id"],
        postgresql_where=sa.text("state = 'PENDING' or state = 'RUNNING'"),
    )


def downgrade() -> None:
    op.drop_index("ix_operations_open", "operations")
    op.drop_index("ix_operations_failed", "operations")
    op.execute("alter index ix_operations_failed_time rename to ix_operations_failed")
    op.drop_column("operations", "start_time")
