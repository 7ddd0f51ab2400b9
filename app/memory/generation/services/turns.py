"""Conversion of the request's messages and the bank's configuration to plain values."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from app.adapters.llm.ports import Attachment
from app.kernel.text import clean
from app.kernel.wire.content import Part
from app.language.facts import MANAGED_TOPICS, MAX_FACT, Topic, Turn
from app.language.search_languages import is_function_word
from app.language.sentences import own_words
from app.memory.generation.logic.chunks import TranscriptLine
from app.memory.generation.schemas import ContentEvent, GenerateMemoriesRequest
from app.platform.engines.logic.config import CustomizationConfig
from app.platform.engines.logic.topics import MemoryTopic, MemoryTopicId

USER_ROLES = frozenset({"", "user"})
"""Roles of a user's turn; a turn without a role is the user's."""
_UNHEARD_ROLES = frozenset({"system", "developer", "tool", "function"})
_PAUSE = timedelta(seconds=10)
"""Time after which a user's next message counts as another statement."""
_FIRST = frozenset({"i", "i'm", "i've", "ich", "je", "yo"})
_CLOSING = "\"'\u201d\u2019\u201c\u00bb)]"
_END_MARKS = frozenset(".!?\u2026\u3002\uff01\uff1f\u061f\u0964\u06d4:")
_FIRST_DIGITS = re.compile(r"(?<!\d)\d{1,3}[.,:]\Z")
_LAST_DIGITS = re.compile(r"\d\d(?!\d)")
_BLANKS = re.compile(r"[^\S\n]{2,}|\n{2,}")


def turn_of(event: ContentEvent) -> Turn:
    """Return the turn: its joined text parts, without thoughts, calls and files."""
    text, was_cut = "", False
    for part in event.content.parts or []:
        if part.text and not part.thought:
            text += f"{_between(text, part.text, was_cut=was_cut)}{part.text}"
            was_cut = False
        elif not part.text:
            was_cut = True
    return Turn(event.content.role or "user", text, event.event_time)


def _between(before: str, after: str, *, was_cut: bool) -> str:
    # Usually the parts have their own blanks. After the end of a sentence or a file, a line
    # begins; between a small letter and a capital, a word. A mark between digits is part of a
    # price or a time of the day.
    if not before or (not was_cut and _FIRST_DIGITS.search(before) and _LAST_DIGITS.match(after)):
        return ""
    if was_cut or before.rstrip()[-1:] in _END_MARKS:
        return "\n"
    return " " if before[-1].islower() and after[0].isupper() else ""


def is_users(event: ContentEvent) -> bool:
    """Return True for the turn of a user; a turn without a role is one."""
    return _is_of_user(event.content.role or "user")


def _is_of_user(role: str) -> bool:
    return role.strip().lower() in USER_ROLES


@dataclass(frozen=True)
class TurnToRead:
    """A turn to read, by its position; it is only context if it was read before."""

    at: int
    turn: Turn
    is_context: bool = False


def utterances(turns: Sequence[TurnToRead]) -> list[TurnToRead]:
    """Join consecutive turns of a user that form one statement, at the position of the last."""
    joined: list[TurnToRead] = []
    for after in turns:
        before = joined[-1] if joined else None
        if before is None or not _is_next(before, after) or not _continues(before.turn, after.turn):
            joined.append(after)
            continue
        text = f"{before.turn.text.rstrip()} {after.turn.text.lstrip()}"
        joined[-1] = replace(after, turn=replace(after.turn, text=text))
    return joined


def _is_next(before: TurnToRead, after: TurnToRead) -> bool:
    return after.at == before.at + 1 and (before.is_context or not after.is_context)


def _continues(before: Turn, after: Turn) -> bool:
    if not (_is_of_user(before.role) and _is_of_user(after.role)):
        return False
    said = before.text.strip().rstrip(_CLOSING)
    # A text longer than a fact cannot be one, and every joined turn would scan it again.
    if not 0 < len(said) <= MAX_FACT or said[-1] in _END_MARKS or not _goes_on(said, after.text):
        return False
    if any(own_words(turn.text) != turn.text for turn in (before, after)):
        # Pasted text has no end marks, and the user's own words would be joined to it.
        return False
    if before.time is None or after.time is None:
        return True
    return after.time - before.time < _PAUSE


def _goes_on(before: str, after: str) -> bool:
    """Return True if a text continues a sentence: it begins small, or the sentence is open."""
    first = next(iter(after.split(maxsplit=1)), "")
    if first[:1].islower() and first not in _FIRST:
        return True
    return is_function_word(before.rsplit(maxsplit=1)[-1].lower())


def lines_of(turns: Sequence[TurnToRead]) -> list[TranscriptLine]:
    """Return the words of each turn, without system texts and text inserted by a service."""
    lines = []
    for spoken in turns:
        turn = spoken.turn
        role = turn.role.strip().lower()
        is_source = role in USER_ROLES
        text = own_words(clean(turn.text)) if is_source else clean(turn.text)
        text = _BLANKS.sub(" ", text).strip()
        if text and role not in _UNHEARD_ROLES:
            lines.append(TranscriptLine(spoken.at, is_source, text, turn.time, spoken.is_context))
    return lines


def files_of(event: ContentEvent) -> list[Attachment]:
    """Return the files of a user's turn."""
    if not is_users(event):
        return []
    return [file for part in event.content.parts or [] if (file := _file(part)) is not None]


def _file(part: Part) -> Attachment | None:
    if part.inline_data is not None:
        blob = part.inline_data
        return Attachment(blob.mime_type or "", data=blob.data)
    if part.file_data is not None:
        return Attachment(part.file_data.mime_type or "", uri=part.file_data.file_uri)
    return None


def configured_topics(config: CustomizationConfig) -> tuple[Topic, ...]:
    """Return the topics that a bank wants, or all managed ones if it names none."""
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
    """Return the topics that a request names."""
    return tuple(
        Topic(topic.managed_memory_topic)
        if topic.managed_memory_topic is not None
        else Topic(topic.custom_memory_topic_label or "", managed=False)
        for topic in ids or []
    )


def stored_topics(stored: Sequence[Mapping[str, Any]]) -> tuple[Topic, ...]:
    """Return the topics of a stored memory."""
    return tuple(
        Topic(topic["managedMemoryTopic"])
        if "managedMemoryTopic" in topic
        else Topic(topic["customMemoryTopicLabel"], managed=False)
        for topic in stored
    )


def topic_columns(topics: Sequence[Topic]) -> list[dict[str, Any]]:
    """Return topics in their stored form."""
    return [
        {"managedMemoryTopic" if topic.managed else "customMemoryTopicLabel": topic.label}
        for topic in topics
    ]


def metadata_column(request: GenerateMemoriesRequest) -> dict[str, Any]:
    """Return the request's metadata in stored form."""
    return {key: value.wire() for key, value in (request.metadata or {}).items()}
