"""Finds the requests to forget that were not carried out, of which erasure takes the texts."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "a9c15d3e1400"
down_revision: str | None = "a9c64f9e0900"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index(
        "ix_operations_unmet_requests",
        "operations",
        ["engine_id"],
        postgresql_where=sa.text("details ? 'unmetForgetRequests'"),
    )


def downgrade() -> None:
    op.drop_index("ix_operations_unmet_requests", "operations")
