"""Operations in the order they are due; the revisions of an operation; prompt versions."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "b1c40e5a0430"
down_revision: str | None = "952db9629904"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


_IS_UNFINISHED = sa.text("state = 'PENDING' or state = 'RUNNING'")


def upgrade() -> None:
    op.drop_index("ix_operations_unfinished", "operations")
    op.create_index(
        "ix_operations_unfinished",
        "operations",
        ["due_time", "operation_id"],
        postgresql_where=_IS_UNFINISHED,
    )
    op.add_column("memory_revisions", sa.Column("prompt_version", sa.Text(), nullable=True))
    op.create_index(
        "ix_memory_revisions_operation", "memory_revisions", ["engine_id", "operation_id"]
    )


def downgrade() -> None:
    op.drop_index("ix_memory_revisions_operation", "memory_revisions")
    op.drop_column("memory_revisions", "prompt_version")
    op.drop_index("ix_operations_unfinished", "operations")
    op.create_index(
        "ix_operations_unfinished", "operations", ["operation_id"], postgresql_where=_IS_UNFINISHED
    )
