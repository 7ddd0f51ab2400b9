"""Finds the usage of the last days, which the metrics show over all engines."""

from collections.abc import Sequence

from alembic import op

revision: str = "a9d1c5e20900"
down_revision: str | None = "b1e37f500900"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index("ix_model_usage_day", "model_usage", ["day"])


def downgrade() -> None:
    op.drop_index("ix_model_usage_day", "model_usage")
