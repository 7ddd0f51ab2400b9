"""Path parameters as resource names."""

from typing import Annotated

from fastapi import Depends, Path

from app.core.names import (
    EngineName,
    LocationName,
    MemoryName,
    OperationName,
    parse_engine_id,
    parse_text_id,
)

_ProjectPart = Annotated[str, Path(description="Project; any text.", examples=["default"])]
_LocationPart = Annotated[str, Path(description="Location; any text.", examples=["local"])]
_EnginePart = Annotated[str, Path(description="Id of the engine.", examples=["1"])]
_MemoryPart = Annotated[str, Path(description="Id of the memory.")]
_OperationPart = Annotated[str, Path(description="Id of the operation.")]


async def _location(project: _ProjectPart, location: _LocationPart) -> LocationName:
    return LocationName.parse(f"projects/{project}/locations/{location}")


LocationPath = Annotated[LocationName, Depends(_location)]


async def _engine(location: LocationPath, engine: _EnginePart) -> EngineName:
    return EngineName(location.project, location.location, parse_engine_id(engine))


EnginePath = Annotated[EngineName, Depends(_engine)]


async def _memory(engine: EnginePath, memory: _MemoryPart) -> MemoryName:
    return MemoryName(engine, parse_text_id("memories", memory))


MemoryPath = Annotated[MemoryName, Depends(_memory)]


async def _operation(engine: EnginePath, operation: _OperationPart) -> OperationName:
    return OperationName(engine, parse_text_id("operations", operation))


OperationPath = Annotated[OperationName, Depends(_operation)]
