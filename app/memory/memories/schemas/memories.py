"""The wire form of memories and of the scopes in use (wire specification, section 5)."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic.alias_generators import to_camel
from typing_extensions import override

from app.kernel.errors import InvalidArgument
from app.kernel.names import EngineName, MemoryName
from app.kernel.wire.base import WireModel
from app.kernel.wire.objects import MAX_OBJECT_BYTES, RevisionLabels, check_size
from app.kernel.wire.scalars import PositiveDuration, Timestamp
from app.memory.memories.schemas.metadata import MemoryMetadataValue, Metadata
from app.memory.memories.store.columns import no_content, shown_content, wire_names
from app.memory.memories.store.listing import MAX_COUNT
from app.memory.memories.store.tables import ColumnRole, MemoryRow, RevisionRow, Row, check_equal
from app.platform.engines.logic.config import MAX_SCOPE_KEY_CHARS, MemoryType, MemoryTypeField
from app.platform.engines.logic.topics import MAX_FACT_CHARS, MemoryTopicId, MemoryTopicIds

MAX_SCOPE_PAIRS = 5
MAX_SCOPE_VALUE_CHARS = 1_024
MAX_TEXT_CHARS = 4_096


def _check_scope(scope: dict[str, str]) -> dict[str, str]:
    if not 1 <= len(scope) <= MAX_SCOPE_PAIRS:
        raise ValueError(f"must have 1 to {MAX_SCOPE_PAIRS} pairs")
    if not all(1 <= len(key) <= MAX_SCOPE_KEY_CHARS for key in scope):
        raise ValueError(f"must have keys of 1 to {MAX_SCOPE_KEY_CHARS} characters")
    if any("*" in value or len(value) > MAX_SCOPE_VALUE_CHARS for value in scope.values()):
        raise ValueError(
            f"must have values of at most {MAX_SCOPE_VALUE_CHARS} characters, without *"
        )
    return scope


Scope = Annotated[
    dict[str, str],
    AfterValidator(_check_scope),
    WithJsonSchema(
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": MAX_SCOPE_PAIRS,
            "propertyNames": {"minLength": 1, "maxLength": MAX_SCOPE_KEY_CHARS},
            "additionalProperties": {
                "type": "string",
                "pattern": "^[^*]*$",
                "maxLength": MAX_SCOPE_VALUE_CHARS,
            },
            "description": "Exact key of the collection.",
            "examples": [{"user_id": "42"}],
        }
    ),
]
"""The exact key of a collection of memories: order-free, case-sensitive."""


def check_fact(fact: str) -> str:
    """Return a fact that is not blank."""
    if not fact.strip():
        raise ValueError("must not be blank")
    return fact


Fact = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_FACT_CHARS,
        examples=["I prefer a window seat."],
        json_schema_extra={"pattern": r"\S"},
    ),
    AfterValidator(check_fact),
]


_CONTENT = wire_names(MemoryRow, ColumnRole.CONTENT)
_SENT = set(_CONTENT)
_ALIASES = {name: to_camel(field) for field, name in _CONTENT.items()}


class StructuredContent(WireModel):
    """The content of a structured memory."""

    data: dict[str, Any] = Field(description="Values of the fields, by name.")
    schema_id: str = Field(
        description="Id of the schema in the engine's `structuredMemoryConfigs`."
    )


def check_structured(content: StructuredContent) -> StructuredContent:
    """Return the content of a structured memory, which must not be too large to store."""
    check_size(content.wire())
    return content


class DeletionFields(WireModel):
    """Request fields for the revisions of deletions; at most one sets their life."""

    revision_labels: RevisionLabels | None = Field(
        None, description="Labels of the revisions that this request makes."
    )
    revision_expire_time: Timestamp | None = Field(
        None,
        description="Time at which those revisions are deleted, in UTC; absent: by `revisionTtl`,"
        " else by the engine's `ttlConfig`, else by the service's setting.",
    )
    revision_ttl: PositiveDuration | None = Field(
        None, description="Life of those revisions, from now; above zero seconds."
    )

    @model_validator(mode="after")
    def _has_one_revision_life(self) -> Self:
        if self.revision_expire_time is not None and self.revision_ttl is not None:
            raise ValueError("must have at most one of revisionExpireTime and revisionTtl")
        return self

    @property
    def keeps_revisions(self) -> bool:
        """True unless the request disables revisions."""
        return True

    def check_kept(self, *, permanent: bool) -> None:
        """Check that the fields for a revision are absent, as a permanent deletion keeps none."""
        for name in DeletionFields.model_fields if permanent else ():
            if getattr(self, name) is not None:
                raise InvalidArgument.of_field(
                    to_camel(name), "must be absent with permanent, which leaves no revision."
                )


class RevisionFields(DeletionFields):
    """Request fields for the revisions that a write makes, if it makes any."""

    disable_memory_revisions: bool | None = Field(
        None, description="True: the request makes no revisions."
    )

    @property
    @override
    def keeps_revisions(self) -> bool:
        return not self.disable_memory_revisions


class SingleRevisionFields(RevisionFields):
    """Request fields for the one revision that a write makes, or for making none."""

    @model_validator(mode="after")
    def _has_a_revision_or_none(self) -> Self:
        # The stored request of a generation has both fields, and then makes no revision.
        has_life = self.revision_expire_time is not None or self.revision_ttl is not None
        if has_life and self.disable_memory_revisions:
            raise ValueError(
                "must have at most one of revisionExpireTime, revisionTtl, disableMemoryRevisions"
            )
        return self


class MemoryFields(SingleRevisionFields):
    """Fields of a memory that callers may set, when they create it or later."""

    fact: Fact | None = Field(
        None, description="Statement to remember, in one or a few sentences; not blank."
    )
    display_name: str | None = Field(
        None, max_length=MAX_TEXT_CHARS, description="Short name for people."
    )
    description: str | None = Field(
        None, max_length=MAX_TEXT_CHARS, description="Explanation for people."
    )
    topics: MemoryTopicIds | None = Field(
        None, description="Topics that the fact is about; absent: none."
    )
    metadata: Metadata | None = Field(
        None,
        description="The caller's own values, by name; list filters and retrieval can compare"
        " them.",
    )
    memory_type: MemoryTypeField | None = Field(
        None,
        description="Type of the memory; absent: `NATURAL_LANGUAGE_COLLECTION`. It cannot be"
        " changed later.",
    )
    structured_content: Annotated[StructuredContent, AfterValidator(check_structured)] | None = (
        Field(None, description=f"At most {MAX_OBJECT_BYTES} bytes as JSON.")
    )
    context: str | None = Field(
        None,
        max_length=MAX_FACT_CHARS,
        description="Source of the fact, or the reason that it matters, in words. Generation"
        " quotes the conversation here as evidence; a given fact has none.",
    )
    expire_time: Timestamp | None = Field(
        None,
        description="Time at which the memory is deleted, in UTC; absent: by `ttl`, else by the"
        " engine's `ttlConfig`, else never.",
    )
    ttl: PositiveDuration | None = Field(None, description="Input only: expiry is now + ttl.")

    @model_validator(mode="after")
    def _has_one_expiry(self) -> Self:
        if self.ttl is not None and self.expire_time is not None:
            raise ValueError("must have at most one of ttl and expireTime")
        return self

    def content(self) -> dict[str, Any]:
        """Return the content columns with the values of this request."""
        sent = self.model_dump(mode="json", by_alias=True, exclude_none=True, include=_SENT)
        content = {name: sent[alias] for name, alias in _ALIASES.items() if alias in sent}
        return no_content() | content


class CreateMemoryRequest(MemoryFields):
    """A memory as its creator sends it, with `fact` or `structuredContent`.

    Fields that only responses have are ignored.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "fact": "I prefer a window seat.",
                    "scope": {"user_id": "42"},
                    "topics": [{"managedMemoryTopic": "USER_PREFERENCES"}],
                    "ttl": "2592000s",
                }
            ],
        }
    )

    ignored: ClassVar[frozenset[str]] = frozenset(
        {"name", "create_time", "update_time", "event_time", "etag"}
    )

    scope: Scope

    @model_validator(mode="after")
    def _holds_something(self) -> Self:
        if self.fact is None and self.structured_content is None:
            raise ValueError("fact is required, unless there is structuredContent")
        return self


