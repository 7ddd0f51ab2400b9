"""Task memory: namespaces, artifacts with pages, chunks and vectors, tools' policies, a total."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects import postgresql as pg

revision: str = "e7f42a7c1100"
down_revision: str | None = "d6e31f6b1001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

_NAMESPACE = ("engine_id", "memory", "namespace")
_CONTENT = ("engine_id", "content_id")
_FOLDED = r"regexp_replace(normalize(text, NFD), '[\u0300-\u036f]', '', 'g')"
_ORIGIN = "derived_from -> 0 ->> 'namespace'"
_TABLES = (
    "task_vectors",
    "task_chunks",
    "task_pages",
    "task_artifacts",
    "task_namespaces",
    "tool_policies",
)
_ADDED = "select engine_id, size_bytes from added"
_REMOVED = "select engine_id, - size_bytes as size_bytes from removed"
_STATEMENTS = {
    "insert": (_ADDED, "new table as added"),
    "update": (f"{_ADDED} union all {_REMOVED}", "old table as removed new table as added"),
    "delete": (_REMOVED, "old table as removed"),
}


def upgrade() -> None:
    _create_namespaces()
    _create_artifacts()
    _create_pages()
    _create_chunks()
    _create_vectors()
    _create_policies()
    op.add_column("engine_totals", _number("artifact_bytes", "0"))
    for verb, (rows, transition) in _STATEMENTS.items():
        _count(verb, rows, transition)


def downgrade() -> None:
    for table in _TABLES:
        op.drop_table(table)
    for verb in _STATEMENTS:
        op.execute(f"drop function total_task_artifacts_{verb}()")
    op.drop_column("engine_totals", "artifact_bytes")


def _number(name: str, default: str | None = None, *, nullable: bool = False) -> sa.Column[int]:
    given = None if default is None else sa.text(default)
    return sa.Column(name, sa.BigInteger(), server_default=given, nullable=nullable)


def _words(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), server_default=sa.text("false"), nullable=False)


def _moments(*names: str) -> list[sa.Column[object]]:
    return [sa.Column(name, sa.DateTime(timezone=True), nullable=False) for name in names]


def _engine() -> sa.Column[int]:
    return sa.Column("engine_id", sa.BigInteger(), autoincrement=False, nullable=False)


def _create_namespaces() -> None:
    op.create_table(
        "task_namespaces",
        _engine(),
        _words("memory"),
        _words("namespace"),
        _words("user_id", nullable=True),
        _flag("sensitive"),
        _flag("local_only"),
        sa.Column("allowed_models", pg.ARRAY(sa.Text()), nullable=True),
        _words("embedding_model", nullable=True),
        _words("tool", nullable=True),
        _words("activity", nullable=True),
        _number("artifacts", "0"),
        _number("bytes", "0"),
        _number("last_ordinal", "0"),
        _number("version"),
        *_moments("create_time", "update_time", "expire_time"),
        sa.PrimaryKeyConstraint(*_NAMESPACE, name=op.f("pk_task_namespaces")),
    )
    op.create_index("ix_task_namespaces_expire_time", "task_namespaces", ["expire_time"])


def _create_artifacts() -> None:
    op.create_table(
        "task_artifacts",
        _engine(),
        _words("content_id"),
        *map(_words, ("memory", "namespace", "name")),
        _number("ordinal"),
        *map(_words, ("kind", "media_type")),
        _words("sniffed_type", nullable=True),
        _number("size_bytes"),
        sa.Column("sha256", sa.LargeBinary(), nullable=True),
        _number("token_estimate", "0"),
        _words("language", nullable=True),
        _words("state"),
        _number("chunks", "0"),
        _number("depth", "0"),
        sa.Column("derived_from", pg.JSONB(), nullable=True),
        sa.Column("origin", sa.Text(), sa.Computed(_ORIGIN, persisted=True), nullable=True),
        _flag("source_deleted"),
        sa.Column("input_hash", sa.LargeBinary(), nullable=True),
        _number("version"),
        *_moments("create_time", "expire_time"),
        sa.PrimaryKeyConstraint(*_CONTENT, name=op.f("pk_task_artifacts")),
        sa.ForeignKeyConstraint(
            _NAMESPACE,
            [f"task_namespaces.{column}" for column in _NAMESPACE],
            name=op.f("fk_task_artifacts_task_namespaces"),
            ondelete="CASCADE",
        ),
    )
    table = "task_artifacts"
    op.create_index(
        "uq_task_artifacts_name",
        table,
        [*_NAMESPACE, "name"],
        unique=True,
        postgresql_where=sa.text("state <> 'uploading'"),
    )
    op.create_index("ix_task_artifacts_ordinal", table, [*_NAMESPACE, "ordinal"])
    op.create_index("ix_task_artifacts_expire_time", table, ["expire_time"])
    op.create_index(
        "ix_task_artifacts_origin",
        table,
        ["engine_id", "memory", "origin"],
        postgresql_where=sa.text("origin is not null and not source_deleted"),
    )
    op.create_index(
        "ix_task_artifacts_input_hash",
        table,
        ["engine_id", "memory", "input_hash"],
        postgresql_where=sa.text("input_hash is not null"),
    )


def _below_artifact(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        _CONTENT,
        [f"task_artifacts.{column}" for column in _CONTENT],
        name=op.f(f"fk_{table}_task_artifacts"),
        ondelete="CASCADE",
    )


def _create_pages() -> None:
    op.create_table(
        "task_pages",
        _engine(),
        _words("content_id"),
        sa.Column("page", sa.BigInteger(), autoincrement=False, nullable=False),
        *map(_words, ("memory", "namespace")),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(*_CONTENT, "page", name=op.f("pk_task_pages")),
        _below_artifact("task_pages"),
    )
    # Most of it is compressed already, and what is read of it are parts.
    op.execute("alter table task_pages alter column data set storage external")


def _create_chunks() -> None:
    op.create_table(
        "task_chunks",
        _engine(),
        _words("content_id"),
        sa.Column("n", sa.BigInteger(), autoincrement=False, nullable=False),
        *map(_words, ("memory", "namespace")),
        *map(_number, ("start_offset", "end_offset")),
        _words("text"),
        _number("tokens"),
        sa.Column("language", pg.REGCONFIG(), nullable=False, server_default="simple"),
        sa.Column(
            "terms",
            pg.TSVECTOR(),
            sa.Computed(f"to_tsvector(language, {_FOLDED})", persisted=True),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint(*_CONTENT, "n", name=op.f("pk_task_chunks")),
        _below_artifact("task_chunks"),
    )


def _create_vectors() -> None:
    op.create_table(
        "task_vectors",
        _engine(),
        _words("content_id"),
        sa.Column("n", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("part", sa.BigInteger(), autoincrement=False, nullable=False),
        *map(_words, ("memory", "namespace", "model_id")),
        sa.Column("embedding", HALFVEC(), nullable=False),
        sa.PrimaryKeyConstraint(*_CONTENT, "n", "part", name=op.f("pk_task_vectors")),
        _below_artifact("task_vectors"),
    )


def _create_policies() -> None:
    op.create_table(
        "tool_policies",
        _engine(),
        *map(_words, ("memory", "tool", "off_prompt")),
        _number("max_inline_tokens", nullable=True),
        _flag("sensitive"),
        sa.Column("ttl", sa.Interval(), nullable=True),
        _number("version"),
        *_moments("create_time", "update_time"),
        sa.PrimaryKeyConstraint("engine_id", "memory", "tool", name=op.f("pk_tool_policies")),
    )


def _count(verb: str, rows: str, transition: str) -> None:
    """Count what statements of one kind add to an engine, as the migration `totals` does."""
    name = f"total_task_artifacts_{verb}"
    statement = (
        "insert into engine_totals as total"  # noqa: S608 - of constants
        " (engine_id, backend, memories, sessions, events, bytes, artifact_bytes)"
        " select engine_id, pg_backend_pid(), 0, 0, 0, 0, size_bytes"
        f" from (select engine_id, sum(size_bytes) as size_bytes from ({rows}) as rows"
        " group by engine_id) as change"
        " where size_bytes <> 0"
        " on conflict (engine_id, backend) do update set"
        " artifact_bytes = total.artifact_bytes + excluded.artifact_bytes"
    )
    op.execute(
        f"create function {name}() returns trigger language plpgsql"
        f" as $$ begin {statement}; return null; end $$"
    )
    op.execute(
        f"create trigger total_{verb} after {verb} on task_artifacts referencing {transition}"
        f" for each statement execute function {name}()"
    )
