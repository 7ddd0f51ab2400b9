"""Resource names: one class per collection, with formatting and, where needed, a parser.

A malformed name is INVALID_ARGUMENT. A well-formed name with an impossible id is NOT_FOUND, as
after a look-up in the database. An id that a caller chose is INVALID_ARGUMENT if it is impossible.
"""

import re
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from app.kernel.errors import InvalidArgument, NotFound

MAX_INT64 = 2**63 - 1
MAX_ID_CHARS = 63
WILDCARD = "-"
"""Any project or location, or any memory in `memories/-/revisions` (AIP-159)."""
# One spelling per id: no sign, no leading zero, ASCII digits only.
INT64_ID = r"[1-9][0-9]{0,18}"
CHOSEN_ID = r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
# Ids chosen by callers, and ids made by the server, which start with a digit.
STORED_ID = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# Wider than the API's definition: agent frameworks choose ids with capitals and underscores.
SESSION_ID = r"[A-Za-z0-9_-]{1,63}"
_INT64_ID, _CHOSEN_ID, _STORED_ID = map(re.compile, (INT64_ID, CHOSEN_ID, STORED_ID))
_SESSION_ID = re.compile(SESSION_ID)
# The parent is opaque, but must be storable and printable.
_PARENT_ID = re.compile(r"[^/\x00-\x1f\x7f\ud800-\udfff]{1,256}")
_SHOWN_CHARS = 80
_LOCATION_FORM = "projects/{project}/locations/{location}"
ENGINE_FORM = _LOCATION_FORM + "/reasoningEngines/{engine}"
_MEMORY_FORM = ENGINE_FORM + "/memories/{memory}"
_SESSION_FORM = ENGINE_FORM + "/sessions/{session}"
_ENGINE_COLLECTIONS = frozenset({"reasoningEngines", "memoryBanks"})
_ENGINE_NAME = re.compile(
    rf"(?:projects/([^/]+)/locations/([^/]+)/)?(?:{'|'.join(_ENGINE_COLLECTIONS)})/([^/]+)"
)
# Tools and frameworks choose these ids.
TASK_ID = r"[A-Za-z0-9._-]{1,128}"
MAX_TASK_ID_CHARS = 128
TASK_ID_FORM = (
    f"must be 1 to {MAX_TASK_ID_CHARS} characters of A-Z, a-z, 0-9, dot, underscore and hyphen, and"
    ' not "." or ".."'
)
_TASK_ID = re.compile(TASK_ID)
_TASK_MEMORY_FORM = ENGINE_FORM + "/taskMemories/{memory}"
_NAMESPACE_FORM = _TASK_MEMORY_FORM + "/namespaces/{namespace}"
_ARTIFACT_FORM = _NAMESPACE_FORM + "/artifacts/{artifact}"


def parse_engine_id(text: str) -> int:
    """Read the id of an engine."""
    return _parse_int64_id("reasoningEngines", text)


def is_engine_id(text: str) -> bool:
    """Return True if an engine can have this id."""
    return _INT64_ID.fullmatch(text) is not None and int(text) <= MAX_INT64


def is_project_id(text: str) -> bool:
    """Return True if a project or a location can have this id."""
    return _PARENT_ID.fullmatch(text) is not None


def parse_revision_id(text: str) -> int:
    """Read the id of a revision."""
    return _parse_int64_id("revisions", text)


def parse_text_id(collection: str, text: str) -> str:
    """Read an id that is text, chosen by a caller or made by the server."""
    if _STORED_ID.fullmatch(text) is None:
        raise NotFound.of(f"{collection}/{shown_id(text)}")
    return text


def parse_session_id(text: str) -> str:
    """Read the id of a session."""
    if _SESSION_ID.fullmatch(text) is None:
        raise NotFound.of(f"sessions/{shown_id(text)}")
    return text


def check_session_id(field: str, text: str) -> str:
    """Return the id that a caller chose for a new session."""
    if _SESSION_ID.fullmatch(text) is None:
        raise InvalidArgument.of_field(
            field, f"must be 1 to {MAX_ID_CHARS} characters of A-Z, a-z, 0-9, hyphen, underscore."
        )
    return text


