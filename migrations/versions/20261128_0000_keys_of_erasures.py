"""Notes with an erasure whether it ends keys that reach other engines."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "c4d1f0a82200"
down_revision: str | None = "b1c27d401200"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    column = sa.Column("is_service_wide", sa.Boolean, nullable=False, server_default=sa.true())
    op.add_column("erasures", column)


def downgrade() -> None:
    op.drop_column("erasures", "is_service_wide")
