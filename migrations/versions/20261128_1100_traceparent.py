"""Notes the span of the request that asked for an operation."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "a9f3c8d41100"
down_revision: str | None = "a9e2f7c31000"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("operations", sa.Column("traceparent", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("operations", "traceparent")