def check_chosen_id(field: str, text: str) -> str:
    """Return the id that a caller chose for a new resource."""
    if _CHOSEN_ID.fullmatch(text) is None:
        raise InvalidArgument.of_field(
            field,
            f"must be 1 to {MAX_ID_CHARS} characters of a-z, 0-9 and hyphen, start with a letter "
            "and end with a letter or digit.",
        )
    return text


def _parse_int64_id(collection: str, text: str) -> int:
    if _INT64_ID.fullmatch(text) is None or int(text) > MAX_INT64:
        raise NotFound.of(f"{collection}/{shown_id(text)}")
    return int(text)


def shown_id(text: str) -> str:
    """Return an untrusted id in a form that is safe in a message."""
    return text[:_SHOWN_CHARS].encode("ascii", "backslashreplace").decode("ascii")


def split_name(text: str, collection: str, form: str, field: str) -> tuple[str, str]:
    """Split a name into the part before its last collection, and the id in that collection."""
    head, _, identity = text.rpartition("/")
    head, _, last = head.rpartition("/")
    if last != collection or not identity:
        raise _malformed(form, field)
    return head, identity


def _malformed(form: str, field: str) -> InvalidArgument:
    return InvalidArgument.of_field(field, f"must have the form {form}.")


@dataclass(frozen=True, slots=True)
class LocationName:
    """A project and a location. Both are opaque text."""

    project: str
    location: str

    @classmethod
    def parse(cls, text: str, field: str = "parent", form: str = _LOCATION_FORM) -> Self:
        """Parse a full name; `form` is the form of the longer name that begins with it."""
        parts = text.split("/")
        ids = parts[1::2]
        if len(parts) != 4 or parts[0::2] != ["projects", "locations"]:
            raise _malformed(form, field)
        if not all(_PARENT_ID.fullmatch(part) for part in ids):
            raise _malformed(form, field)
        return cls(*ids)

    @override
    def __str__(self) -> str:
        return f"projects/{self.project}/locations/{self.location}"


@dataclass(frozen=True, slots=True)
class EngineName:
    """An engine; its id is unique in the whole service."""

    project: str
    location: str
    engine: int

    @classmethod
    def parse(cls, text: str, field: str = "name", form: str = ENGINE_FORM) -> Self:
        """Parse a full name; `form` is the form of the longer name that begins with it."""
        head, _, identity = text.rpartition("/")
        head, _, collection = head.rpartition("/")
        if collection not in _ENGINE_COLLECTIONS or not identity:
            raise _malformed(form, field)
        parent = LocationName.parse(head, field, form)
        return cls(parent.project, parent.location, parse_engine_id(identity))

    @property
    def parent(self) -> LocationName:
        """The location of the engine; `-` in it stands for any project or location."""
        return LocationName(self.project, self.location)

    def beside(self, other: "EngineName") -> "EngineName":
        """Return the name with each `-` replaced by the project or location of `other`."""
        project = other.project if self.project == WILDCARD else self.project
        location = other.location if self.location == WILDCARD else self.location
        return EngineName(project, location, self.engine)

    def is_named(self, text: str) -> bool:
        """Return True if `text` names this engine, with or without project and location.

        On either side, `-` stands for any project or location.
        """
        match = _ENGINE_NAME.fullmatch(text)
        if match is None:
            return False
        *place, identity = match.groups()
        return identity == str(self.engine) and all(
            part is None or part == own or WILDCARD in {part, own}
            for part, own in zip(place, (self.project, self.location), strict=True)
        )

    @override
    def __str__(self) -> str:
        return f"{self.parent}/reasoningEngines/{self.engine}"


@dataclass(frozen=True, slots=True)
class MemoryName:
    """A memory of an engine."""

    engine: EngineName
    memory: str

    @classmethod
    def parse(cls, text: str, field: str = "name") -> Self:
        """Read a full name."""
        head, identity = split_name(text, "memories", _MEMORY_FORM, field)
        return cls(EngineName.parse(head, field, _MEMORY_FORM), parse_text_id("memories", identity))

    @override
    def __str__(self) -> str:
        return f"{self.engine}/memories/{self.memory}"


@dataclass(frozen=True, slots=True)
class RevisionName:
    """A revision of a memory."""

    memory: MemoryName
    revision: int

    @override
    def __str__(self) -> str:
        return f"{self.memory}/revisions/{self.revision}"


@dataclass(frozen=True, slots=True)
class SessionName:
    """A session of an engine."""

    engine: EngineName
    session: str

    @classmethod
    def parse(cls, text: str, field: str = "name") -> Self:
        """Read a full name."""
        head, identity = split_name(text, "sessions", _SESSION_FORM, field)
        engine = EngineName.parse(head, field, _SESSION_FORM)
        return cls(engine, parse_session_id(identity))

    @override
    def __str__(self) -> str:
        return f"{self.engine}/sessions/{self.session}"


@dataclass(frozen=True, slots=True)
class EventName:
    """An event of a session."""

    session: SessionName
    event: str

    @override
    def __str__(self) -> str:
        return f"{self.session}/events/{self.event}"


@dataclass(frozen=True, slots=True)
class SummaryName:
    """A summary of a session."""

    session: SessionName
    summary: str

    @override
    def __str__(self) -> str:
        return f"{self.session}/summaries/{self.summary}"


@dataclass(frozen=True, slots=True)
class OperationName:
    """A long-running operation, named under its engine."""

    engine: EngineName
    operation: str

    @override
    def __str__(self) -> str:
        return f"{self.engine}/operations/{self.operation}"


def is_task_id(text: str) -> bool:
    """Return True if a task memory or a resource in it can have this id; `..` would be a path."""
    return _TASK_ID.fullmatch(text) is not None and text not in {".", ".."}


def parse_task_id(collection: str, text: str) -> str:
    """Parse the id of a task memory or of a resource in it."""
    if not is_task_id(text):
        raise NotFound.of(f"{collection}/{shown_id(text)}")
    return text


def check_task_id(field: str, text: str) -> str:
    """Check an id that a caller chose for a task memory or a resource in it; return it."""
    if not is_task_id(text):
        raise InvalidArgument.of_field(field, f"{TASK_ID_FORM}.")
    return text


@dataclass(frozen=True, slots=True)
class TaskMemoryName:
    """A task memory of an engine: tool outputs kept off prompts."""

    engine: EngineName
    memory: str

    @classmethod
    def parse(cls, text: str, field: str = "name", form: str = _TASK_MEMORY_FORM) -> Self:
        """Read a full name; `form` is the form of the longer name that begins with it."""
        head, identity = split_name(text, "taskMemories", form, field)
        engine = EngineName.parse(head, field, form)
        return cls(engine, parse_task_id("taskMemories", identity))

    @override
    def __str__(self) -> str:
        return f"{self.engine}/taskMemories/{self.memory}"


@dataclass(frozen=True, slots=True)
class ToolPolicyName:
    """The policy of a task memory for the outputs of a tool."""

    memory: TaskMemoryName
    tool: str

    @override
    def __str__(self) -> str:
        return f"{self.memory}/toolPolicies/{self.tool}"


@dataclass(frozen=True, slots=True)
class NamespaceName:
    """A group of artifacts of a task memory, such as one tool output."""

    memory: TaskMemoryName
    namespace: str

    @classmethod
    def parse(cls, text: str, field: str = "name", form: str = _NAMESPACE_FORM) -> Self:
        """Read a full name; `form` is the form of the longer name that begins with it."""
        head, identity = split_name(text, "namespaces", form, field)
        memory = TaskMemoryName.parse(head, field, form)
        return cls(memory, parse_task_id("namespaces", identity))

    @override
    def __str__(self) -> str:
        return f"{self.memory}/namespaces/{self.namespace}"


@dataclass(frozen=True, slots=True)
class ArtifactName:
    """A text or file of a namespace."""

    namespace: NamespaceName
    artifact: str

    @classmethod
    def parse(cls, text: str, field: str = "name") -> Self:
        """Read a full name."""
        head, identity = split_name(text, "artifacts", _ARTIFACT_FORM, field)
        return cls(
            NamespaceName.parse(head, field, _ARTIFACT_FORM), parse_task_id("artifacts", identity)
        )

    @override
    def __str__(self) -> str:
        return f"{self.namespace}/artifacts/{self.artifact}"
