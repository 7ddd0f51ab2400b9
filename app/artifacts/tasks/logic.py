"""Vocabulary of task memory: kinds of outputs, dispositions, readers, states, fields (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Protocol

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema

from app.kernel.errors import PermissionDenied, Reason
from app.kernel.media_types import extension_of
from app.kernel.names import TASK_ID, TASK_ID_FORM, check_task_id, is_task_id
from app.kernel.text import places_of
from app.kernel.wire.memory_policy import BUILTIN

EXTRACTIVE = f"{BUILTIN}:extractive"
"""Name, in responses, of the reader that needs no model; requests may also use `builtin`."""
BUILTIN_NAMES = (BUILTIN, EXTRACTIVE)


class Kind(StrEnum):
    """Kind of a tool's output; only text, JSON and blobs can be stored."""

    TEXT = "text"
    JSON = "json"
    BLOB = "blob"
    LIST = "list"
    INFO = "info"
    """A message from the tool to the agent, such as "3 files written"; never stored."""
    ERROR = "error"
    """An error of the tool; never stored."""


STORABLE = frozenset({Kind.TEXT, Kind.JSON, Kind.BLOB})
"""Kinds that the service can be configured to store."""
PASSING = frozenset({Kind.INFO, Kind.ERROR})
"""Kinds that always go to the prompt."""
UNKNOWN_KIND = "unknown"
_STRANGE = frozenset(
    {"action", "audio", "boolean", "document", "generic", "image"}
    | {"media", "model", "number", "url", "video"}
)
"""Unsupported kinds of other agent frameworks; errors may repeat their names."""


def shown_kind(name: str) -> str:
    """Return a kind's name if errors may repeat it, or `unknown`: a name could contain content."""
    return name if name in _STRANGE or name in set(Kind) else UNKNOWN_KIND


class OffPrompt(StrEnum):
    """Rule for keeping an output off the prompt; each is stricter than the one before."""

    NEVER = "false"
    AUTO = "auto"
    """Kept off the prompt if it is long, sensitive or not text."""
    ALWAYS = "true"


class Disposition(StrEnum):
    """Outcome of the handling of an output."""

    INLINE = "inline"
    STORED = "stored"
    PASSTHROUGH = "passthrough"
    EMPTY = "empty"


class Reader(StrEnum):
    """Ways to use a namespace without its content reaching the prompt."""

    QUERY = "query"
    SUMMARIZE = "summarize"
    EXTRACT = "extract"
    EXPORT = "export"


class Warned(StrEnum):
    """Warning to an agent's developer about a stored output."""

    NO_READER = "no_reader"
    """Neither this caller nor any configured reader can use the content."""


class ArtifactState(StrEnum):
    """Stage of an artifact."""

    UPLOADING = "uploading"
    INDEXING = "indexing"
    READY = "ready"


def narrowed(known: Sequence[str] | None, said: Sequence[str] | None) -> Sequence[str] | None:
    """Return the names that two lists allow; None allows every name."""
    if known is None or said is None:
        return known if said is None else said
    return [name for name in said if name in known]


def check_reader(allowed: Sequence[str] | None, reader: Reader) -> None:
    """Raise PermissionDenied unless a namespace with these `readers` may be used by a reader."""
    if allowed is None or reader in allowed:
        return
    raise PermissionDenied(
        f"{reader}: the readers of this namespace are {', '.join(allowed) or 'none'}.",
        Reason.READER_NOT_ALLOWED,
        metadata={"readers": ",".join(allowed)},
    )


class Located(Protocol):
    """A configured reader: `app.settings.surface_settings.ReaderModel`."""

    @property
    def locality(self) -> str:
        """`local` or `remote`."""
        ...


IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Types, recognised from the bytes, of the images that all providers take."""
MAX_IMAGE_BYTES = 3_900_000
"""Longest image for readers: Anthropic takes 5 MiB in base64, of an image."""


@dataclass(frozen=True)
class Allowed:
    """A namespace's rules about readers; `models` None: every configured model, and `builtin`."""

    local_only: bool
    models: Sequence[str] | None

    def takes(self, name: str, *, is_local: bool) -> bool:
        """Return True if a reader may read the namespace."""
        names = BUILTIN_NAMES if name == BUILTIN else (name,)
        is_listed = self.models is None or any(alias in self.models for alias in names)
        return is_listed and (is_local or not self.local_only)

    def takes_any(self, readers: Mapping[str, Located]) -> bool:
        """Return True if any configured reader, or the built-in one, may read the namespace."""
        return self.takes(BUILTIN, is_local=True) or self.takes_model(readers)

    def takes_model(self, readers: Mapping[str, Located]) -> bool:
        """Return True if any configured reader may read the namespace."""
        named = ((name, reader.locality == "local") for name, reader in readers.items())
        return any(self.takes(name, is_local=near) for name, near in named)


MAX_TEMPLATE_CHARS = 8_000
MAX_DIRECTORY_CHARS = 512
MAX_PATH_CHARS = 1_024
TEXT_PLACE, PREVIOUS_PLACE = "text", "previous_summary"
_PLACES = frozenset({TEXT_PLACE, PREVIOUS_PLACE, "char_limit"})


def _check_directory(text: str) -> str:
    if not all(map(is_task_id, text.split("/"))):
        raise ValueError(f'must be names with "/" between them; each {TASK_ID_FORM}')
    return text


def chosen_name(name: str, media_type: str) -> str:
    """Return the name of an artifact for a name that a request chose with `as`.

    A name without an extension gets the one of the media type.

    Raises:
        InvalidArgument: with its extension, the name is too long.
    """
    has_extension = name.find(".", 1) > 0
    return check_task_id("as", name if has_extension else f"{name}{extension_of(media_type)}")


def _check_file_name(text: str) -> str:
    if not is_task_id(text) or text.startswith("."):
        raise ValueError(f"{TASK_ID_FORM}, and must not begin with a dot")
    return text


FileName = Annotated[
    str,
    AfterValidator(_check_file_name),
    WithJsonSchema({"type": "string", "pattern": f"^(?!\\.){TASK_ID}$", "examples": ["page.html"]}),
]
"""The name of a file in its folder; it is not hidden, like the files that are being written."""
Directory = Annotated[
    str,
    Field(min_length=1, max_length=MAX_DIRECTORY_CHARS),
    AfterValidator(_check_directory),
]
"""A relative folder path that cannot leave its parent folder."""


def _check_source_path(text: str) -> str:
    parts = text.split("/")
    if {"", ".", ".."}.intersection(parts) or not text.isprintable():
        raise ValueError(
            'must be names of folders and a file, with "/" between them, below the source; "." and'
            ' ".." are no names'
        )
    return text


SourcePath = Annotated[
    str,
    Field(min_length=1, max_length=MAX_PATH_CHARS, examples=["reports/2026.md"]),
    AfterValidator(_check_source_path),
]
"""A relative path that cannot leave its source; links in it are refused where it is opened."""


def _read_off_prompt(value: object) -> object:
    known = {True: OffPrompt.ALWAYS, False: OffPrompt.NEVER, "auto": OffPrompt.AUTO}
    if isinstance(value, OffPrompt):
        return value
    if not isinstance(value, bool | str) or value not in known:
        raise ValueError('must be true, false or "auto"')
    return known[value]


def _write_off_prompt(value: OffPrompt) -> bool | str:
    return "auto" if value is OffPrompt.AUTO else value is OffPrompt.ALWAYS


OffPromptField = Annotated[
    OffPrompt,
    BeforeValidator(_read_off_prompt),
    PlainSerializer(_write_off_prompt, when_used="json-unless-none"),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"const": "auto"}], "examples": ["auto"]}),
]


ModelName = Annotated[str, Field(min_length=1, max_length=512, examples=["builtin"])]
UserId = Annotated[str, Field(min_length=1, max_length=512, examples=["42"])]


def _check_template(text: str) -> str:
    places = places_of(text)
    if places is None or places.count(TEXT_PLACE) != 1 or not _PLACES.issuperset(places):
        listed = ", ".join(f"{{{place}}}" for place in sorted(_PLACES - {TEXT_PLACE}))
        raise ValueError(f"must have {{{TEXT_PLACE}}} once, and may have {listed}; no other place")
    return text


Template = Annotated[
    str, Field(min_length=1, max_length=MAX_TEMPLATE_CHARS), AfterValidator(_check_template)
]
