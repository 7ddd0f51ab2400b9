"""Path parameters as resource names."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Path

from app.core.names import (
    INT64_ID,
    SESSION_ID,
    STORED_ID,
    EngineName,
    LocationName,
    MemoryName,
    OperationName,
    SessionName,
    parse_engine_id,
    parse_session_id,
    parse_text_id,
)

# What follows is for the API's document only: other ids have a message of their own, and are 404.
_PARENT_SCHEMA: dict[str, Any] = {"pattern": r"^[^/\u0000-\u001f\u007f]{1,256}$"}
_INT64_SCHEMA: dict[str, Any] = {"pattern": f"^{INT64_ID}$"}
_TEXT_SCHEMA: dict[str, Any] = {"pattern": f"^{STORED_ID}$"}
_SESSION_SCHEMA: dict[str, Any] = {"pattern": f"^{SESSION_ID}$"}

_ProjectPart = Annotated[
    str,
    Path(description="Project; any text.", examples=["default"], json_schema_extra=_PARENT_SCHEMA),
]
_LocationPart = Annotated[
    str,
    Path(description="Location; any text.", examples=["local"], json_schema_extra=_PARENT_SCHEMA),
]
_EnginePart = Annotated[
    str, Path(description="Id of the engine.", examples=["1"], json_schema_extra=_INT64_SCHEMA)
]
_MemoryPart = Annotated[str, Path(description="Id of the memory.", json_schema_extra=_TEXT_SCHEMA)]
_SessionPart = Annotated[
    str, Path(description="Id of the session.", json_schema_extra=_SESSION_SCHEMA)
]
_OperationPart = Annotated[
    str, Path(description="Id of the operation.", json_schema_extra=_TEXT_SCHEMA)
]
RevisionPart = Annotated[
    str, Path(description="Id of the revision.", json_schema_extra=_INT64_SCHEMA)
]


async def _location(project: _ProjectPart, location: _LocationPart) -> LocationName:
    return LocationName.parse(f"projects/{project}/locations/{location}")


LocationPath = Annotated[LocationName, Depends(_location)]


async def _engine(location: LocationPath, engine: _EnginePart) -> EngineName:
    return EngineName(location.project, location.location, parse_engine_id(engine))


EnginePath = Annotated[EngineName, Depends(_engine)]


async def _memory(engine: EnginePath, memory: _MemoryPart) -> MemoryName:
    return MemoryName(engine, parse_text_id("memories", memory))


MemoryPath = Annotated[MemoryName, Depends(_memory)]


async def _session(engine: EnginePath, session: _SessionPart) -> SessionName:
    return SessionName(engine, parse_session_id(session))


SessionPath = Annotated[SessionName, Depends(_session)]


async def _operation(engine: EnginePath, operation: _OperationPart) -> OperationName:
    return OperationName(engine, parse_text_id("operations", operation))


OperationPath = Annotated[OperationName, Depends(_operation)]


_KeyPart = Annotated[str, Path(description="Id of the key.", json_schema_extra=_TEXT_SCHEMA)]


async def _key(key: _KeyPart) -> str:
    return parse_text_id("keys", key)


KeyPath = Annotated[str, Depends(_key)]
"""The id of a key."""


_COLLECTIONS = (
    ("project", "projects", _PARENT_SCHEMA),
    ("location", "locations", _PARENT_SCHEMA),
    ("engine", "reasoningEngines", _INT64_SCHEMA),
    ("memory", "memories", _TEXT_SCHEMA),
    ("revision", "revisions", _INT64_SCHEMA),
    ("session", "sessions", _SESSION_SCHEMA),
    ("operation", "operations", _TEXT_SCHEMA),
    ("key", "keys", _TEXT_SCHEMA),
)
_UNNAMED = "?"


def resource_named_by(path: Mapping[str, str]) -> str:
    """Return the name of what path parameters name; what cannot be an id is not repeated."""
    parts: list[str] = []
    for parameter, collection, schema in _COLLECTIONS:
        if parameter in path:
            fits = re.fullmatch(schema["pattern"], path[parameter])
            parts += [collection, path[parameter] if fits else _UNNAMED]
    return "/".join(parts)
