"""Finds the deleted memories of an engine by the time of their deletion."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "b1c27d401300"
down_revision: str | None = "a9f4d1e61200"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index(
        "ix_memories_delete_time",
        "memories",
        ["engine_id", "delete_time", "memory_id"],
        postgresql_where=sa.text("delete_time is not null"),
    )


def downgrade() -> None:
    op.drop_index("ix_memories_delete_time", "memories")
