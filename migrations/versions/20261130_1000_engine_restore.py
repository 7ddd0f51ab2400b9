"""Adds the state of an engine that is being restored from an archive."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "d5a8c3e11000"
down_revision: str | None = "c4e1f3a81100"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column(
        "engines",
        sa.Column(
            "restore",
            postgresql.JSONB(none_as_null=True, astext_type=sa.Text()),
            nullable=True,
        ),
    )
    op.create_index(
        "ix_engines_restore",
        "engines",
        ["engine_id"],
        postgresql_where=sa.text("restore is not null"),
    )


def downgrade() -> None:
    op.drop_index("ix_engines_restore", table_name="engines")
    op.drop_column("engines", "restore")
