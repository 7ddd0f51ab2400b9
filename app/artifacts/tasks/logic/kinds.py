"""The words of task memory: kinds of outputs, what becomes of them, who can read them (pure)."""

from enum import StrEnum


class Kind(StrEnum):
    """What a tool's output is. Of these, text, JSON and blobs can be stored."""

    TEXT = "text"
    JSON = "json"
    BLOB = "blob"
    LIST = "list"
    INFO = "info"
    """What a tool tells the agent itself, such as "3 files written"; never stored."""
    ERROR = "error"
    """What went wrong; never stored."""


STORABLE = frozenset({Kind.TEXT, Kind.JSON, Kind.BLOB})
"""The kinds that a service may be set to store."""
PASSING = frozenset({Kind.INFO, Kind.ERROR})
"""The kinds that are always for the prompt."""
UNKNOWN_KIND = "unknown"
_STRANGE = frozenset(
    {"action", "audio", "boolean", "document", "generic", "image"}
    | {"media", "model", "number", "url", "video"}
)
"""Kinds that agent frameworks have and this service does not; an error may repeat their names."""


def shown_kind(name: str) -> str:
    """Return the name of a kind if errors may repeat it: any other may be what a tool returned."""
    return name if name in _STRANGE or name in set(Kind) else UNKNOWN_KIND


class OffPrompt(StrEnum):
    """Whether an output is kept off the prompt; each is stricter than the one before it."""

    NEVER = "false"
    AUTO = "auto"
    """If it is long, sensitive, or no text."""
    ALWAYS = "true"


class Disposition(StrEnum):
    """What became of an output."""

    INLINE = "inline"
    STORED = "stored"
    PASSTHROUGH = "passthrough"
    EMPTY = "empty"


class Reader(StrEnum):
    """What can be done with a namespace without its content coming into the prompt."""

    QUERY = "query"
    SUMMARIZE = "summarize"
    EXPORT = "export"


class Warned(StrEnum):
    """What the developer of an agent should know of an output that was stored."""

    NO_READER = "no_reader"
    """Neither this caller nor any configured reader can make anything of it."""


class State(StrEnum):
    """How far an artifact is."""

    UPLOADING = "uploading"
    INDEXING = "indexing"
    READY = "ready"
