"""Wire types of readers: queries, summaries, and tools for agents."""

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator

from app.tasks.forms import ModelName, Template
from app.tasks.schemas import MAX_LISTED, Reference
from app.wire.base import WireModel
from app.wire.task_fields import TaskId, TaskModel

MAX_QUERY_CHARS = 4_096
MAX_INSTRUCTIONS_CHARS = 4_096
ANSWER_TOKENS, SUMMARY_TOKENS = 400, 800
LEAST_TOKENS, MOST_TOKENS = 16, 8_192
TOP_K = 20
MAX_TOP_K = 200

_Tokens = Annotated[int, Field(ge=LEAST_TOKENS, le=MOST_TOKENS)]


class Reading(TaskModel):
    """Fields of every request to a reader."""

    model: ModelName | None = Field(
        None,
        description="A model of the settings, or `builtin`, which needs none; absent: the first"
        " that may read the namespace (if that is sensitive, the first local one), and without one"
        " `builtin`.",
    )
    off_prompt: bool = Field(
        False, description="Whether the result is stored as well, and only its reference returned."
    )
    wait: bool = Field(
        False, description="Whether to wait for what is being indexed; else that is NOT_READY."
    )


class QueryNamespaceRequest(Reading):
    """A question about the content of a namespace."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "What does delivery cost?", "topK": 10}]}
    )

    query: str = Field(min_length=1, max_length=MAX_QUERY_CHARS, pattern=r"\S")
    top_k: int = Field(
        TOP_K, ge=1, le=MAX_TOP_K, description="Most passages that the reader is shown."
    )
    answer_tokens: _Tokens = Field(ANSWER_TOKENS, description="Longest answer.")


class SummarizeNamespaceRequest(Reading):
    """Parameters of a summary of a whole namespace."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"instructions": "Name all prices.", "maxTokens": 300}]}
    )

    instructions: str | None = Field(
        None, min_length=1, max_length=MAX_INSTRUCTIONS_CHARS, description="What matters."
    )
    template: Template | None = Field(
        None,
        description="In place of instructions, the whole prompt: has `{text}`, and may have"
        " `{previous_summary}` and `{char_limit}`.",
    )
    max_tokens: _Tokens = Field(SUMMARY_TOKENS, description="Longest summary.")

    @model_validator(mode="after")
    def _has_one_wish(self) -> Self:
        if self.instructions is not None and self.template is not None:
            raise ValueError("must have at most one of instructions and template")
        return self


class Citation(WireModel):
    """A passage that an answer rests on.

    `start` and `end` count characters (code points, not bytes or UTF-16 units) of the text that was
    read from the artifact. That is its content without a byte order mark and with LF line ends.
    JSON, CSV and HTML are rewritten for readers, so their offsets are not those of the content.
    """

    artifact: TaskId
    chunk: int = Field(description="Of the artifact, from 0.")
    start: int = Field(
        ge=0,
        description="The first character, from 0: code points of the text that was read, which has"
        " no byte order mark and LF for every line end, and is another than the content of JSON,"
        " CSV and HTML.",
    )
    end: int = Field(ge=0, description="The first character after it, counted as `start` is.")


class Coverage(WireModel):
    """Coverage of a namespace by what was read."""

    chunks_total: int | None = Field(
        None, description="Not told of a sensitive namespace without `artifacts.content`."
    )
    chunks_used: int | None = Field(None, description="Told as `chunksTotal` is.")
    truncated: bool | None = Field(
        None, description="Whether chunks that were wanted did not fit; told as `chunksTotal` is."
    )
    artifacts_total: int
    artifacts_unreadable: int = Field(description="They have no text.")


class ReaderUsage(WireModel):
    """Usage of the model calls."""

    calls: int
    input_token_count: int | None = Field(
        None, description="Not told of a sensitive namespace without `artifacts.content`."
    )
    output_token_count: int | None = Field(None, description="Told as `inputTokenCount` is.")


class ReadResponse(WireModel):
    """Fields of every response of a reader."""

    model: str = Field(description="`builtin:extractive`, where no model was asked.")
    coverage: Coverage
    usage: ReaderUsage
    reference: Reference | None = Field(None, description="Of the result, if it is kept off.")
    prompt_text: str | None = Field(None, description="What then belongs into the prompt.")
    reused: bool | None = Field(
        None,
        description="Whether this is the result of a request for the same, made before, which then"
        " costs nothing, or at the same moment, where `usage` tells what was spent beside it.",
    )


class QueryNamespaceResponse(ReadResponse):
    """An answer and its citations."""

    answer: str | None = Field(None, description="Absent if it is kept off the prompt.")
    citations: list[Citation] = Field(
        description=f"At most {MAX_LISTED}, in order of the text; of a sensitive namespace, none"
        " without `artifacts.content`."
    )


class SummarizeNamespaceResponse(ReadResponse):
    """A summary."""

    summary: str | None = Field(None, description="Absent if it is kept off the prompt.")
    cut: bool | None = Field(None, description="Whether it was too long, and lacks its end.")


class ToolSpecs(WireModel):
    """The readers' methods as tools of an agent, in the formats of model APIs."""

    openai: list[dict[str, Any]] = Field(description="For `tools` of a request to OpenAI.")
    gemini: list[dict[str, Any]] = Field(description="For `functionDeclarations` of Gemini.")
