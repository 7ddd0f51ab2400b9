"""Vectors of a former model may appear until a moment, not until the end of a transaction.

Ids of transactions are those of one server; an engine that moves to another node has others.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "e6b9d4f21101"
down_revision: str | None = "e6b9d4f21100"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_INDEX = "ix_engines_stale_vectors"


def upgrade() -> None:
    moment = sa.Column("stale_vectors_until", sa.DateTime(timezone=True), nullable=True)
    op.add_column("engines", moment)
    # Whatever wrote before the migration has ended long before.
    op.execute(
        "update engines set stale_vectors_until = now() + interval '300 s'"
        " where stale_vectors_xid is not null"
    )
    _replace("stale_vectors_xid", "stale_vectors_until")


def downgrade() -> None:
    op.add_column("engines", sa.Column("stale_vectors_xid", sa.BigInteger(), nullable=True))
    op.execute("update engines set stale_vectors_xid = 0 where stale_vectors_until is not null")
    _replace("stale_vectors_until", "stale_vectors_xid")


def _replace(former: str, column: str) -> None:
    op.drop_index(_INDEX, "engines")
    op.drop_column("engines", former)
    op.create_index(
        _INDEX, "engines", ["engine_id"], postgresql_where=sa.text(f"{column} is not null")
    )
