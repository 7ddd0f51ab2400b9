"""Tables of task memory with their keys: namespaces, artifacts, pages of bytes, chunks of texts."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Computed, Index, Integer, LargeBinary, Text, and_
from sqlalchemy import text as sql_text
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG, TSVECTOR
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base, JsonList, JsonObject, child_of
from app.adapters.db.conditions import ByKeys, ByParent
from app.adapters.db.vectors import EMBEDDING
from app.artifacts.tasks.logic import IMAGE_TYPES, MAX_IMAGE_BYTES, ArtifactState
from app.kernel.names import NamespaceName
from app.language.grams import ANY_SIGN

_NAMESPACE = ("engine_id", "memory", "namespace")
_FALSE = sql_text("false")
_ZERO = sql_text("0")
_ORIGIN = "derived_from -> 0 ->> 'namespace'"
# Accents are removed, as in query words: see `app.language.terms.folded`.
_TERMS = r"to_tsvector(language, regexp_replace(normalize(text, NFD), '[\u0300-\u036f]', '', 'g'))"


class NamespaceRow(Base):
    """Artifacts of one tool output, or of several stored together."""

    __tablename__ = "task_namespaces"
    conditioned_by = ByKeys({"user_id": "user_id"})
    __table_args__ = (Index("ix_task_namespaces_expire_time", "expire_time"),)

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    memory: Mapped[str] = mapped_column(Text, primary_key=True)
    namespace: Mapped[str] = mapped_column(Text, primary_key=True)
    user_id: Mapped[str | None] = mapped_column(Text)
    """Owner; null: no owner, and hidden from keys that are restricted to users."""
    sensitive: Mapped[bool] = mapped_column(server_default=_FALSE)
    """True if derived artifacts must stay off the prompt as well."""
    local_only: Mapped[bool] = mapped_column(server_default=_FALSE)
    """True if no remote model may read it."""
    allowed_models: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    """Reader models that may read it; null: all configured models."""
    readers: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    """Ways in which it may be used; null: all."""
    embedding_model: Mapped[str | None] = mapped_column(Text)
    """Model that may embed its chunks; null: none, and chunks are found only by their words."""
    tool: Mapped[str | None] = mapped_column(Text)
    """Tool of the request that created the namespace; later requests do not change it."""
    activity: Mapped[str | None] = mapped_column(Text)
    artifacts: Mapped[int] = mapped_column(server_default=_ZERO)
    """Number of completely uploaded artifacts, including expired ones not swept yet."""
    bytes: Mapped[int] = mapped_column(server_default=_ZERO)
    """Total size of the artifacts counted in `artifacts`."""
    last_ordinal: Mapped[int] = mapped_column(server_default=_ZERO)
    """Ordinal of the newest artifact."""
    version: Mapped[int]
    create_time: Mapped[datetime]
    update_time: Mapped[datetime]
    expire_time: Mapped[datetime]
    """Latest expiry of its artifacts."""


class ArtifactRow(Base):
    """An artifact. New bytes make a new row, with the state `uploading` until they are complete."""

    __tablename__ = "task_artifacts"
    conditioned_by = ByParent("task_namespaces", _NAMESPACE)
    __table_args__ = (
        child_of("task_namespaces", "memory", "namespace"),
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
    """Id made by the server, independent of the content; also the artifact's etag."""
    memory: Mapped[str] = mapped_column(Text)
    namespace: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    ordinal: Mapped[int]
    """Position in the namespace; 0 during the upload."""
    kind: Mapped[str] = mapped_column(Text)
    """`text`, `json` or `blob`."""
    media_type: Mapped[str] = mapped_column(Text)
    """Declared type."""
    sniffed_type: Mapped[str | None] = mapped_column(Text)
    """Type recognised from the first bytes, if any."""
    size_bytes: Mapped[int]
    """Size; during the upload, the declared length or the maximum."""
    sha256: Mapped[bytes | None] = mapped_column(LargeBinary)
    token_estimate: Mapped[int] = mapped_column(server_default=_ZERO)
    language: Mapped[str | None] = mapped_column(Text)
    state: Mapped[str] = mapped_column(Text)
    """`uploading`, `indexing` (readable, but not searchable yet) or `ready`."""
    chunks: Mapped[int] = mapped_column(server_default=_ZERO)
    """Number of chunks; 0: the artifact has no text for readers."""
    page_ends: Mapped[list[int] | None] = mapped_column(ARRAY(Integer), deferred=True)
    """Ends of the pages in the text of a PDF, in characters; null: another file, or no text yet."""
    depth: Mapped[int] = mapped_column(server_default=_ZERO)
    """Number of derivations since the tool's output."""
    derived_from: Mapped[JsonList | None]
    """Sources, `[{"namespace", "name"}]`, all in one namespace of the same memory."""
    origin: Mapped[str | None] = mapped_column(Text, Computed(_ORIGIN, persisted=True))
    """Namespace of its sources."""
    source_deleted: Mapped[bool] = mapped_column(server_default=_FALSE)
    input_hash: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Digest of the derivation's inputs; equal inputs give the same artifact."""
    version: Mapped[int]
    """Number of successive contents under its name, from 1."""
    create_time: Mapped[datetime]
    expire_time: Mapped[datetime]

    @hybrid_property
    def is_image(self) -> bool:
        """True if readers may take its bytes as an image."""
        is_of_type = reduce(or_, [self.sniffed_type == kind for kind in IMAGE_TYPES])
        return is_of_type & (self.size_bytes <= MAX_IMAGE_BYTES)


