"""Schemas of revisions. Source: wire specification, section 6."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StrictInt

from app.kernel.names import EngineName, MemoryName, RevisionName
from app.kernel.wire.archived import Int64Id, Moment, Past, StoredId, Text
from app.kernel.wire.base import WireModel
from app.kernel.wire.objects import MAX_LABEL_CHARS, MAX_REVISION_LABEL_CHARS, RevisionLabels
from app.kernel.wire.scalars import Timestamp
from app.memory.memories.schemas.archived import ArchivedContent, EtagText, StoredMemoryName
from app.memory.memories.schemas.memories import (
    MemoryContentFields,
    NamedMemory,
    SingleRevisionFields,
)
from app.memory.memories.store.changes import Action
from app.memory.memories.store.columns import shown_content
from app.memory.revisions.store import ReadRevision
from app.platform.operations.schemas import StoredAnswer, StoredEntry


class RollbackMemoryRequest(SingleRevisionFields):
    """The revision to restore."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"targetRevisionId": "176847840000012345"}]}
    )

    target_revision_id: str | StrictInt = Field(
        description="The id of a revision of the memory, or its full name."
    )
    validate_only: bool | None = Field(
        None,
        description="True: change nothing; return the change that the rollback would make.",
    )


class RestoredContent(MemoryContentFields):
    """The content of a memory, which is all that a rollback restores."""

    model_config = ConfigDict(json_schema_extra={"required": []})


class PlannedRollback(WireModel):
    """The change that a rollback would make."""

    action: Literal["ROLLED_BACK"] = Field(description="Always `ROLLED_BACK`.")
    memory: NamedMemory = Field(description="The memory.")
    etag: str = Field(description="Its version that was planned for, for `If-Match`.")
    restored_revision: str = Field(description="Full name of the revision that is restored.")
    before: RestoredContent | None = Field(
        None,
        description="Its content in that version; absent: it is deleted, or the version is no"
        " longer kept.",
    )
    after: RestoredContent | None = Field(
        None, description="Its content after the rollback; absent: the revision no longer exists."
    )


class RollbackMemoryResponse(WireModel):
    """The response of a rollback with `validateOnly`, which changes nothing."""

    planned_changes: list[PlannedRollback] = Field(description="The one change.")


class ExtractedMemory(WireModel):
    """A memory as generation extracted it, before it was merged with present memories."""

    fact: str | None = Field(
        None, description="Statement as it was extracted; absent for a field of a profile."
    )
    context: str | None = Field(
        None, description="Quotation from the conversation as evidence; absent for a given fact."
    )
    structured_data: dict[str, Any] | None = Field(
        None, description="Value of a field of a profile; absent for a fact."
    )


class MemoryRevision(MemoryContentFields):
    """A snapshot of a memory after one change.

    It only changes if a scan masks sensitive values, or an erasure the name of its caller.

    The API's definition has `name`, `createTime`, `expireTime`, `fact`, `labels`,
    `extractedMemories`, `structuredData` and `context`; the other fields are this service's own.
    """

    fact: str | None = Field(
        None,
        description="Statement after the change; empty in the revision of a deletion; absent"
        " where there was none.",
    )
    scope: dict[str, str] = Field(description="The scope of the memory, which never changes.")
    create_time: Timestamp = Field(description="Time of the change.")
    expire_time: Timestamp = Field(description="Time at which the revision is deleted.")
    labels: RevisionLabels | None = Field(None, description="Labels that the change was given.")
    extracted_memories: list[ExtractedMemory] | None = Field(
        None,
        description="Extracted memories from which generation made this change; absent: another"
        " method made it.",
    )
    structured_data: dict[str, Any] | None = Field(
        None,
        description="Values of the profile's fields after the change; absent: the memory is no"
        " profile.",
    )
    action: str = Field(
        description=f"The kind of the change: {', '.join(f'`{action}`' for action in Action)}."
    )
    memory_expire_time: Timestamp | None = Field(
        None,
        description="Time at which the memory was to be deleted, as of this change; absent: never.",
    )
    author: str | None = Field(None, description="The engine or model that wrote the fact.")
    prompt_version: str | None = Field(
        None, description="Version of the prompts that the model was given."
    )
    operation: str | None = Field(None, description="The operation that made the change.")
    caller: str | None = Field(
        None,
        description="Caller that requested the change: id of the API key; `jwt:` and the subject,"
        " of a token; `command-line`; absent: the service itself, or a revision of an earlier"
        " release.",
    )
    restored_revision: str | None = Field(
        None, description="The revision that a rollback restored."
    )
    redact_time: Timestamp | None = Field(
        None,
        description="Time at which a scan masked sensitive values in this revision; absent:"
        " none did.",
    )

    @classmethod
    def from_row(cls, engine: EngineName, revision: ReadRevision) -> "MemoryRevision":
        """Build the response; `engine` is the stored full name."""
        row = revision.row
        memory = MemoryName(engine, row.memory_id)
        structured = row.structured_content
        restored = row.restored_revision_id
        content = shown_content(row)
        if row.action == Action.DELETED and revision.has_fact:
            # Source: wire specification, section 6.1.
            content["fact"] = ""
        return cls.model_validate(
            {
                **content,
                "name": str(RevisionName(memory, row.revision_id)),
                "scope": revision.scope,
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
                "caller": row.caller,
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


class RevisionLabel(WireModel):
    """A label that is in use: its key, or its key with one of the key's values."""

    key: str = Field(description=f"Key of 1 to {MAX_LABEL_CHARS} characters.")
    value: str | None = Field(
        None,
        description=f"Value of at most {MAX_REVISION_LABEL_CHARS} characters; absent in a list of"
        " keys.",
    )


class ListRevisionLabelsResponse(WireModel):
    """A page of the labels in use, in the order of their bytes."""

    labels: list[RevisionLabel] = Field(description="The labels of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )


class ArchivedRevision(ArchivedContent):
    """The columns of a revision in an archive."""

    revision_id: Int64Id
    action: Action
    memory_expire_time: Moment | None
    labels: RevisionLabels
    extracted_memories: list[ExtractedMemory]
    author: Text | None
    prompt_version: Text | None
    operation_id: StoredId | None
    caller: Text | None
    restored_revision_id: Int64Id | None
    redact_time: Past | None
    create_time: Past
    expire_time: Moment


class _StoredPlan(StoredEntry):
    memory: StoredMemoryName
    etag: EtagText
    restored_revision: Annotated[str, Field(pattern=r"/[1-9][0-9]{0,17}$")]


class StoredRollbackPreview(StoredAnswer):
    """The stored answer of a rollback that was only planned."""

    planned_changes: tuple[_StoredPlan]
