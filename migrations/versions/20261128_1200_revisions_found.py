"""Finds revisions by time, notes who asked for each, and lists their labels in byte order."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "a9f4d1e61200"
down_revision: str | None = "a9f6d1b81400"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_COLUMNS = ("key", "value")


def upgrade() -> None:
    op.add_column("memory_revisions", sa.Column("caller", sa.Text(), nullable=True))
    op.create_index(
        "ix_memory_revisions_time", "memory_revisions", ["engine_id", "create_time", "revision_id"]
    )
    _order('"C"')


def downgrade() -> None:
    _order('"default"')
    op.drop_index("ix_memory_revisions_time", "memory_revisions")
    op.drop_column("memory_revisions", "caller")


def _order(collation: str) -> None:
    """Give keys and values of labels a collation; the key of their table is built anew, once."""
    changes = (f"alter column {name} type text collate {collation}" for name in _COLUMNS)
    op.execute(f"alter table revision_labels {', '.join(changes)}")
