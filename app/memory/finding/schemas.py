"""Schemas of `resources:find`; this method is an addition of this service."""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from app.kernel.wire.base import WireModel

MAX_TEXT_CHARS = 1_024
MAX_FOUND = 10


class FoundKind(StrEnum):
    """The kinds of resources that can be found, and scopes."""

    MEMORY = "MEMORY"
    REVISION = "REVISION"
    OPERATION = "OPERATION"
    SESSION = "SESSION"
    KEY = "KEY"
    ENGINE = "ENGINE"
    SCOPE = "SCOPE"


class FindResourcesRequest(WireModel):
    """The text to find."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "42"}]})

    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS)] = Field(
        description="Id or full name of a memory, revision, operation, session, key or engine, or"
        " a value of a scope. If it is none of these, the last digits of the id of a memory,"
        " revision, operation or session, at least 6."
    )


class Found(WireModel):
    """A resource or a scope that the text names."""

    kind: FoundKind = Field(description="Kind of the resource, or `SCOPE`.")
    name: str | None = Field(None, description="Full name of the resource; absent for `SCOPE`.")
    scope: dict[str, str] | None = Field(
        None,
        description="Only with `SCOPE`: the pair with the value, which scopes of memories contain,"
        " or which is the user of sessions.",
    )
    is_deleted: bool | None = Field(
        None, description="True: a deleted memory that can still be recovered."
    )


class FindResourcesResponse(WireModel):
    """The resources and scopes that the text names."""

    resources: list[Found] = Field(
        description=f"At most {MAX_FOUND}; empty: the key reaches nothing of this name."
    )
