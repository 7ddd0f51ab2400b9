"""Notes when sensitive values were masked in a revision."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "b1e37f500900"
down_revision: str | None = "c4d1f0a82200"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column(
        "memory_revisions", sa.Column("redact_time", sa.DateTime(timezone=True), nullable=True)
    )


def downgrade() -> None:
    op.drop_column("memory_revisions", "redact_time")
