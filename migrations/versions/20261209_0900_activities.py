"""Adds policies of single activities, and the rules of policies for readers of namespaces.

The former release neither reads nor writes the columns; null changes nothing.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0bc8e96b0900"
down_revision: str | None = "fab7d85a0900"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_NAMES = postgresql.ARRAY(sa.Text())


def upgrade() -> None:
    op.add_column("task_namespaces", sa.Column("readers", _NAMES, nullable=True))
    op.add_column("tool_policies", sa.Column("local_only", sa.Boolean(), nullable=True))
    op.add_column("tool_policies", sa.Column("allowed_models", _NAMES, nullable=True))
    op.add_column("tool_policies", sa.Column("readers", _NAMES, nullable=True))
    op.add_column("tool_policies", sa.Column("activities", postgresql.JSONB(), nullable=True))


def downgrade() -> None:
    for column in ("activities", "readers", "allowed_models", "local_only"):
        op.drop_column("tool_policies", column)
    op.drop_column("task_namespaces", "readers")
