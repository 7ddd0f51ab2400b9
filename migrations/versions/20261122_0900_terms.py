"""What searches by words need of a memory: its lexemes, its cues, and its place in its source.

The table is written anew, once, while nothing else can use it: about a minute for each million
memories.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision: str = "c5d20e5a0900"
down_revision: str | None = "b1c40e5a0805"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_FOLDED = r"regexp_replace(normalize(coalesce(fact, ''), NFD), '[\u0300-\u036f]', '', 'g')"


def upgrade() -> None:
    columns: tuple[sa.Column[Any], ...] = (
        sa.Column("language", pg.REGCONFIG(), nullable=False, server_default="simple"),
        sa.Column(
            "terms",
            pg.TSVECTOR(),
            sa.Computed(f"to_tsvector(language, {_FOLDED})", persisted=True),
            nullable=False,
        ),
        sa.Column("cues", pg.ARRAY(sa.Text()), nullable=True),
        sa.Column(
            "source",
            sa.Text(),
            sa.Computed("left(metadata #>> '{source,stringValue}', 200)", persisted=True),
        ),
        sa.Column(
            "position",
            sa.Double(),
            sa.Computed(
                "(metadata #>> '{position,doubleValue}')::double precision", persisted=True
            ),
        ),
    )
    for column in columns:
        op.add_column("memories", column)
    op.create_index(
        "ix_memories_position",
        "memories",
        ["engine_id", "scope_hash", "source", "position"],
        postgresql_where=sa.text("source is not null and position is not null"),
    )
    op.create_index(
        "ix_memories_without_cues",
        "memories",
        ["engine_id", "memory_id"],
        postgresql_where=sa.text("cues is null"),
    )


def downgrade() -> None:
    op.drop_index("ix_memories_without_cues", "memories")
    op.drop_index("ix_memories_position", "memories")
    for name in ("position", "source", "cues", "terms", "language"):
        op.drop_column("memories", name)
