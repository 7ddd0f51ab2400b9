"""The wire form of the scopes in use in an engine."""

from pydantic import Field

from app.kernel.wire.base import WireModel
from app.memory.memories.store.scopes import MAX_COUNT


class ScopeInUse(WireModel):
    """A scope, and how many memories it has."""

    scope: dict[str, str] = Field(
        description="Keys and values of the scope.", examples=[{"user_id": "42"}]
    )
    memory_count: int = Field(
        description=f"Number of its live memories; {MAX_COUNT} if there are more.",
        ge=0,
        le=MAX_COUNT,
    )
    is_capped: bool | None = Field(
        None, description="True if there are more memories than `memoryCount`; otherwise absent."
    )


class ListScopesResponse(WireModel):
    """A page of scopes, in a stable order without a meaning."""

    scopes: list[ScopeInUse] = Field(description="The scopes of the page.")
    next_page_token: str | None = Field(
        None, description="`pageToken` of the next page; absent on the last one."
    )
