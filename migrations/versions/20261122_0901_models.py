"""To be filled in."""

from collections.abc import Sequence

revision: str = "c5d20e5a0901"
down_revision: str | None = "c5d20e5a0900"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None: ...


def downgrade() -> None: ...
