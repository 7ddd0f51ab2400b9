"""Adds the number of calls without a price to the usage of models.

`cost` becomes the known part. It and the number stay null where an earlier release recorded some
calls without a price, since it kept neither.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "fab7d85a0900"
down_revision: str | None = "e9a6c74f0900"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("model_usage", sa.Column("unpriced_calls", sa.BigInteger(), nullable=True))
    op.execute("update model_usage set unpriced_calls = 0 where cost is not null")


def downgrade() -> None:
    # The former release has no sum that lacks a part.
    op.execute("update model_usage set cost = null where unpriced_calls > 0")
    op.drop_column("model_usage", "unpriced_calls")
