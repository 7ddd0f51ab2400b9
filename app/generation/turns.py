"""From the request's messages and the bank's configuration to the plain values of the rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.engines.config import CustomizationConfig, MemoryTopic, MemoryTopicId
from app.generation.schemas import ContentEvent, GenerateMemoriesRequest
from app.rules.facts import MANAGED_TOPICS, Topic, Turn


def turn_of(event: ContentEvent) -> Turn:
    """Return the turn: its text parts by line, without thoughts, calls and files."""
    texts = [part.text for part in event.content.parts if part.text and not part.thought]
    return Turn(event.content.role or "user", "\n".join(texts), event.event_time)


def skipped_files(events: Sequence[ContentEvent]) -> int:
    """Count the files of a conversation, which rules cannot read."""
    parts = [part for event in events for part in event.content.parts]
    return sum(part.inline_data is not None or part.file_data is not None for part in parts)


def configured_topics(config: CustomizationConfig) -> tuple[Topic, ...]:
    """Return the topics that a bank wants; all managed ones where it does not say."""
    if not config.memory_topics:
        return MANAGED_TOPICS
    return tuple(_configured(topic) for topic in config.memory_topics)


def _configured(topic: MemoryTopic) -> Topic:
    if topic.custom_memory_topic is not None:
        custom = topic.custom_memory_topic
        return Topic(custom.label, managed=False, description=custom.description or "")
    assert topic.managed_memory_topic is not None
    return Topic(topic.managed_memory_topic.managed_topic_enum)


def topics_of(ids: Sequence[MemoryTopicId] | None) -> tuple[Topic, ...]:
    """Return topics that a request names."""
    return tuple(
        Topic(one.managed_memory_topic)
        if one.managed_memory_topic is not None
        else Topic(one.custom_memory_topic_label or "", managed=False)
        for one in ids or []
    )


def stored_topics(stored: Sequence[Mapping[str, Any]]) -> tuple[Topic, ...]:
    """Return the topics of a stored memory."""
    return topics_of([MemoryTopicId.model_validate(one) for one in stored])


def topic_columns(topics: Sequence[Topic]) -> list[dict[str, Any]]:
    """Return topics as they are stored."""
    return [
        {"managedMemoryTopic" if topic.managed else "customMemoryTopicLabel": topic.label}
        for topic in topics
    ]


def metadata_column(request: GenerateMemoriesRequest) -> dict[str, Any]:
    """Return the request's metadata as they are stored."""
    return {key: value.wire() for key, value in (request.metadata or {}).items()}
