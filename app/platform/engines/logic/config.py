"""The configuration of memory banks. Source: wire specification, section 12.2."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, AliasChoices, Field, ValidationInfo, model_validator

from app.kernel.names import MAX_ID_CHARS
from app.kernel.ranking import Ranking
from app.kernel.text import Language
from app.kernel.wire.base import WireModel
from app.kernel.wire.json_schema import read_schema
from app.kernel.wire.memory_policy import MemoryPolicy
from app.kernel.wire.objects import MAX_OBJECT_BYTES, BoundedObject
from app.kernel.wire.privacy_config import PrivacyConfig
from app.kernel.wire.scalars import PositiveDuration, TimeZone, one_of
from app.platform.engines.logic.topics import (
    MAX_ENTRIES,
    MAX_TOPICS,
    GenerateMemoriesExample,
    MemoryTopic,
)

_MINUTE = timedelta(minutes=1)
MAX_TTL = timedelta(days=365_000)
_MAX_REVISIONS_PER_CANDIDATE = 10
MAX_SCOPE_KEY_CHARS = 256
STORED: dict[str, Any] = {"stored": True}
"""Validation context for stored configurations: values accepted once stay readable."""

ScopeKeys = Annotated[
    list[Annotated[str, Field(max_length=MAX_SCOPE_KEY_CHARS)]], Field(max_length=MAX_ENTRIES)
]
"""Keys that a scope must have for a part of the configuration to apply to it."""


class ConsolidationConfig(WireModel):
    """Consolidation of candidates with the memories that exist."""

    revisions_per_candidate_count: int | None = Field(
        None,
        ge=0,
        le=_MAX_REVISIONS_PER_CANDIDATE,
        description="Number of past revisions of a memory that the model sees; absent: 1.",
    )


class CustomizationConfig(WireModel):
    """Extraction settings for the scopes that have all of `scopeKeys`."""

    scope_keys: ScopeKeys | None = Field(
        None,
        description="Keys that a scope must have; absent or empty: none. If several"
        " entries match, the one with the most keys counts.",
    )
    memory_topics: list[MemoryTopic] | None = Field(
        None,
        max_length=MAX_TOPICS,
        description="Topics to extract; absent or empty: the managed topics.",
    )
    generate_memories_examples: list[GenerateMemoriesExample] | None = Field(
        None,
        max_length=MAX_ENTRIES,
        description="Conversations with the memories that should result from them.",
    )
    enable_third_person_memories: bool | None = Field(
        None, description='True: facts are written as "The user ..."; otherwise as "I ...".'
    )
    consolidation_config: ConsolidationConfig | None = Field(
        None, description="Settings for the comparison of new facts with present memories."
    )
    disable_natural_language_memories: bool | None = Field(
        None, description="True: only profiles are made, no facts."
    )


class GenerationRule(WireModel):
    """Conditions on which buffered events become memories."""

    idle_duration: PositiveDuration | None = Field(
        None,
        description="Time without a new event; whole minutes. Not together with `fixedInterval`.",
    )
    fixed_interval: PositiveDuration | None = Field(
        None,
        description="Time since the oldest waiting event; whole minutes. Not together with"
        " `idleDuration`.",
    )
    event_count: int | None = Field(None, ge=1, description="Number of waiting events.")
    overlap_event_count: int | None = Field(
        None,
        ge=1,
        description="Number of processed events that are read again with the next ones; less"
        " than `eventCount`.",
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.idle_duration is not None and self.fixed_interval is not None:
            raise ValueError("must have at most one of idleDuration and fixedInterval")
        for name, length in (
            ("idleDuration", self.idle_duration),
            ("fixedInterval", self.fixed_interval),
        ):
            if length is not None and length % _MINUTE:
                raise ValueError(f'{name} must be whole minutes, such as "300s"')
        self._check_overlap()
        return self

    def _check_overlap(self) -> None:
        if self.overlap_event_count is None:
            return
        if (self.idle_duration or self.fixed_interval or self.event_count) is None:
            raise ValueError("overlapEventCount must be set together with another rule")
        if self.event_count is not None and self.overlap_event_count >= self.event_count:
            raise ValueError("overlapEventCount must be less than eventCount")


class GenerationTriggerConfig(WireModel):
    """The trigger of memory generation for the bank's streams."""

    generation_rule: GenerationRule | None = Field(
        None,
        description="The conditions, of which one is enough; absent: events are processed at once.",
    )


