"""Memories in the responses of operations."""

from pydantic import ConfigDict, Field

from app.kernel.wire.base import WireModel
from app.memory.memories.schemas.memories import Memory


class NamedMemory(WireModel):
    """A memory by its name."""

    name: str = Field(description="Full name of the memory.")


class KnownMemory(Memory):
    """A memory as an operation left it; without its content if that is no longer known."""

    model_config = ConfigDict(json_schema_extra={"required": ["name"]})


class AnsweredMemory(KnownMemory):
    """A memory in the result of an operation, as the operation left it."""
