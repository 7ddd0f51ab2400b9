"""Adds the times of deletion and expiry to the index of scopes, so that counts read it alone."""

from collections.abc import Sequence

from alembic import op

revision: str = "7e41c5a20900"
down_revision: str | None = "b3d1f86c0900"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_INDEX = "ix_memories_scope"
_FORMER = ["engine_id", "scope_hash"]


def upgrade() -> None:
    op.drop_index(_INDEX, "memories")
    op.create_index(_INDEX, "memories", [*_FORMER, "delete_time", "expire_time"])


def downgrade() -> None:
    op.drop_index(_INDEX, "memories")
    op.create_index(_INDEX, "memories", _FORMER)
