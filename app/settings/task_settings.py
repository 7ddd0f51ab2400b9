"""The settings of task memory; a part of `Settings`, which reads them."""

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from app.settings.setting_types import ApiKey, BaseUrl

StorableKind = Literal["text", "json", "blob"]
_MIB = 1024**2


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
    task_max_artifact_bytes: int = Field(64 * _MIB, ge=1, description="Longest artifact.")
    task_max_namespace_bytes: int = Field(
        512 * _MIB, ge=1, description="Greatest size of the artifacts of one namespace."
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
    def _check_sizes(self) -> Self:
        """Refuse limits that would accept artifacts too large to store."""
        if self.task_max_artifact_bytes > self.task_max_namespace_bytes:
            raise PydanticCustomError(
                "sizes",
                "MEMORY_BANK_TASK_MAX_ARTIFACT_BYTES must be at most"
                " MEMORY_BANK_TASK_MAX_NAMESPACE_BYTES.",
            )
        return self
