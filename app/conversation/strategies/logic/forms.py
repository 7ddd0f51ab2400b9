"""Output formats of a context and sources of its parts (pure)."""

from enum import StrEnum


class Format(StrEnum):
    """Output format of a context."""

    MESSAGES = "messages"
    OPENAI = "openai"
    GEMINI = "gemini"
    TEXT = "text"


class SourceField(StrEnum):
    """Source of a message."""

    SYSTEM = "system"
    SUMMARY = "summary"
    EVENT = "event"
    MEMORY = "memory"
    PENDING = "pending"
