"""What is left of the rates of keys and engines."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "b1c40e5a0802"
down_revision: str | None = "b1c40e5a0801"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "rate_buckets",
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("tokens", sa.Double(), nullable=False),
        sa.Column("granted", sa.BigInteger(), nullable=False),
        sa.Column("update_time", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("subject", name="pk_rate_buckets"),
        prefixes=["UNLOGGED"],
    )


def downgrade() -> None:
    op.drop_table("rate_buckets")
