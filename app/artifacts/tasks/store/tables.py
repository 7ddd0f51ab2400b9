"""Task memory: namespaces, artifacts in them, their bytes in pages, their texts in chunks."""

from datetime import datetime, timedelta

from sqlalchemy import (
    Computed,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    Text,
)
from sqlalchemy import text as sql_text
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG, TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base, JsonList
from app.adapters.db.bindings import ByKeys, ByParent
from app.adapters.db.columns import EMBEDDING

_NAMESPACE = ("engine_id", "memory", "namespace")
_FALSE = sql_text("false")
_ZERO = sql_text("0")
_ORIGIN = "derived_from -> 0 ->> 'namespace'"
# Accents go, as they do from the words of a query: see `app.memory.retrieval.store.words.folded`.
_TERMS = r"to_tsvector(language, regexp_replace(normalize(text, NFD), '[\u0300-\u036f]', '', 'g'))"


class NamespaceRow(Base):
    """What one output of a tool has left, or several that were put together."""

    __tablename__ = "task_namespaces"
    conditioned_by = ByKeys({"user_id": "user_id"})
    __table_args__ = (Index("ix_task_namespaces_expire_time", "expire_time"),)

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    memory: Mapped[str] = mapped_column(Text, primary_key=True)
    namespace: Mapped[str] = mapped_column(Text, primary_key=True)
    user_id: Mapped[str | None] = mapped_column(Text)
    """Whose it is; null: nobody's, and seen by no key that is bound to users."""
    sensitive: Mapped[bool] = mapped_column(server_default=_FALSE)
    """Whether what is derived from it stays off the prompt, too."""
    local_only: Mapped[bool] = mapped_column(server_default=_FALSE)
    """Whether no remote model may read it."""
    allowed_models: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    """The reader models that may read it; null: all that are configured."""
    embedding_model: Mapped[str | None] = mapped_column(Text)
    """That which may embed its chunks; null: none, they are found by their words."""
    tool: Mapped[str | None] = mapped_column(Text)
    activity: Mapped[str | None] = mapped_column(Text)
    artifacts: Mapped[int] = mapped_column(server_default=_ZERO)
    """How many can be read, and are not past their time or wait to be swept."""
    bytes: Mapped[int] = mapped_column(server_default=_ZERO)
    """What these hold."""
    last_ordinal: Mapped[int] = mapped_column(server_default=_ZERO)
    """The number of the artifact that came last."""
    version: Mapped[int]
    create_time: Mapped[datetime]
    update_time: Mapped[datetime]
    expire_time: Mapped[datetime]
    """The latest among those of its artifacts."""