class UpdateMemoryRequest(MemoryFields):
    """The fields to change. The scope may be repeated unchanged."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"fact": "I prefer an aisle seat."}]})

    ignored: ClassVar[frozenset[str]] = frozenset(
        {"name", "create_time", "update_time", "event_time"}
    )

    scope: Scope | None = Field(None, description="The memory's own scope; another one is refused.")
    etag: str | None = Field(None, description="The etag that was read.")


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


class MemoryContentFields(WireModel):
    """Fields that memories and their revisions share in responses."""

    name: str = Field(description="Full name of the resource.")
    fact: str | None = Field(
        None,
        description="Statement that is remembered; absent where `structuredContent` is the"
        " content.",
    )
    display_name: str | None = Field(None, description="Short name for people.")
    description: str | None = Field(None, description="Explanation for people.")
    topics: list[MemoryTopicId] | None = Field(None, description="Topics that the fact is about.")
    metadata: dict[str, MemoryMetadataValue] | None = Field(
        None,
        description="The caller's own values, by name; list filters and retrieval can compare"
        " them.",
    )
    memory_type: MemoryTypeField = Field(
        description="`NATURAL_LANGUAGE_COLLECTION`: a fact among others. `STRUCTURED_PROFILE`:"
        " one field of a profile. It never changes.",
    )
    structured_content: StructuredContent | None = Field(
        None,
        description="Content of a profile, by the schema that it names; absent where `fact` is"
        " the content.",
    )
    context: str | None = Field(
        None,
        description="Source of the fact, or the reason that it matters, in words. Generation"
        " quotes the conversation here as evidence; a given fact has none.",
    )


class Memory(MemoryContentFields):
    """A memory."""

    scope: dict[str, str] = Field(
        description="Exact key of the collection that it belongs to. It never changes."
    )
    create_time: Timestamp = Field(description="Time of its creation.")
    update_time: Timestamp = Field(description="Time of its last change.")
    event_time: Timestamp | None = Field(
        None,
        description="Output only: the time at which the fact was said, or the time in its"
        " metadata; absent: it was not said in a conversation.",
    )
    expire_time: Timestamp | None = Field(
        None, description="Time at which it is deleted; absent: never."
    )
    etag: str = Field(description="Version of the memory, for conditional requests.")
    delete_time: Timestamp | None = Field(
        None, description="The time of the deletion; absent of a live memory, as the next three."
    )
    recover_until: Timestamp | None = Field(
        None, description="The end of the time in which it can be recovered."
    )
    delete_operation: str | None = Field(
        None, description="The operation that deleted it; absent if no revision was kept."
    )
    delete_caller: str | None = Field(
        None,
        description="Caller that deleted it: the id of a key, `jwt:` and the subject of a token,"
        " or `command-line`; absent also where the service itself deleted it.",
    )

    @classmethod
    def from_row(cls, engine: EngineName, row: MemoryRow) -> "Memory":
        """Build the response; `engine` is the stored full name."""
        return cls.model_validate(
            {
                **shown_content(row),
                "name": str(MemoryName(engine, row.memory_id)),
                "scope": row.scope,
                "create_time": row.create_time,
                "update_time": row.update_time,
                "event_time": row.event_time,
                "expire_time": row.expire_time,
                "etag": str(row.version),
            }
        )

    @classmethod
    def from_revision(cls, memory: "Memory", revision: RevisionRow) -> "Memory":
        """Build the memory after a revision; name, scope and creation time never change."""
        return cls.model_validate(
            {
                **shown_content(revision),
                "name": memory.name,
                "scope": memory.scope,
                "create_time": memory.create_time,
                "update_time": revision.create_time,
                "event_time": revision.event_time,
                "expire_time": revision.memory_expire_time,
                "etag": str(revision.version),
            }
        )


DELETION_FIELDS = frozenset({"delete_time", "recover_until", "delete_operation", "delete_caller"})
"""Fields that only a deleted `Memory` has."""


def check_fields(row: Row) -> None:
    """Raise an AssertionError if the wire forms do not have the columns of a row."""
    content = wire_names(row, ColumnRole.CONTENT, ColumnRole.KEPT).keys()
    state = wire_names(row, ColumnRole.STATE).keys() - {"version"}
    check_equal("MemoryContentFields", MemoryContentFields.model_fields, {"name", *content})
    shown = Memory.model_fields.keys() - DELETION_FIELDS - {"event_time"}
    check_equal("Memory", shown, {"name", "etag", *content, *state})
    settable = MemoryFields.model_fields.keys() - RevisionFields.model_fields.keys()
    check_equal("MemoryFields", settable - {"expire_time", "ttl"}, content)


check_fields(MemoryRow)


class NamedMemory(WireModel):
    """A memory by its name."""

    name: str = Field(description="Full name of the memory.")


class KnownMemory(Memory):
    """A memory as an operation left it; without its content if that is no longer known."""

    model_config = ConfigDict(json_schema_extra={"required": ["name"]})


class AnsweredMemory(KnownMemory):
    """A memory in the result of an operation, as the operation left it."""


class ListMemoriesResponse(WireModel):
    """A page of memories."""

    memories: list[Memory] = Field(description="The memories of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )


class ScopeInUse(WireModel):
    """A scope, and how many memories it has."""

    scope: dict[str, str] = Field(
        description="Keys and values of the scope.", examples=[{"user_id": "42"}]
    )
    memory_count: int = Field(
        description=f"Number of its live memories; {MAX_COUNT} if there are more.",
        ge=0,
        le=MAX_COUNT,
    )
    is_capped: bool | None = Field(
        None, description="True if there are more memories than `memoryCount`; otherwise absent."
    )


class ListScopesResponse(WireModel):
    """A page of scopes, in a stable order without a meaning."""

    scopes: list[ScopeInUse] = Field(description="The scopes of the page.")
    next_page_token: str | None = Field(
        None, description="`pageToken` of the next page; absent on the last one."
    )


DEFAULT_MEMORY_TYPE = MemoryType.NATURAL_LANGUAGE_COLLECTION
PROFILE_TYPE = MemoryType.STRUCTURED_PROFILE


def stored_type(requested: MemoryType | None) -> MemoryType:
    """Return the type that is stored for a requested type."""
    if requested is None or requested is MemoryType.MEMORY_TYPE_UNSPECIFIED:
        return DEFAULT_MEMORY_TYPE
    return requested