class GenerationConfig(WireModel):
    """The model that writes memories, and when it runs."""

    model: str | None = Field(
        None,
        max_length=512,
        description="Name of a configured model; absent, or a name of Google's that is not"
        " configured: the service's own.",
    )
    generation_trigger_config: GenerationTriggerConfig | None = Field(
        None,
        description="Trigger of generation from ingested events; absent: they become memories"
        " at once.",
    )


MaxDistance = Annotated[
    float,
    Field(
        gt=0,
        le=2,
        description="Memories farther from the query are left out; `omittedCount`"
        " counts them. Distances of different embedders are not comparable.",
    ),
]


class SimilaritySearchConfig(WireModel):
    """Search settings. The embedding model is stored, but searches use this service's own."""

    embedding_model: str | None = Field(
        None, max_length=512, description="Name of an embedding model; stored and not used."
    )
    ranking: Annotated[Ranking, one_of(Ranking)] | None = Field(
        None, description="`hybrid` or `vector`; absent: the service's setting."
    )
    language: Annotated[Language, one_of(Language)] | None = Field(
        None,
        description="Language of new memories and of queries: a two-letter code, or"
        " `simple` for words as they are; absent: detected for each text.",
    )
    max_distance: MaxDistance | None = Field(
        None,
        description="Memories farther from the query are left out, from above 0 to 2; absent:"
        " none. A request's own `maxDistance` overrides it.",
    )


def _check_ttl(length: timedelta) -> timedelta:
    # Every write adds the TTL to its time: a sum beyond the calendar would make all writes fail.
    if length > MAX_TTL:
        raise ValueError(f'must be at most "{MAX_TTL.days * 86_400}s", a thousand years')
    return length


Ttl = Annotated[PositiveDuration, AfterValidator(_check_ttl)]


class GranularTtlConfig(WireModel):
    """Lifetimes of memories by the way they were created."""

    create_ttl: Ttl | None = Field(
        None,
        description="Life of memories that `memories.create` makes, from now; above zero, at"
        " most a thousand years.",
    )
    generate_created_ttl: Ttl | None = Field(
        None,
        description="Life of memories that generation makes; above zero, at most a thousand years.",
    )
    generate_updated_ttl: Ttl | None = Field(
        None,
        description="Life of memories from the time that generation updates them; above zero,"
        " at most a thousand years.",
    )


def _aliases(camel: str, snake: str, *names: str) -> AliasChoices:
    return AliasChoices(camel, snake, *names)


class TtlConfig(WireModel):
    """Lifetimes of memories and of revisions.

    The product's documentation and the API's definition name two fields differently; both names are
    accepted.
    """

    default_ttl: Ttl | None = Field(
        None,
        description="Life of memories from their last change; above zero, at most a thousand"
        " years. Not together with `granularTtlConfig`.",
    )
    granular_ttl_config: GranularTtlConfig | None = Field(
        None,
        validation_alias=_aliases(
            "granularTtlConfig", "granular_ttl_config", "granularTtl", "granular_ttl"
        ),
        description="Life of memories by the kind of their writer. Not together with `defaultTtl`.",
    )
    memory_revision_default_ttl: Ttl | None = Field(
        None,
        validation_alias=_aliases(
            "memoryRevisionDefaultTtl", "memory_revision_default_ttl", "revisionTtl", "revision_ttl"
        ),
        description="Life of revisions; above zero, at most a thousand years. Absent: by the"
        " service's setting.",
    )

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if self.default_ttl is not None and self.granular_ttl_config is not None:
            raise ValueError("must have at most one of defaultTtl and granularTtlConfig")
        return self


class MemoryType(StrEnum):
    """The form of a memory."""

    MEMORY_TYPE_UNSPECIFIED = "MEMORY_TYPE_UNSPECIFIED"
    NATURAL_LANGUAGE_COLLECTION = "NATURAL_LANGUAGE_COLLECTION"
    STRUCTURED_PROFILE = "STRUCTURED_PROFILE"


MemoryTypeField = Annotated[MemoryType, one_of(MemoryType)]


