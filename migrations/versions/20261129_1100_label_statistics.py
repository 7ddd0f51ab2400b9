"""Lets the planner know how often a label's key and value occur together."""

from collections.abc import Sequence

from alembic import op

revision: str = "c4e1f3a81100"
down_revision: str | None = "c4d7e2a91000"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_NAME = "st_revision_labels_pair"
_ENTRIES = 1_000
"""Pairs whose share is known; of the others the planner knows that they are rarer."""


def upgrade() -> None:
    op.execute(f"create statistics {_NAME} (ndistinct, mcv) on key, value from revision_labels")
    op.execute(f"alter statistics {_NAME} set statistics {_ENTRIES}")
    op.execute("analyze revision_labels")


def downgrade() -> None:
    op.execute(f"drop statistics {_NAME}")
