"""Source, position and time of what a memory was made of, as plain columns, which revisions keep.

What was computed from the metadata stays as it is, and the table is not written anew; only
memories whose metadata name a time get it. Revisions from before have none: a rollback takes it
from the metadata.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "a9c64f9e0900"
down_revision: str | None = "f8a53b8d0800"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_COMPUTED = {
    "source": (sa.Text(), "left(metadata #>> '{source,stringValue}', 200)"),
    "position": (sa.Double(), "(metadata #>> '{position,doubleValue}')::double precision"),
}
_INDEX = "ix_memories_position"


def upgrade() -> None:
    for name, (kind, _) in _COMPUTED.items():
        op.execute(f"alter table memories alter column {name} drop expression")
        op.add_column("memory_revisions", sa.Column(name, kind, nullable=True))
    for table in ("memories", "memory_revisions"):
        op.add_column(table, sa.Column("event_time", sa.DateTime(timezone=True), nullable=True))
    op.execute(
        "update memories"
        " set event_time = (metadata #>> '{event_time,timestampValue}')::timestamptz"
        # As the service writes them; of anything else, no memory may keep the others from it.
        r" where metadata #>> '{event_time,timestampValue}'"
        r" ~ '^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T\d\d:\d\d'"
    )


def downgrade() -> None:
    op.drop_index(_INDEX, "memories")
    for name in ("event_time", *_COMPUTED):
        op.drop_column("memory_revisions", name)
        op.drop_column("memories", name)
    for name, (kind, expression) in _COMPUTED.items():
        column = sa.Column(name, kind, sa.Computed(expression, persisted=True))
        op.add_column("memories", column)
    op.create_index(
        _INDEX,
        "memories",
        ["engine_id", "scope_hash", "source", "position"],
        postgresql_where=sa.text("source is not null and position is not null"),
    )