class PageRow(Base):
    """A page of up to 256 KiB of an artifact's bytes; only the last one is shorter."""

    __tablename__ = "task_pages"
    conditioned_by = ByParent("task_namespaces", _NAMESPACE)
    __table_args__ = (child_of("task_artifacts", "content_id"),)

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content_id: Mapped[str] = mapped_column(Text, primary_key=True)
    page: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Page number, from 0."""
    memory: Mapped[str] = mapped_column(Text)
    namespace: Mapped[str] = mapped_column(Text)
    data: Mapped[bytes] = mapped_column(LargeBinary)


class ChunkRow(Base):
    """A chunk of an artifact's text for readers."""

    __tablename__ = "task_chunks"
    conditioned_by = ByParent("task_namespaces", _NAMESPACE)
    __table_args__ = (
        child_of("task_artifacts", "content_id"),
        Index(
            "ix_task_chunks_without_grams",
            "engine_id",
            "content_id",
            "n",
            postgresql_where=sql_text(f"grams is null and text ~ '{ANY_SIGN}'"),
        ),
    )

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content_id: Mapped[str] = mapped_column(Text, primary_key=True)
    n: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Chunk number, from 0, in text order."""
    memory: Mapped[str] = mapped_column(Text)
    namespace: Mapped[str] = mapped_column(Text)
    start_offset: Mapped[int]
    end_offset: Mapped[int]
    """Position in the text, in characters."""
    text: Mapped[str] = mapped_column(Text)
    tokens: Mapped[int]
    language: Mapped[str] = mapped_column(REGCONFIG, server_default=sql_text("'simple'::regconfig"))
    terms: Mapped[str] = mapped_column(TSVECTOR, Computed(_TERMS, persisted=True), deferred=True)
    grams: Mapped[str | None] = mapped_column(TSVECTOR, deferred=True)
    """Words of scripts without spaces; null if the text has none."""


class VectorRow(Base):
    """Vector of a part of a chunk, made by its namespace's model; most chunks have none."""

    __tablename__ = "task_vectors"
    conditioned_by = ByParent("task_namespaces", _NAMESPACE)
    __table_args__ = (child_of("task_artifacts", "content_id"),)

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    content_id: Mapped[str] = mapped_column(Text, primary_key=True)
    n: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    part: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Part number, from 0; chunks are split, since models read less text at a time than readers."""
    memory: Mapped[str] = mapped_column(Text)
    namespace: Mapped[str] = mapped_column(Text)
    model_id: Mapped[str] = mapped_column(Text)
    embedding: Mapped[list[float]] = mapped_column(EMBEDDING)


class ToolPolicyRow(Base):
    """Policy for all outputs of a tool; agents need not know it."""

    __tablename__ = "tool_policies"

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    memory: Mapped[str] = mapped_column(Text, primary_key=True)
    tool: Mapped[str] = mapped_column(Text, primary_key=True)
    off_prompt: Mapped[str] = mapped_column(Text)
    """`false`, `true` or `auto`."""
    max_inline_tokens: Mapped[int | None]
    sensitive: Mapped[bool] = mapped_column(server_default=_FALSE)
    ttl: Mapped[timedelta | None]
    local_only: Mapped[bool | None]
    allowed_models: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    readers: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    """The rules of namespaces in which outputs are stored."""
    activities: Mapped[JsonObject | None]
    """By activity: its policy in the API's form."""
    version: Mapped[int]
    create_time: Mapped[datetime]
    update_time: Mapped[datetime]


class NamespaceKey(NamedTuple):
    """Key of a namespace."""

    engine_id: int
    memory: str
    namespace: str


@dataclass(frozen=True)
class ContentPlace:
    """Key of an artifact's content."""

    engine_id: int
    memory: str
    namespace: str
    content_id: str

    @classmethod
    def of(cls, row: ArtifactRow) -> "ContentPlace":
        """Return the key of an artifact's content."""
        return cls(row.engine_id, row.memory, row.namespace, row.content_id)

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of the key in the tables of pages and chunks."""
        return {
            "engine_id": self.engine_id,
            "memory": self.memory,
            "namespace": self.namespace,
            "content_id": self.content_id,
        }


Table = type[NamespaceRow] | type[ArtifactRow] | type[PageRow] | type[ChunkRow] | type[VectorRow]
Placed = NamespaceKey | ContentPlace | NamespaceRow | Table
"""Key, row or table with the columns of a namespace's key."""


def is_in(table: Table, namespace: NamespaceName | Placed) -> ColumnElement[bool]:
    """Select the rows of a table that are in a namespace, or in the one of another table's row."""
    if isinstance(namespace, NamespaceName):
        memory = namespace.memory
        namespace = NamespaceKey(memory.engine.engine, memory.memory, namespace.namespace)
    return and_(
        table.engine_id == namespace.engine_id,
        table.memory == namespace.memory,
        table.namespace == namespace.namespace,
    )


def is_readable(now: datetime) -> ColumnElement[bool]:
    """Select the artifacts that are completely uploaded and have not expired."""
    return and_(ArtifactRow.state != ArtifactState.UPLOADING, ArtifactRow.expire_time > now)
