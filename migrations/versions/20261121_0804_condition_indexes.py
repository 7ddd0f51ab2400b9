"""Memories and operations by the parts of their scopes: for callers that are bound to some."""

from collections.abc import Sequence

from alembic import op

revision: str = "b1c40e5a0804"
down_revision: str | None = "b1c40e5a0803"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_INDEXES = (
    ("ix_memories_scope_parts", "memories", "scope"),
    ("ix_operations_scope_parts", "operations", "scopes"),
)


def upgrade() -> None:
    for name, table, column in _INDEXES:
        op.create_index(
            name,
            table,
            [column],
            postgresql_using="gin",
            postgresql_ops={column: "jsonb_path_ops"},
            # A list of what is yet to be filed would be read by every search.
            postgresql_with={"fastupdate": "off"},
        )


def downgrade() -> None:
    for name, table, _ in _INDEXES:
        op.drop_index(name, table)
