"""Schemas of bulk creation, an addition of this service (source: google.aip.dev/233)."""

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema
from typing_extensions import override

from app.kernel.names import CHOSEN_ID
from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Timestamp
from app.memory.memories.schemas.archived import StoredCreation
from app.memory.memories.schemas.memories import CreateMemoryRequest, KnownMemory, NamedMemory
from app.platform.operations.schemas import OperationError, StoredAnswer

MAX_BATCH = 500
MIN_ERRORS = 100
MAX_ERRORS = 10_000
"""Upper bound of `maxErrors`; errors beyond the limit of a request are only counted."""

_EXAMPLE: dict[str, JsonValue] = {"fact": "I prefer a window seat.", "scope": {"user_id": "42"}}
MemoryId = Annotated[
    str,
    Field(json_schema_extra={"pattern": f"^{CHOSEN_ID}$"}),
]
_MEMORY_ID = Field(None, description="Id of the new memory; absent: a new one.")


class NewMemory(WireModel):
    """A memory of a batch."""

    memory: CreateMemoryRequest = Field(description="The memory.")
    memory_id: MemoryId | None = _MEMORY_ID


class _ParsedLater:
    """A message with a documented schema that is parsed later, so that errors name its index."""

    message: type[BaseModel] = NewMemory

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> CoreSchema:
        return core_schema.any_schema()

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(cls.message.__pydantic_core_schema__)


class BatchCreateMemoriesRequest(WireModel):
    """Memories to create at once."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"requests": [{"memory": _EXAMPLE}], "atomic": False}]}
    )

    requests: list[Annotated[Any, _ParsedLater]] = Field(
        min_length=1,
        max_length=MAX_BATCH,
        description="The memories, each with an optional id.",
    )
    atomic: bool = Field(
        True,
        description="True: all memories are created or none. False: each is created on its own, and"
        " the response lists its outcome in `results`.",
    )


class BatchResult(WireModel):
    """The outcome of one memory of a batch: its name or its error."""

    memory: NamedMemory | None = Field(None, description="The memory that was created.")
    error: OperationError | None = Field(
        None, description="Error of a memory that was not created."
    )


class BatchCreateMemoriesResponse(WireModel):
    """The memories that a batch created."""

    memories: list[KnownMemory] = Field(description="Created memories, in the request's order.")
    results: list[BatchResult] | None = Field(
        None, description="Without `atomic`: the outcome of each memory of the request, in order."
    )


class AnsweredImport(WireModel):
    """The counts of an import, in the operation that records it."""

    imported: int = Field(description="Number of memories that were created.")
    restored: int = Field(
        0,
        description="Number of deleted memories that were brought back with their lines' content.",
    )
    overwritten: int = Field(
        0, description="Number of memories that got the content of their lines, with `overwrite`."
    )


class ImportedMemory(CreateMemoryRequest):
    """A line of an import: a memory, and optionally its id and its times elsewhere."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{**_EXAMPLE, "memoryId": "window-seat"}]}
    )

    ignored: ClassVar[frozenset[str]] = frozenset({"name", "etag"})

    memory_id: MemoryId | None = _MEMORY_ID
    create_time: Timestamp | None = Field(None, description="Time of its creation; absent: now.")
    update_time: Timestamp | None = Field(
        None, description="Time of its last change; absent: `createTime`."
    )
    event_time: Timestamp | None = Field(
        None,
        description="Time at which the fact was said; absent: it rests on the time of its last"
        " change. Metadata that name a time come first.",
    )

    @override
    def content(self) -> dict[str, Any]:
        return {**super().content(), "event_time": self.event_time}


class LineError(WireModel):
    """The error of a line."""

    line: int = Field(description="Number of the line, from 1.")
    error: OperationError = Field(description="Reason of the refusal.")


class ImportMemoriesResponse(AnsweredImport):
    """The result of an import."""

    existing: int = Field(
        description="Memories that existed already, with their ids and this content."
    )
    expired: int = Field(
        description="Number of lines with an `expireTime` in the past; they were not stored."
    )
    changed_here: int = Field(
        description="Memories that existed with other content; they were kept, unless the request"
        " had `overwrite`."
    )
    failed: int = Field(description="Number of lines that were refused; they were not stored.")
    errors: list[LineError] = Field(
        description="Errors of the lines that failed, the first `maxErrors` of them."
    )
    operation: str | None = Field(
        None,
        description="Name of the operation that records the import and can be undone; absent if"
        " this request changed nothing.",
    )


class StoredBatch(StoredAnswer):
    """The stored answer of a batch, without the content of its memories."""

    memories: list[StoredCreation]  # type: ignore[assignment]  # narrower
