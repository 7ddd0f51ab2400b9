"""Topics of memories, and examples of extraction. Source: wire specification, section 12.2."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from app.kernel.wire.base import EXACTLY_ONE, WireModel
from app.kernel.wire.content import Content
from app.kernel.wire.scalars import one_of

MAX_FACT_CHARS = 10_000
MAX_TOPICS = 50
MAX_ENTRIES = 50
_MAX_DESCRIPTION_CHARS = 4_096
_MAX_EXAMPLE_EVENTS = 100


class ManagedTopic(StrEnum):
    """The topics that the API defines."""

    MANAGED_TOPIC_ENUM_UNSPECIFIED = "MANAGED_TOPIC_ENUM_UNSPECIFIED"
    USER_PERSONAL_INFO = "USER_PERSONAL_INFO"
    USER_PREFERENCES = "USER_PREFERENCES"
    KEY_CONVERSATION_DETAILS = "KEY_CONVERSATION_DETAILS"
    EXPLICIT_INSTRUCTIONS = "EXPLICIT_INSTRUCTIONS"


ManagedTopicField = Annotated[ManagedTopic, one_of(ManagedTopic)]


class MemoryTopicId(WireModel):
    """The name of a topic: one of a custom label and a managed topic."""

    model_config = ConfigDict(json_schema_extra=EXACTLY_ONE)

    custom_memory_topic_label: str | None = Field(
        None, max_length=256, description="Label of a topic of the bank's own."
    )
    managed_memory_topic: ManagedTopicField | None = Field(
        None, description="A topic that the API defines."
    )

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if (self.custom_memory_topic_label is None) == (self.managed_memory_topic is None):
            raise ValueError("must have one of customMemoryTopicLabel and managedMemoryTopic")
        return self


MemoryTopicIds = Annotated[list[MemoryTopicId], Field(max_length=MAX_TOPICS)]


class CustomMemoryTopic(WireModel):
    """A topic of the bank's own."""

    label: str = Field(
        min_length=1, max_length=256, description="Name of the topic; facts refer to it."
    )
    description: str | None = Field(
        None,
        max_length=_MAX_DESCRIPTION_CHARS,
        description="Explanation of the topic for the model.",
    )


class ManagedMemoryTopic(WireModel):
    """A topic that the API defines."""

    managed_topic_enum: ManagedTopicField = Field(description="The topic.")


class MemoryTopic(WireModel):
    """A topic that memories may be about."""

    model_config = ConfigDict(json_schema_extra=EXACTLY_ONE)

    custom_memory_topic: CustomMemoryTopic | None = Field(
        None, description="A topic of the bank's own."
    )
    managed_memory_topic: ManagedMemoryTopic | None = Field(
        None, description="A topic that the API defines."
    )

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if (self.custom_memory_topic is None) == (self.managed_memory_topic is None):
            raise ValueError("must have one of customMemoryTopic and managedMemoryTopic")
        return self


class ExampleEvent(WireModel):
    """A turn of an example."""

    content: Content = Field(description="Content of the turn.")


class ConversationSource(WireModel):
    """The conversation of an example."""

    events: list[ExampleEvent] | None = Field(
        None, max_length=_MAX_EXAMPLE_EVENTS, description="The turns, the oldest first."
    )


class ExampleMemory(WireModel):
    """A memory expected from an example."""

    fact: str = Field(max_length=MAX_FACT_CHARS, description="Statement to extract.")
    topics: MemoryTopicIds | None = Field(None, description="Topics that the fact is about.")


class GenerateMemoriesExample(WireModel):
    """An example of an extraction; an example may also have no memories."""

    conversation_source: ConversationSource | None = Field(None, description="The conversation.")
    generated_memories: list[ExampleMemory] | None = Field(
        None,
        max_length=MAX_ENTRIES,
        description="Memories that should result from it; absent or empty: none.",
    )
