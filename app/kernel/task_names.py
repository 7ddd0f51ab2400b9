"""Resource names of task memory, with the same rules as `app.kernel.names`."""

import re
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from app.kernel.errors import InvalidArgument, NotFound
from app.kernel.names import ENGINE_FORM, EngineName, shown_id, split_name

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


def is_task_id(text: str) -> bool:
    """Return True if a task memory or a resource in it can have this id; `..` would be a path."""
    return _TASK_ID.fullmatch(text) is not None and text not in {".", ".."}


def parse_task_id(collection: str, text: str) -> str:
    """Parse the id of a task memory or of a resource in it.

    Raises:
        NotFound: no resource of the collection can have this id.
    """
    if not is_task_id(text):
        raise NotFound.of(f"{collection}/{shown_id(text)}")
    return text


def check_task_id(field: str, text: str) -> str:
    """Check an id that a caller chose for a task memory or a resource in it; return it.

    Raises:
        InvalidArgument: the id is not acceptable; the error names the field.
    """
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
        """Read a full name; `form` is the form of the longer name that begins with it.

        Raises:
            InvalidArgument: the text is not such a name.
            NotFound: no task memory can have this id.
        """
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
        """Read a full name; `form` is the form of the longer name that begins with it.

        Raises:
            InvalidArgument: the text is not such a name.
            NotFound: no namespace can have this id.
        """
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
        """Read a full name.

        Raises:
            InvalidArgument: the text is not such a name.
            NotFound: no artifact can have this id.
        """
        head, identity = split_name(text, "artifacts", _ARTIFACT_FORM, field)
        return cls(
            NamespaceName.parse(head, field, _ARTIFACT_FORM), parse_task_id("artifacts", identity)
        )

    @override
    def __str__(self) -> str:
        return f"{self.namespace}/artifacts/{self.artifact}"
