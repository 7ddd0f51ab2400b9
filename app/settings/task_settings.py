"""The settings of task memory; a part of `Settings`, which reads them."""

from itertools import pairwise
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from app.settings.provider_types import ApiKey, BaseUrl

StorableKind = Literal["text", "json", "blob"]
_MIB = 1024**2
MAX_NAMESPACE_ARTIFACTS = 10_000
"""The hard limit, which no setting can raise."""


class ReaderModel(BaseModel):
    """A model that reads stored task memory on behalf of the agent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    locality: Literal["local", "remote"]
    base_url: BaseUrl | None = None
    key: ApiKey | None = None
    max_input_tokens: int = Field(8_192, ge=1_000)


class TaskSettings(BaseModel):
    """The types, limits and lifetimes of task memory, and its readers."""

    task_storable: list[StorableKind] = Field(
        ["text", "json", "blob"],
        description="JSON array: the kinds of tools' outputs that task memory stores.",
    )
    task_max_inline_tokens: int = Field(
        1_000,
        ge=0,
        description="Tokens up to which an output stays in the prompt under `offPrompt: auto`.",
    )
    task_chunk_tokens: int = Field(
        400, ge=50, le=8_000, description="Longest piece of a text that readers are given."
    )
    task_chunk_overlap_tokens: int = Field(
        50, ge=0, description="Tokens that a piece repeats of the one before it."
    )
    task_max_inline_bytes: int = Field(
        _MIB, ge=1, description="Greatest size of the artifacts of one JSON request."
    )
    task_max_artifact_bytes: int = Field(64 * _MIB, ge=1, description="Longest artifact.")
    task_max_namespace_bytes: int = Field(
        512 * _MIB, ge=1, description="Greatest size of the artifacts of one namespace."
    )
    task_max_namespace_artifacts: int = Field(
        1_000,
        ge=1,
        le=MAX_NAMESPACE_ARTIFACTS,
        description="Artifacts of one namespace, and elements of a list.",
    )
    engine_max_artifact_bytes: int | None = Field(
        100 * 1024**3,
        ge=0,
        description="Greatest size of the artifacts of one engine, in all; `none`: no bound.",
    )
    task_ttl_seconds: float = Field(
        86_400, gt=0, description="Life of an artifact when nothing else sets it."
    )
    task_export_sinks: dict[str, Path] = Field(
        default_factory=dict,
        description='JSON object: names of places to export to, to their folders, such as `{"out":'
        ' "/srv/out"}`.',
    )
    task_readers: dict[str, ReaderModel] = Field(
        default_factory=dict,
        description="JSON object: names of reader models to `{model, locality, base_url, key,"
        " max_input_tokens}`, `locality` being `local` or `remote`.",
    )

    @model_validator(mode="after")
    def _check_chunks(self) -> Self:
        """Refuse an overlap of more than half a chunk."""
        if self.task_chunk_overlap_tokens * 2 > self.task_chunk_tokens:
            raise PydanticCustomError(
                "overlap",
                "MEMORY_BANK_TASK_CHUNK_OVERLAP_TOKENS must be at most half of"
                " MEMORY_BANK_TASK_CHUNK_TOKENS.",
            )
        return self

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        """Refuse limits that would accept artifacts too large to store."""
        sizes = ("task_max_inline_bytes", "task_max_artifact_bytes", "task_max_namespace_bytes")
        for less, more in pairwise(sizes):
            if getattr(self, less) > getattr(self, more):
                names = {"less": less.upper(), "more": more.upper()}
                message = "MEMORY_BANK_{less} must be at most MEMORY_BANK_{more}."
                raise PydanticCustomError("sizes", message, names)
        return self
