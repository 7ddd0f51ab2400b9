"""Schemas of `memories:purge`. Source: wire specification, section 10."""

from typing import Self

from pydantic import ConfigDict, Field, StrictInt, model_validator

from app.kernel.wire.base import WireModel
from app.memory.memories.schemas.archived import StoredMemoryName
from app.memory.memories.schemas.memories import DeletionFields, KnownMemory
from app.memory.memories.schemas.metadata import FilterGroups
from app.platform.operations.schemas import StoredAnswer

MAX_SAMPLES = 100
"""Maximum number of samples in a preview."""


class PurgeMemoriesRequest(DeletionFields):
    """The memories to delete, by `filter`, `filterGroups` or both.

    Without `force` they are only counted.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"filter": 'scope.user_id="42"', "force": False}]}
    )

    filter: str | None = Field(None, description="An AIP-160 filter.")
    filter_groups: FilterGroups | None = Field(
        None,
        description="Groups of conditions on metadata; a memory must match at least one group.",
    )
    force: bool | None = Field(
        None, description="True: delete the memories; otherwise only count them."
    )
    permanent: bool | None = Field(
        None,
        description="True, with `force`: erase memories and history at once, without recovery.",
    )
    sample_size: StrictInt | None = Field(
        None,
        ge=0,
        le=MAX_SAMPLES,
        description=f"Without `force`: matching memories to show, the newest; 0 to {MAX_SAMPLES}.",
    )

    @model_validator(mode="after")
    def _has_criteria(self) -> Self:
        if not (self.filter and self.filter.strip()) and not self.filter_groups:
            raise ValueError("filter or filterGroups is required")
        return self


class PurgeMemoriesResponse(WireModel):
    """The effect of a purge."""

    purge_count: int = Field(
        description="Number of memories deleted; without `force`, that would be deleted."
    )
    samples: list[KnownMemory] | None = Field(
        None,
        description="Some of these memories, newest first; only names in a list of operations;"
        " absent without `sampleSize`.",
    )


class _StoredSample(StoredMemoryName):
    create_time: str


class StoredPurge(StoredAnswer):
    """The stored answer of a purge, without the content of its samples."""

    samples: list[_StoredSample] | None = None
