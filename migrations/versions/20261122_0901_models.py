"""Which model's vectors serve an engine, how long each model's are, and what waits for its own.

An engine is served by the model that most of its vectors are of; memories that have none of it are
embedded by the worker, and vectors of other models are removed by the sweep.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "c5d20e5a0901"
down_revision: str | None = "c5d20e5a0900"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("engines", sa.Column("embedding_model", sa.Text(), nullable=True))
    op.add_column("engines", sa.Column("embedding_target", sa.Text(), nullable=True))
    op.add_column("engines", sa.Column("stale_vectors_xid", sa.BigInteger(), nullable=True))
    op.create_index(
        "ix_engines_stale_vectors",
        "engines",
        ["engine_id"],
        postgresql_where=sa.text("stale_vectors_xid is not null"),
    )
    op.create_table(
        "embedding_models",
        sa.Column("model_id", sa.Text(), nullable=False),
        sa.Column("dimensions", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("model_id", name=op.f("pk_embedding_models")),
    )
    op.create_table(
        "unembedded_memories",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("memory_id", sa.Text(), nullable=False),
        sa.Column(
            "due_time",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["engine_id", "memory_id"],
            ["memories.engine_id", "memories.memory_id"],
            name=op.f("fk_unembedded_memories_memories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("engine_id", "memory_id", name=op.f("pk_unembedded_memories")),
    )
    op.create_index("ix_unembedded_memories_due_time", "unembedded_memories", ["due_time"])
    _note_what_is_there()


def _note_what_is_there() -> None:
    op.execute(
        "create temporary table found_models on commit drop as"
        " select engine_id, model_id, count(*) as vectors, max(vector_dims(vector)) as dimensions"
        " from memory_vectors group by engine_id, model_id"
    )
    op.execute(
        "insert into embedding_models (model_id, dimensions)"
        " select model_id, max(dimensions) from found_models group by model_id"
    )
    op.execute(
        "update engines set embedding_model = most.model_id,"
        " stale_vectors_xid = case when most.models > 1 then 0 end"
        " from (select distinct on (engine_id) engine_id, model_id,"
        " count(*) over (partition by engine_id) as models"
        " from found_models order by engine_id, vectors desc, model_id) most"
        " where most.engine_id = engines.engine_id"
    )
    op.execute(
        "insert into unembedded_memories (engine_id, memory_id)"
        " select m.engine_id, m.memory_id from memories m"
        " join engines e on e.engine_id = m.engine_id and e.embedding_model is not null"
        " where m.fact is not null and m.delete_time is null and not exists"
        " (select from memory_vectors v where v.engine_id = m.engine_id"
        " and v.memory_id = m.memory_id and v.model_id = e.embedding_model)"
    )


def downgrade() -> None:
    op.drop_table("unembedded_memories")
    op.drop_table("embedding_models")
    op.drop_index("ix_engines_stale_vectors", "engines")
    for name in ("stale_vectors_xid", "embedding_target", "embedding_model"):
        op.drop_column("engines", name)
