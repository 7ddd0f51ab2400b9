"""Records since when ids carry their bucket."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "e6b9d4f21000"
down_revision: str | None = "d5a8c3e11000"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "ids_carry_buckets_from",
        sa.Column("milliseconds", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("milliseconds", name=op.f("pk_ids_carry_buckets_from")),
    )
    # No process of another release writes beside a migration, so that all later ids carry theirs.
    op.execute(
        "insert into ids_carry_buckets_from"
        " select ceil(extract(epoch from clock_timestamp()) * 1000)"
    )


def downgrade() -> None:
    op.drop_table("ids_carry_buckets_from")
