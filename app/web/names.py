"""Path parameters as resource names."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

from fastapi import Depends, Request

from app.kernel.names import (
    INT64_ID,
    SESSION_ID,
    STORED_ID,
    TASK_ID,
    ArtifactName,
    EngineName,
    EventName,
    LocationName,
    MemoryName,
    NamespaceName,
    OperationName,
    SessionName,
    SummaryName,
    TaskMemoryName,
    ToolPolicyName,
    parse_engine_id,
    parse_session_id,
    parse_task_id,
    parse_text_id,
)

ParentT = TypeVar("ParentT")
NameT = TypeVar("NameT")

# For the OpenAPI document; the parsers answer a malformed id with 404.
_PARENT_ID = r"^[^/\u0000-\u001f\u007f]{1,256}$"
_INT64_ID = f"^{INT64_ID}$"
_TEXT_ID = f"^{STORED_ID}$"
_SESSION_ID = f"^{SESSION_ID}$"
_TASK_ID = f"^{TASK_ID}$"


class _Collection(NamedTuple):
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
_BY_PARAMETER = {collection.parameter: collection for collection in _COLLECTIONS}
_PARSERS: Mapping[str, Callable[[str, str], str]] = {
    _TEXT_ID: parse_text_id,
    _SESSION_ID: lambda _, text: parse_session_id(text),
    _TASK_ID: parse_task_id,
}
_UNNAMED = "?"


# Read from the path itself: the framework would take half a millisecond for the parts as
# dependencies. `path_parameters` declares them in the OpenAPI document.


async def _location(request: Request) -> LocationName:
    path = request.path_params
    return LocationName.parse(f"projects/{path['project']}/locations/{path['location']}")


async def _engine(request: Request) -> EngineName:
    location = await _location(request)
    engine_id = parse_engine_id(request.path_params["engine"])
    return EngineName(location.project, location.location, engine_id)


async def _revision(request: Request) -> str:
    revision: str = request.path_params["revision"]
    return revision


async def _key(request: Request) -> str:
    return _id("key", request)


def _id(parameter: str, request: Request) -> str:
    collection = _BY_PARAMETER[parameter]
    return _PARSERS[collection.pattern](collection.segment, request.path_params[parameter])


def _child(
    name: Callable[[ParentT, str], NameT],
    parent: Callable[[Request], Awaitable[ParentT]],
    parameter: str,
) -> Callable[[Request], Awaitable[NameT]]:
    async def read(request: Request) -> NameT:
        return name(await parent(request), _id(parameter, request))

    return read


_session = _child(SessionName, _engine, "session")
_task_memory = _child(TaskMemoryName, _engine, "task_memory")
_namespace = _child(NamespaceName, _task_memory, "namespace")

LocationPath = Annotated[LocationName, Depends(_location)]
EnginePath = Annotated[EngineName, Depends(_engine)]
MemoryPath = Annotated[MemoryName, Depends(_child(MemoryName, _engine, "memory"))]
SessionPath = Annotated[SessionName, Depends(_session)]
EventPath = Annotated[EventName, Depends(_child(EventName, _session, "event"))]
SummaryPath = Annotated[SummaryName, Depends(_child(SummaryName, _session, "summary"))]
TaskMemoryPath = Annotated[TaskMemoryName, Depends(_task_memory)]
ToolPolicyPath = Annotated[ToolPolicyName, Depends(_child(ToolPolicyName, _task_memory, "tool"))]
NamespacePath = Annotated[NamespaceName, Depends(_namespace)]
ArtifactPath = Annotated[ArtifactName, Depends(_child(ArtifactName, _namespace, "artifact"))]
OperationPath = Annotated[OperationName, Depends(_child(OperationName, _engine, "operation"))]
RevisionPart = Annotated[str, Depends(_revision)]
KeyPath = Annotated[str, Depends(_key)]
"""The id of a key."""


def path_parameters(path: str) -> list[dict[str, Any]]:
    """Return the parameters of a path for the OpenAPI document."""
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _BY_PARAMETER[name].description,
            "schema": {"type": "string", "pattern": _BY_PARAMETER[name].pattern},
            **({"example": example} if (example := _BY_PARAMETER[name].example) else {}),
        }
        for name in re.findall(r"{(\w+)}", path)
    ]


def resource_named_by(path: Mapping[str, str]) -> str:
    """Return the resource name formed by path parameters; `?` replaces invalid ids."""
    parts: list[str] = []
    for collection in _COLLECTIONS:
        if (given := path.get(collection.parameter)) is not None:
            parts += [
                collection.segment,
                given if re.fullmatch(collection.pattern, given) else _UNNAMED,
            ]
    return "/".join(parts)
