"""Rows of task memory in archives: policies, namespaces, artifacts, pages."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from app.artifacts.tasks.logic import Kind, ModelName, OffPrompt, UserId
from app.artifacts.tasks.schemas import (
    MAX_ACTIVITIES,
    MAX_INLINE_TOKENS,
    MAX_MODELS,
    ActivityPolicy,
    Readers,
    Source,
)
from app.artifacts.tasks.store.contents import PAGE_BYTES
from app.kernel.media_types import MediaType
from app.kernel.wire.archived import ArchivedRow, Count, Digest, Ending, Past, Position, StoredId
from app.kernel.wire.task_fields import MediaTypeField, TaskId
from app.platform.engines.logic.config import Ttl

_MAX_DEPTH = 1_000


class ArchivedToolPolicy(ArchivedRow):
    """The columns of a tool's policy in an archive."""

    memory: TaskId
    tool: TaskId
    off_prompt: OffPrompt
    max_inline_tokens: Annotated[int, Field(ge=0, le=MAX_INLINE_TOKENS)] | None
    sensitive: bool
    ttl: Ttl | None
    local_only: bool | None
    allowed_models: Annotated[list[ModelName], Field(max_length=MAX_MODELS)] | None
    readers: Readers | None
    activities: Annotated[dict[TaskId, ActivityPolicy], Field(max_length=MAX_ACTIVITIES)] | None
    version: Position
    create_time: Past
    update_time: Past


class ArchivedNamespace(ArchivedRow):
    """The columns of a namespace in an archive."""

    memory: TaskId
    namespace: TaskId
    user_id: UserId | None
    sensitive: bool
    local_only: bool
    allowed_models: Annotated[list[ModelName], Field(max_length=MAX_MODELS)] | None
    readers: Readers | None
    embedding_model: ModelName | None
    tool: TaskId | None
    activity: TaskId | None
    last_ordinal: Count
    version: Position
    create_time: Past
    update_time: Past
    expire_time: Ending


def _check_plain(media_type: str) -> str:
    if str(MediaType.parse(media_type)) != media_type:
        raise ValueError("must be a media type in the form in which it is stored")
    return media_type


class ArchivedArtifact(ArchivedRow):
    """The columns of an artifact in an archive."""

    content_id: StoredId
    memory: TaskId
    namespace: TaskId
    name: TaskId
    ordinal: Position
    kind: Literal[Kind.TEXT, Kind.JSON, Kind.BLOB]
    media_type: MediaTypeField
    sniffed_type: Annotated[str, AfterValidator(_check_plain)] | None
    size_bytes: Count
    sha256: Digest | None
    token_estimate: Count
    language: Annotated[str, Field(pattern=r"^[a-z_]{1,63}$")] | None
    depth: Annotated[int, Field(ge=0, le=_MAX_DEPTH)]
    derived_from: list[Source] | None
    source_deleted: bool
    input_hash: Digest | None
    version: Position
    create_time: Past
    expire_time: Ending
    omitted: Literal["sensitive"] | None


class ArchivedPage(ArchivedRow):
    """The columns of a page of an artifact's bytes in an archive."""

    content_id: StoredId
    page: Count
    data: Annotated[bytes, Field(min_length=1, max_length=PAGE_BYTES)]
