"""In what form a context is answered, and what its parts come from (pure)."""

from enum import StrEnum


class Format(StrEnum):
    """In what form a context is answered."""

    MESSAGES = "messages"
    OPENAI = "openai"
    GEMINI = "gemini"
    TEXT = "text"


class Source(StrEnum):
    """What a message comes from."""

    SYSTEM = "system"
    SUMMARY = "summary"
    EVENT = "event"
    MEMORY = "memory"
    PENDING = "pending"
