"""Finds the previews of an engine, from which texts of erased memories are taken."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "b1c40e5a0434"
down_revision: str | None = "b1c40e5a0433"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index(
        "ix_operations_previews",
        "operations",
        ["engine_id"],
        postgresql_where=sa.text("kind = 'generation.preview'"),
    )


def downgrade() -> None:
    op.drop_index("ix_operations_previews", "operations")
