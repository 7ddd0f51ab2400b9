"""Which large scopes have an index of their own. The indexes themselves are made by the sweep."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "c5d20e5a0902"
down_revision: str | None = "c5d20e5a0901"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_DROP_ALL = """
do $$
declare found record;
begin
    for found in
        select c.oid::regclass as name
        from pg_index as i join pg_class as c on c.oid = i.indexrelid
        where i.indrelid in ('memory_vectors'::regclass, 'memories'::regclass)
        and c.relname like 'scope\\_index\\_%'
    loop
        execute 'drop index ' || found.name;
    end loop;
end $$
"""


def upgrade() -> None:
    op.create_table(
        "scope_indexes",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("scope_hash", sa.LargeBinary(), nullable=False),
        sa.Column("model_id", sa.Text(), nullable=False),
        sa.Column("dimensions", sa.Integer(), nullable=False),
        sa.Column("memories", sa.BigInteger(), nullable=False),
        sa.Column("is_ready", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint(
            "engine_id", "scope_hash", "model_id", name=op.f("pk_scope_indexes")
        ),
    )


def downgrade() -> None:
    op.execute(_DROP_ALL)
    op.drop_table("scope_indexes")
