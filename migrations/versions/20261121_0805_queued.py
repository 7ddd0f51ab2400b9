"""Counts the operations of an engine that wait for a worker."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "b1c40e5a0805"
down_revision: str | None = "b1c40e5a0804"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index(
        "ix_operations_queued",
        "operations",
        ["engine_id"],
        postgresql_where=sa.text("state = 'PENDING' and kind <> 'ingestion.ingest'"),
    )


def downgrade() -> None:
    op.drop_index("ix_operations_queued", "operations")
