"""Wire types of memory as a tool."""

from typing import Any

from pydantic import ConfigDict, Field

from app.kernel.names import MAX_INT64
from app.kernel.wire.base import WireModel
from app.kernel.wire.task_fields import TaskId, TaskModel

_MAX_NAME_CHARS = 128
_MAX_SESSION_CHARS = 1_024
_MAX_ARGUMENTS_CHARS = 1_000_000


class MemoryToolSpecs(WireModel):
    """Declarations of the tools, in the formats of model APIs, or only in the requested format."""

    openai: list[dict[str, Any]] | None = Field(
        None, description="Declarations for `tools` in a request to OpenAI's chat completions."
    )
    gemini: list[dict[str, Any]] | None = Field(
        None, description="Declarations for `functionDeclarations` of Gemini."
    )
    anthropic: list[dict[str, Any]] | None = Field(
        None, description="Declarations for `tools` in a request to Anthropic."
    )


class CallToolRequest(WireModel):
    """A call of a tool, as a model made it."""

    name: str = Field(
        min_length=1, max_length=_MAX_NAME_CHARS, description="Name of the tool that is called."
    )
    arguments: dict[str, Any] | str = Field(
        default_factory=dict,
        max_length=_MAX_ARGUMENTS_CHARS,
        description="The arguments: an object, or its JSON as text, as OpenAI sends it. Wrong"
        " arguments are no error of the request: the response has `isError`.",
    )


class CallTaskToolRequest(CallToolRequest, TaskModel):
    """A call of a tool of task memory, as a model made it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "query_task_memory",
                    "arguments": {"memory": "tools", "namespace": "page", "query": "Who wrote it?"},
                }
            ]
        }
    )

    memory: TaskId | None = Field(
        None, description="The only task memory that the call may name; absent: any."
    )
    sink: TaskId | None = Field(
        None, description="The sink of exports; absent: the only one that is configured."
    )


class CallMemoryToolRequest(CallToolRequest):
    """A call of a tool, as a model made it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "search_memories",
                    "arguments": {"query": "Where does the user like to sit?"},
                    "scope": {"user_id": "42"},
                }
            ]
        }
    )

    scope: dict[str, str] | None = Field(
        None,
        description="Scope of the memories that the call is about, 1 to 5 pairs. Required, unless"
        " the key's conditions fix it; fixed pairs may be left out.",
        examples=[{"user_id": "42"}],
    )
    session: str | None = Field(
        None,
        min_length=1,
        max_length=_MAX_SESSION_CHARS,
        description="Id or name of the session that `recall_conversation` searches; absent: all"
        " sessions of the scope's `user_id`.",
    )
    exclude_recent: int = Field(
        0,
        ge=0,
        le=MAX_INT64,
        description="Number of newest events of `session` to skip, since the prompt has them.",
    )


class CallMemoryToolResponse(WireModel):
    """The result of a tool."""

    text: str = Field(description="Text for the model, as the tool's message.")
    result: dict[str, Any] | None = Field(
        None, description="The same as JSON; absent where `isError` is true."
    )
    is_error: bool = Field(description="True if the tool failed.")
    tokens: int = Field(description="Tokens of `text`, about four characters each.")
