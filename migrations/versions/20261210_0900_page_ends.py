"""Adds the ends of the pages of a PDF to artifacts of task memory."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "b3d1f86c0900"
down_revision: str | None = "0bc8e96b0900"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("task_artifacts", sa.Column("page_ends", sa.ARRAY(sa.Integer()), nullable=True))


def downgrade() -> None:
    op.drop_column("task_artifacts", "page_ends")
