"""Notes the request that asked for an operation, repeated requests, and the caller's surface."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "a9e2f7c31000"
down_revision: str | None = "a9d1c5e20900"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("operations", sa.Column("request_id", sa.Text(), nullable=True))
    op.add_column(
        "audit_events",
        sa.Column("replayed", sa.Boolean(), server_default=sa.false(), nullable=False),
    )
    op.add_column("audit_events", sa.Column("surface", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("audit_events", "surface")
    op.drop_column("audit_events", "replayed")
    op.drop_column("operations", "request_id")
