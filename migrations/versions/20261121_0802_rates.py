"""To be filled in."""

from collections.abc import Sequence

revision: str = "b1c40e5a0802"
down_revision: str | None = "b1c40e5a0801"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