class SchemaConfig(WireModel):
    """The schema of a profile: an object with the profile's fields as properties.

    References may point to parts of the schema itself; nothing is fetched.
    """

    id: str = Field(
        pattern=r"^[a-z][a-z0-9-]*$",
        min_length=1,
        max_length=MAX_ID_CHARS,
        description="Id of the schema: a lowercase letter first, then letters, digits and hyphens.",
    )
    memory_schema: BoundedObject | None = Field(
        None,
        alias="schema",
        description="The schema in the API's dialect, with type names in capitals; at most"
        f" {MAX_OBJECT_BYTES} bytes as JSON.",
    )
    json_schema: BoundedObject | None = Field(
        None,
        description="The schema as JSON Schema; it wins over `schema`. At most"
        f" {MAX_OBJECT_BYTES} bytes as JSON.",
    )
    memory_type: MemoryTypeField | None = Field(
        None, description="Type of the memories; absent: `STRUCTURED_PROFILE`."
    )

    @model_validator(mode="after")
    def _is_no_array(self) -> Self:
        for schema in (self.memory_schema, self.json_schema):
            if schema is not None and str(schema.get("type", "")).upper() == "ARRAY":
                raise ValueError("the type of a schema must not be ARRAY")
        return self

    @model_validator(mode="after")
    def _is_sound(self, info: ValidationInfo) -> Self:
        if info.context is not None and STORED.items() <= info.context.items():
            return self
        for schema in (self.memory_schema, self.json_schema):
            if schema is not None and read_schema(schema).get("type", "object") != "object":
                raise ValueError("the type of a schema must be OBJECT")
        return self

    def effective_schema(self) -> dict[str, Any]:
        """Return the schema in force; `jsonSchema` wins where both are given."""
        return self.json_schema or self.memory_schema or {}


class StructuredMemoryConfig(WireModel):
    """The profiles of the scopes that have all of `scopeKeys`."""

    scope_keys: ScopeKeys | None = Field(
        None,
        description="Keys that a scope must have; absent or empty: none. If several entries"
        " match, only entries with the most keys count.",
    )
    schema_configs: list[SchemaConfig] | None = Field(
        None,
        max_length=MAX_ENTRIES,
        description="The schemas, one for each profile; of two with the same id the first counts.",
    )


class MemoryBankConfig(WireModel):
    """The configuration of a bank; every part is optional.

    No part has defaults: the response contains only the fields that were sent.
    """

    generation_config: GenerationConfig | None = Field(
        None, description="The model, and when it runs."
    )
    similarity_search_config: SimilaritySearchConfig | None = Field(
        None, description="Settings of searches."
    )
    ttl_config: TtlConfig | None = Field(
        None,
        description="Life of memories and of revisions; absent: memories stay, revisions by the"
        " service's setting.",
    )
    disable_memory_revisions: bool | None = Field(
        None, description="True: no change makes a revision."
    )
    customization_configs: list[CustomizationConfig] | None = Field(
        None,
        max_length=MAX_ENTRIES,
        description="Topics and examples by scope; at most one entry without `scopeKeys`.",
    )
    structured_memory_configs: list[StructuredMemoryConfig] | None = Field(
        None, max_length=MAX_ENTRIES, description="Schemas of profiles by scope."
    )

    memory_policy: MemoryPolicy | None = Field(
        None, description="The context policy of sessions without a policy of their own."
    )

    time_zone: TimeZone | None = Field(
        None,
        description="Time zone of relative dates, if neither the request nor its events name one;"
        " absent: UTC.",
        examples=["Europe/Berlin"],
    )

    privacy_config: PrivacyConfig | None = Field(
        None,
        description="Treatment of secrets and personal data; kinds that it does not name follow"
        " the service's defaults. An update without it keeps it.",
    )

    @model_validator(mode="after")
    def _has_one_default(self) -> Self:
        configs = self.customization_configs or []
        if sum(1 for config in configs if not config.scope_keys) > 1:
            raise ValueError("customizationConfigs may have only one without scopeKeys")
        return self


def customization_for(config: MemoryBankConfig, scope: Mapping[str, str]) -> CustomizationConfig:
    """Return the configuration that applies to a scope.

    A configuration fits if the scope has all of its keys. The fitting one with the most keys wins,
    then the one without keys, then an empty one.
    """
    fitting = [
        entry
        for entry in config.customization_configs or []
        if set(entry.scope_keys or []) <= scope.keys()
    ]
    return max(
        fitting, key=lambda entry: len(entry.scope_keys or []), default=CustomizationConfig()
    )


def search_language(config: MemoryBankConfig) -> str | None:
    """Return the text-search configuration of an engine's memories; None: chosen for each text."""
    search = config.similarity_search_config
    return search.language.configuration if search and search.language else None