class ArtifactRow(Base):
    """What a reference names. Its bytes never change: other bytes are another row.

    While they come, its state is `uploading`, and nothing finds it by its name.
    """

    __tablename__ = "task_artifacts"
    conditioned_by = ByParent("task_namespaces", _NAMESPACE)
    __table_args__ = (
        ForeignKeyConstraint(
            _NAMESPACE, [f"task_namespaces.{column}" for column in _NAMESPACE], ondelete="CASCADE"
        ),
        Index(
            "uq_task_artifacts_name",
            *_NAMESPACE,
            "name",
            unique=True,
            postgresql_where=sql_text("state <> 'uploading'"),
        ),
        Index("ix_task_artifacts_ordinal", *_NAMESPACE, "ordinal"),
        Index("ix_task_artifacts_expire_time", "expire_time"),
        Index(
            "ix_task_artifacts_origin",
            *_NAMESPACE[:2],
            "origin",
            postgresql_where=sql_text("origin is not null and not source_deleted"),
        ),
        Index(
            "ix_task_artifacts_input_hash",
            *_NAMESPACE[:2],
            "input_hash",
            postgresql_where=sql_text("input_hash is not null"),
        ),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content_id: Mapped[str] = mapped_column(Text, primary_key=True)
    """Made by the server, of nothing that the content says; the etag of the artifact."""
    memory: Mapped[str] = mapped_column(Text)
    namespace: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    ordinal: Mapped[int]
    """Its place among those of the namespace; 0 while it is uploading."""
    kind: Mapped[str] = mapped_column(Text)
    """`text`, `json` or `blob`."""
    media_type: Mapped[str] = mapped_column(Text)
    """As it was declared."""
    sniffed_type: Mapped[str | None] = mapped_column(Text)
    """What its first bytes look like, where that is known."""
    size_bytes: Mapped[int]
    """While it is uploading, what was said that will come, or the most that may."""
    sha256: Mapped[bytes | None] = mapped_column(LargeBinary)
    token_estimate: Mapped[int] = mapped_column(server_default=_ZERO)
    language: Mapped[str | None] = mapped_column(Text)
    state: Mapped[str] = mapped_column(Text)
    """`uploading`, `indexing` (it can be read, but not be queried yet) or `ready`."""
    chunks: Mapped[int] = mapped_column(server_default=_ZERO)
    """How many its text was cut into; 0: it has none that a reader can read."""
    depth: Mapped[int] = mapped_column(server_default=_ZERO)
    """How many derivations lie between it and what a tool has put out."""
    derived_from: Mapped[JsonList | None]
    """`[{"namespace", "name"}]`: of one namespace of the same memory."""
    origin: Mapped[str | None] = mapped_column(Text, Computed(_ORIGIN, persisted=True))
    """That namespace."""
    source_deleted: Mapped[bool] = mapped_column(server_default=_FALSE)
    input_hash: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Of what it was derived by: the same again is the same artifact."""
    version: Mapped[int]
    """From 1: how many contents there were under its name in a row."""
    create_time: Mapped[datetime]
    expire_time: Mapped[datetime]


class PageRow(Base):
    """Up to 256 KiB of an artifact's bytes; all but the last have as many."""

    __tablename__ = "task_pages"
    conditioned_by = ByParent("task_namespaces", _NAMESPACE)
    __table_args__ = (
        ForeignKeyConstraint(
            ["engine_id", "content_id"],
            ["task_artifacts.engine_id", "task_artifacts.content_id"],
            ondelete="CASCADE",
        ),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content_id: Mapped[str] = mapped_column(Text, primary_key=True)
    page: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """From 0."""
    memory: Mapped[str] = mapped_column(Text)
    namespace: Mapped[str] = mapped_column(Text)
    data: Mapped[bytes] = mapped_column(LargeBinary)


class ChunkRow(Base):
    """A piece of an artifact's text, as readers are given it."""

    __tablename__ = "task_chunks"
    conditioned_by = ByParent("task_namespaces", _NAMESPACE)
    __table_args__ = (
        ForeignKeyConstraint(
            ["engine_id", "content_id"],
            ["task_artifacts.engine_id", "task_artifacts.content_id"],
            ondelete="CASCADE",
        ),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content_id: Mapped[str] = mapped_column(Text, primary_key=True)
    n: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """From 0, in the order of the text."""
    memory: Mapped[str] = mapped_column(Text)
    namespace: Mapped[str] = mapped_column(Text)
    start_offset: Mapped[int]
    end_offset: Mapped[int]
    """Where it stands in the text, in characters."""
    text: Mapped[str] = mapped_column(Text)
    tokens: Mapped[int]
    language: Mapped[str] = mapped_column(REGCONFIG, server_default=sql_text("'simple'::regconfig"))
    terms: Mapped[str] = mapped_column(TSVECTOR, Computed(_TERMS, persisted=True), deferred=True)


class VectorRow(Base):
    """The vector of a part of a piece, by the model that its namespace names; most have none."""

    __tablename__ = "task_vectors"
    conditioned_by = ByParent("task_namespaces", _NAMESPACE)
    __table_args__ = (
        ForeignKeyConstraint(
            ["engine_id", "content_id"],
            ["task_artifacts.engine_id", "task_artifacts.content_id"],
            ondelete="CASCADE",
        ),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content_id: Mapped[str] = mapped_column(Text, primary_key=True)
    n: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    part: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """From 0: models read less at a time than readers do."""
    memory: Mapped[str] = mapped_column(Text)
    namespace: Mapped[str] = mapped_column(Text)
    model_id: Mapped[str] = mapped_column(Text)
    embedding: Mapped[list[float]] = mapped_column(EMBEDDING)


class ToolPolicyRow(Base):
    """What holds for all outputs of a tool, so that the agent's loop need not know."""

    __tablename__ = "tool_policies"

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    memory: Mapped[str] = mapped_column(Text, primary_key=True)
    tool: Mapped[str] = mapped_column(Text, primary_key=True)
    off_prompt: Mapped[str] = mapped_column(Text)
    """`false`, `true` or `auto`."""
    max_inline_tokens: Mapped[int | None]
    sensitive: Mapped[bool] = mapped_column(server_default=_FALSE)
    ttl: Mapped[timedelta | None]
    version: Mapped[int]
    create_time: Mapped[datetime]
    update_time: Mapped[datetime]
