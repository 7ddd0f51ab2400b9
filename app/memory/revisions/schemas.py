"""The wire form of revisions. Source: wire specification, section 6."""

from typing import Any

from pydantic import ConfigDict, Field, StrictInt

from app.kernel.names import EngineName, MemoryName, RevisionName
from app.kernel.wire.base import WireModel
from app.kernel.wire.labels import Labels
from app.kernel.wire.scalars import Timestamp
from app.memory.memories.schemas.memories import MemoryContentFields, SingleRevisionFields
from app.memory.memories.store.columns import shown_content
from app.memory.memories.store.tables import RevisionRow


class RollbackMemoryRequest(SingleRevisionFields):
    """The revision to restore."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"targetRevisionId": "176847840000012345"}]}
    )

    target_revision_id: str | StrictInt = Field(
        description="The id of a revision of the memory, or its full name."
    )
    validate_only: bool | None = Field(
        None, description="Change nothing; respond with the change that the rollback would make."
    )


class ExtractedMemory(WireModel):
    """A memory as generation extracted it, before it was merged with present memories."""

    fact: str | None = None
    context: str | None = None
    structured_data: dict[str, Any] | None = Field(
        None, description="Only for a field of a profile."
    )


class MemoryRevision(MemoryContentFields):
    """A snapshot of a memory after one change; it only changes if sensitive values are masked.

    The API's definition has `name`, `createTime`, `expireTime`, `fact`, `labels`,
    `extractedMemories`, `structuredData` and `context`; the other fields are this service's own.
    """

    fact: str | None = Field(None, description="Absent in the revision of a deletion.")
    create_time: Timestamp
    expire_time: Timestamp
    labels: Labels | None = None
    extracted_memories: list[ExtractedMemory] | None = None
    structured_data: dict[str, Any] | None = None
    action: str = Field(
        description="`CREATED`, `UPDATED`, `DELETED`, `ROLLED_BACK`, `UNDELETED` or `REDACTED`."
    )
    memory_expire_time: Timestamp | None = None
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

    memory_revisions: list[MemoryRevision]
    next_page_token: str | None = None
