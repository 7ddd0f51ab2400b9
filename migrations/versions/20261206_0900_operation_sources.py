"""Adds the index of operations by the session in their source."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "e9a6c74f0900"
down_revision: str | None = "d8f5b63e0900"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_SESSION = "split_part(details #>> '{source,session}', '/sessions/', 2)"


def upgrade() -> None:
    op.create_index(
        "ix_operations_source_session",
        "operations",
        ["engine_id", sa.text(_SESSION), "operation_id"],
        postgresql_where=sa.text(f"{_SESSION} is not null"),
    )


def downgrade() -> None:
    op.drop_index("ix_operations_source_session", "operations")
    # The former release removes no session from there.
    op.execute(
        "update operations set details = details - 'source'"
        " where details #>> '{source,session}' is not null"
    )
