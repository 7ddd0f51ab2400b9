"""Finds the requests of failed operations, which are kept for a retry."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "a9c7e4b21000"
down_revision: str | None = "b0d26e4f0900"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index(
        "ix_operations_kept_requests",
        "operations",
        ["engine_id", "update_time"],
        postgresql_where=sa.text("state = 'FAILED' and request is not null"),
    )


def downgrade() -> None:
    # The release before keeps no such requests, and nothing of it would clear them.
    op.execute("update operations set request = null where state = 'FAILED'")
    op.drop_index("ix_operations_kept_requests", "operations")
