"""The first schema: engines, memories with revisions and vectors, operations, API keys."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects import postgresql

revision: str = "952db9629904"
down_revision: str | None = None
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(), nullable=False),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key_id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_api_keys_secret_hash")),
    )
    op.create_table(
        "engines",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=True),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column(
            "labels",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
        ),
        sa.Column("bank_config", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("encryption_spec", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("update_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("delete_time", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("engine_id", name=op.f("pk_engines")),
    )
    op.create_index(
        "ix_engines_location", "engines", ["project", "location", "create_time"], unique=False
    )
    op.create_table(
        "memories",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("memory_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("scope", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("scope_hash", sa.LargeBinary(), nullable=False),
        sa.Column("fact", sa.Text(), nullable=True),
        sa.Column("display_name", sa.Text(), nullable=True),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("topics", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("metadata", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("memory_type", sa.Text(), nullable=False),
        sa.Column("structured_content", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("context", sa.Text(), nullable=True),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("update_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expire_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("delete_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recover_until", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("engine_id", "memory_id", name=op.f("pk_memories")),
    )
    op.create_index(
        "ix_memories_create_time",
        "memories",
        ["engine_id", "create_time", "memory_id"],
        unique=False,
    )
    op.create_index(
        "ix_memories_expire_time",
        "memories",
        ["expire_time"],
        unique=False,
        postgresql_where=sa.text("expire_time is not null"),
    )
    op.create_index(
        "ix_memories_recover_until",
        "memories",
        ["recover_until"],
        unique=False,
        postgresql_where=sa.text("recover_until is not null"),
    )
    op.create_index("ix_memories_scope", "memories", ["engine_id", "scope_hash"], unique=False)
    op.create_index(
        "ix_memories_update_time",
        "memories",
        ["engine_id", "update_time", "memory_id"],
        unique=False,
    )
    op.create_table(
        "operations",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("operation_id", sa.Text(), nullable=False),
        sa.Column("engine_name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("request", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("response", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("error", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column(
            "details",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'"),
            nullable=False,
        ),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("update_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("remove_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "cancel_requested", sa.Boolean(), server_default=sa.text("false"), nullable=False
        ),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("engine_id", "operation_id", name=op.f("pk_operations")),
    )
    op.create_index("ix_operations_remove_time", "operations", ["remove_time"], unique=False)
    op.create_index(
        "ix_operations_unfinished",
        "operations",
        ["operation_id"],
        unique=False,
        postgresql_where=sa.text("state = 'PENDING' or state = 'RUNNING'"),
    )
    op.create_index(
        "uq_operations_running_key",
        "operations",
        ["engine_id", "key"],
        unique=True,
        postgresql_where=sa.text("state = 'RUNNING'"),
    )
    op.create_table(
        "request_ids",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("caller", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.LargeBinary(), nullable=False),
        sa.Column("operation_engine_id", sa.BigInteger(), nullable=False),
        sa.Column("operation_id", sa.Text(), nullable=False),
        sa.Column("remove_time", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("engine_id", "caller", "request_id", name=op.f("pk_request_ids")),
    )
    op.create_index("ix_request_ids_remove_time", "request_ids", ["remove_time"], unique=False)
    op.create_table(
        "ticks",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("last_slot", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_ticks")),
    )
    op.create_table(
        "memory_revisions",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("revision_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("memory_id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("fact", sa.Text(), nullable=True),
        sa.Column("display_name", sa.Text(), nullable=True),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("topics", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("metadata", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("memory_type", sa.Text(), nullable=False),
        sa.Column("structured_content", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("context", sa.Text(), nullable=True),
        sa.Column("memory_expire_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("labels", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("extracted_memories", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("author", sa.Text(), nullable=True),
        sa.Column("operation_id", sa.Text(), nullable=True),
        sa.Column("restored_revision_id", sa.BigInteger(), nullable=True),
        sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expire_time", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["engine_id", "memory_id"],
            ["memories.engine_id", "memories.memory_id"],
            name=op.f("fk_memory_revisions_memories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("engine_id", "revision_id", name=op.f("pk_memory_revisions")),
        sa.UniqueConstraint(
            "engine_id",
            "memory_id",
            "version",
            name=op.f("uq_memory_revisions_engine_id_memory_id_version"),
        ),
    )
    op.create_index(
        "ix_memory_revisions_expire_time", "memory_revisions", ["expire_time"], unique=False
    )
    op.create_table(
        "memory_vectors",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("memory_id", sa.Text(), nullable=False),
        sa.Column("model_id", sa.Text(), nullable=False),
        sa.Column("scope_hash", sa.LargeBinary(), nullable=False),
        sa.Column("expire_time", sa.DateTime(timezone=True), nullable=True),
        sa.Column("vector", HALFVEC(), nullable=False),
        sa.ForeignKeyConstraint(
            ["engine_id", "memory_id"],
            ["memories.engine_id", "memories.memory_id"],
            name=op.f("fk_memory_vectors_memories"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "engine_id", "memory_id", "model_id", name=op.f("pk_memory_vectors")
        ),
    )
    op.create_index(
        "ix_memory_vectors_scope",
        "memory_vectors",
        ["engine_id", "scope_hash", "model_id"],
        unique=False,
    )
    op.create_table(
        "revision_labels",
        sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("revision_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["engine_id", "revision_id"],
            ["memory_revisions.engine_id", "memory_revisions.revision_id"],
            name=op.f("fk_revision_labels_memory_revisions"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "engine_id", "key", "value", "revision_id", name=op.f("pk_revision_labels")
        ),
    )
    op.create_index(
        "ix_revision_labels_revision", "revision_labels", ["engine_id", "revision_id"], unique=False
    )

    # A vector is read whole on every search: detoasting it would cost more than it saves.
    op.execute("alter table memory_vectors alter column vector set storage plain")


def downgrade() -> None:
    for table in (
        "revision_labels",
        "memory_vectors",
        "memory_revisions",
        "ticks",
        "request_ids",
        "operations",
        "memories",
        "engines",
        "api_keys",
    ):
        op.drop_table(table)
