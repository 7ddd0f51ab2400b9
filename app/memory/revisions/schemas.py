"""The wire form of revisions. Source: wire specification, section 6."""

from typing import Any

from pydantic import Field

from app.kernel.names import EngineName, MemoryName, RevisionName
from app.kernel.wire.base import WireModel
from app.kernel.wire.labels import Labels
from app.kernel.wire.scalars import Timestamp
from app.memory.memories.schemas.memories import MemoryContentFields
from app.memory.memories.store.columns import shown_content
from app.memory.memories.store.tables import RevisionRow


class ExtractedMemory(WireModel):
    """A memory as generation extracted it, before it was merged with present memories."""

    fact: str | None = Field(
        None, description="Statement as it was extracted; absent for a field of a profile."
    )
    context: str | None = Field(None, description="What the statement was drawn from, in words.")
    structured_data: dict[str, Any] | None = Field(
        None, description="Only for a field of a profile."
    )


class MemoryRevision(MemoryContentFields):
    """A snapshot of a memory after one change; it only changes if sensitive values are masked.

    The API's definition has `name`, `createTime`, `expireTime`, `fact`, `labels`,
    `extractedMemories`, `structuredData` and `context`; the other fields are this service's own.
    """

    fact: str | None = Field(None, description="Absent in the revision of a deletion.")
    create_time: Timestamp = Field(description="When the change was made.")
    expire_time: Timestamp = Field(description="When the revision is deleted.")
    labels: Labels | None = Field(None, description="Labels that the change was given.")
    extracted_memories: list[ExtractedMemory] | None = Field(
        None,
        description="What generation extracted, of which this change was made; absent: another"
        " method made it.",
    )
    structured_data: dict[str, Any] | None = Field(
        None,
        description="Values of the profile's fields after the change; absent: the memory is no"
        " profile.",
    )
    action: str = Field(description="`CREATED`, `UPDATED`, `DELETED`, `ROLLED_BACK` or `REDACTED`.")
    memory_expire_time: Timestamp | None = Field(
        None,
        description="When the memory was to be deleted, as of this change; absent: never.",
    )
    author: str | None = Field(None, description="The engine or model that wrote the fact.")
    prompt_version: str | None = Field(
        None, description="Version of the prompts that the model was given."
    )
    operation: str | None = Field(None, description="The operation that made the change.")
    restored_revision: str | None = Field(
        None, description="The revision that a rollback restored."
    )
    redact_time: Timestamp | None = Field(
        None, description="When a scan masked sensitive values in this revision, if one did."
    )

    @classmethod
    def from_row(cls, engine: EngineName, row: RevisionRow) -> "MemoryRevision":
        """Build the response; `engine` is the stored full name."""
        memory = MemoryName(engine, row.memory_id)
        structured = row.structured_content
        restored = row.restored_revision_id
        return cls.model_validate(
            {
                **shown_content(row),
                "name": str(RevisionName(memory, row.revision_id)),
                "create_time": row.create_time,
                "expire_time": row.expire_time,
                "labels": row.labels or None,
                "extracted_memories": row.extracted_memories or None,
                "structured_data": structured["data"] if structured else None,
                "action": row.action,
                "memory_expire_time": row.memory_expire_time,
                "author": row.author,
                "prompt_version": row.prompt_version,
                "operation": row.operation_id and f"{engine}/operations/{row.operation_id}",
                "redact_time": row.redact_time,
                "restored_revision": restored and str(RevisionName(memory, restored)),
            }
        )


class ListMemoryRevisionsResponse(WireModel):
    """A page of revisions, newest first."""

    memory_revisions: list[MemoryRevision] = Field(description="The revisions of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )
