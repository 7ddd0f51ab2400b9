"""Path parameters as resource names."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Request

from app.kernel.names import (
    INT64_ID,
    SESSION_ID,
    STORED_ID,
    EngineName,
    EventName,
    LocationName,
    MemoryName,
    OperationName,
    SessionName,
    SummaryName,
    parse_engine_id,
    parse_session_id,
    parse_text_id,
)
from app.kernel.task_names import (
    TASK_ID,
    ArtifactName,
    NamespaceName,
    TaskMemoryName,
    ToolPolicyName,
    parse_task_id,
)

# Patterns for the OpenAPI document only; the parsers answer an id of another form with 404.
_PARENT_ID = r"^[^/\u0000-\u001f\u007f]{1,256}$"
_INT64_ID = f"^{INT64_ID}$"
_TEXT_ID = f"^{STORED_ID}$"
_SESSION_ID = f"^{SESSION_ID}$"
_TASK_ID = f"^{TASK_ID}$"


# Read from the path itself: as dependencies of the framework, the parts would take half a
# millisecond. `path_parameters` declares them to the OpenAPI document.


async def _location(request: Request) -> LocationName:
    path = request.path_params
    return LocationName.parse(f"projects/{path['project']}/locations/{path['location']}")


async def _engine(request: Request) -> EngineName:
    location = await _location(request)
    engine_id = parse_engine_id(request.path_params["engine"])
    return EngineName(location.project, location.location, engine_id)


async def _memory(request: Request) -> MemoryName:
    memory = request.path_params["memory"]
    return MemoryName(await _engine(request), parse_text_id("memories", memory))


async def _session(request: Request) -> SessionName:
    session = request.path_params["session"]
    return SessionName(await _engine(request), parse_session_id(session))


async def _event(request: Request) -> EventName:
    event = request.path_params["event"]
    return EventName(await _session(request), parse_text_id("events", event))


async def _summary(request: Request) -> SummaryName:
    summary = request.path_params["summary"]
    return SummaryName(await _session(request), parse_text_id("summaries", summary))


async def _task_memory(request: Request) -> TaskMemoryName:
    memory = request.path_params["task_memory"]
    return TaskMemoryName(await _engine(request), parse_task_id("taskMemories", memory))


async def _tool_policy(request: Request) -> ToolPolicyName:
    tool = request.path_params["tool"]
    return ToolPolicyName(await _task_memory(request), parse_task_id("toolPolicies", tool))


async def _namespace(request: Request) -> NamespaceName:
    namespace = request.path_params["namespace"]
    return NamespaceName(await _task_memory(request), parse_task_id("namespaces", namespace))


async def _artifact(request: Request) -> ArtifactName:
    artifact = request.path_params["artifact"]
    return ArtifactName(await _namespace(request), parse_task_id("artifacts", artifact))


async def _operation(request: Request) -> OperationName:
    operation = request.path_params["operation"]
    return OperationName(await _engine(request), parse_text_id("operations", operation))


async def _revision(request: Request) -> str:
    revision: str = request.path_params["revision"]
    return revision


async def _key(request: Request) -> str:
    return parse_text_id("keys", request.path_params["key"])


LocationPath = Annotated[LocationName, Depends(_location)]
EnginePath = Annotated[EngineName, Depends(_engine)]
MemoryPath = Annotated[MemoryName, Depends(_memory)]
SessionPath = Annotated[SessionName, Depends(_session)]
EventPath = Annotated[EventName, Depends(_event)]
SummaryPath = Annotated[SummaryName, Depends(_summary)]
TaskMemoryPath = Annotated[TaskMemoryName, Depends(_task_memory)]
ToolPolicyPath = Annotated[ToolPolicyName, Depends(_tool_policy)]
NamespacePath = Annotated[NamespaceName, Depends(_namespace)]
ArtifactPath = Annotated[ArtifactName, Depends(_artifact)]
OperationPath = Annotated[OperationName, Depends(_operation)]
RevisionPart = Annotated[str, Depends(_revision)]
KeyPath = Annotated[str, Depends(_key)]
"""The id of a key."""


class _Collection(NamedTuple):
    """A collection of resources, as paths and the OpenAPI document name it.

    Attributes:
        parameter: of the path.
        segment: of a resource name, before the id.
        pattern: of the ids.
        description: of the parameter.
        example: an id.
    """

    parameter: str
    segment: str
    pattern: str
    description: str
    example: str | None = None


_COLLECTIONS = (
    _Collection("project", "projects", _PARENT_ID, "Project; any text.", "default"),
    _Collection("location", "locations", _PARENT_ID, "Location; any text.", "local"),
    _Collection("engine", "reasoningEngines", _INT64_ID, "Id of the engine.", "1"),
    _Collection("memory", "memories", _TEXT_ID, "Id of the memory."),
    _Collection("revision", "revisions", _INT64_ID, "Id of the revision."),
    _Collection("session", "sessions", _SESSION_ID, "Id of the session."),
    _Collection("event", "events", _TEXT_ID, "Id of the event."),
    _Collection("summary", "summaries", _TEXT_ID, "Id of the summary."),
    _Collection("task_memory", "taskMemories", _TASK_ID, "Name of the task memory.", "TaskMemory"),
    _Collection("tool", "toolPolicies", _TASK_ID, "Name of the tool.", "web"),
    _Collection("namespace", "namespaces", _TASK_ID, "Name of the namespace."),
    _Collection("artifact", "artifacts", _TASK_ID, "Name of the artifact."),
    _Collection("operation", "operations", _TEXT_ID, "Id of the operation."),
    _Collection("key", "keys", _TEXT_ID, "Id of the key."),
)
"""In the order of resource names, parents first."""
_UNNAMED = "?"


def path_parameters(path: str) -> list[dict[str, Any]]:
    """Return the parameters of a path for the OpenAPI document."""
    by_parameter = {collection.parameter: collection for collection in _COLLECTIONS}
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": by_parameter[name].description,
            "schema": {"type": "string", "pattern": by_parameter[name].pattern},
            **({"example": example} if (example := by_parameter[name].example) else {}),
        }
        for name in re.findall(r"{(\w+)}", path)
    ]


def resource_named_by(path: Mapping[str, str]) -> str:
    """Return the resource name that path parameters form; invalid ids are not repeated."""
    parts: list[str] = []
    for collection in _COLLECTIONS:
        if (given := path.get(collection.parameter)) is not None:
            parts += [
                collection.segment,
                given if re.fullmatch(collection.pattern, given) else _UNNAMED,
            ]
    return "/".join(parts)
