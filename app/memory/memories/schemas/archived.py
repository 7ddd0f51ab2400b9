"""Memories and their vectors in archives, and stored responses that refer to memories."""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field
from typing_extensions import override

from app.kernel.errors import ServiceError
from app.kernel.names import MemoryName
from app.kernel.wire.archived import (
    WITH_MASKS,
    ArchivedRow,
    Ending,
    Moment,
    Past,
    Place,
    Position,
    StoredId,
    Text,
)
from app.memory.memories.schemas.memories import (
    MAX_TEXT_CHARS,
    Scope,
    StructuredContent,
    check_fact,
    check_structured,
)
from app.memory.memories.schemas.metadata import Metadata
from app.platform.engines.logic.config import MemoryType
from app.platform.engines.logic.topics import MAX_FACT_CHARS, MemoryTopicIds
from app.platform.operations.schemas import StoredAnswer, StoredEntry

_BLANK = "(blank)"
_LongText = Annotated[str, Field(max_length=WITH_MASKS * MAX_FACT_CHARS)]
_ShortText = Annotated[str, Field(max_length=WITH_MASKS * MAX_TEXT_CHARS)]


def _spelt_out(fact: Any) -> Any:  # noqa: ANN401 - JSON
    # Earlier releases accepted blank facts.
    return _BLANK if isinstance(fact, str) and fact and not fact.strip() else fact


class ArchivedContent(ArchivedRow):
    """The columns that a memory and its revisions share in an archive."""

    former: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"fact": _spelt_out}

    memory_id: StoredId
    version: Position
    fact: Annotated[_LongText, Field(min_length=1), AfterValidator(check_fact)] | None
    display_name: _ShortText | None
    description: _ShortText | None
    topics: MemoryTopicIds
    metadata: Metadata
    memory_type: MemoryType
    structured_content: Annotated[StructuredContent, AfterValidator(check_structured)] | None
    context: _LongText | None
    source: _ShortText | None
    position: Place | None
    event_time: Moment | None

    @override
    def contradictions(self) -> Iterable[tuple[str, str]]:
        if self.memory_type is MemoryType.MEMORY_TYPE_UNSPECIFIED:
            yield "memory_type", "must be the type that was stored"


class ArchivedMemory(ArchivedContent):
    """The columns of a memory in an archive."""

    scope: Scope
    create_time: Past
    update_time: Past
    expire_time: Moment | None
    delete_time: Past | None
    recover_until: Ending | None
    held_time: Past | None

    @override
    def contradictions(self) -> Iterable[tuple[str, str]]:
        yield from super().contradictions()
        if self.fact is None and self.structured_content is None:
            yield "fact", "is required, unless there is structuredContent"


class ArchivedVector(ArchivedRow):
    """The columns of a memory's vector in an archive."""

    memory_id: StoredId
    model_id: Text
    vector: Any


def _check_name(text: str) -> str:
    try:
        MemoryName.parse(text)
    except ServiceError:
        raise ValueError("must be the full name of a memory") from None
    return text


MemoryNameText = Annotated[str, AfterValidator(_check_name)]
EtagText = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,17}$")]


class StoredMemoryName(StoredEntry):
    """A memory that a stored answer names."""

    name: MemoryNameText


class StoredMemory(StoredAnswer):
    """The stored answer of a change of one memory, without its content."""

    name: MemoryNameText
    etag: EtagText
    update_time: str


class StoredCreation(StoredMemoryName):
    """A memory that a batch has created."""

    update_time: str
