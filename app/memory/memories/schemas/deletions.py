"""The wire form of deletions and undeletions; the latter are an extension of this service."""

from pydantic import ConfigDict

from app.memory.memories.schemas.memories import DeletionFields, SingleRevisionFields


class DeleteMemoryRequest(DeletionFields):
    """Options of a deletion; none with `permanent`, which leaves no revision."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"revisionLabels": {"ticket": "4711"}}]}
    )


class UndeleteMemoryRequest(SingleRevisionFields):
    """Options of bringing a memory back."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"revisionLabels": {"ticket": "4711"}}]}
    )
