"""Wire types of readers: queries, summaries, extractions, and tools for agents."""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, model_validator

from app.artifacts.tasks.logic import ModelName, Template
from app.artifacts.tasks.schemas import MAX_LISTED, Reference
from app.kernel.tuning import MAX_NAMESPACE_ARTIFACTS
from app.kernel.wire.base import WireModel
from app.kernel.wire.row_schema import RowFormat, RowSchema
from app.kernel.wire.rows import ExtractedRow, RejectedRow, RowSource
from app.kernel.wire.task_fields import TaskId, TaskModel

MAX_QUERY_CHARS = 4_096
MAX_INSTRUCTIONS_CHARS = 4_096
ANSWER_TOKENS, SUMMARY_TOKENS = 400, 800
LEAST_TOKENS, MOST_TOKENS = 16, 8_192
TOP_K = 20
MAX_TOP_K = 200
MAX_TEXT_PAGE = 1_000_000
"""No text has as many pages."""
EXTRACTED_ROWS, MAX_EXTRACTED_ROWS, MAX_INLINE_ROWS = 1_000, 10_000, 1_000

_Tokens = Annotated[int, Field(ge=LEAST_TOKENS, le=MOST_TOKENS)]


class ReadFields(TaskModel):
    """Fields of every request to a reader."""

    model: ModelName | None = Field(
        None,
        description="A configured model, or `builtin`, which needs none; absent: the first that may"
        " read the namespace (the first local one if it is sensitive; one that takes images if it"
        " has no text), or `builtin` without any.",
    )
    off_prompt: bool = Field(
        False, description="True: store the result and return only its reference."
    )
    as_: TaskId | None = Field(
        None,
        alias="as",
        description="Name of the stored result, with `offPrompt` only; without an extension, it"
        " gets `.txt`, or `.json` or `.csv` for `:extract`. No two of a namespace may be equal.",
    )
    wait: bool = Field(
        False,
        description="True: wait for texts that are being indexed; otherwise they are NOT_READY.",
    )
    artifacts: list[TaskId] | None = Field(
        None,
        min_length=1,
        max_length=MAX_NAMESPACE_ARTIFACTS,
        description="The only artifacts to read; absent: all that the model can read.",
    )


class QueryNamespaceRequest(ReadFields):
    """A question about the content of a namespace."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "What does delivery cost?", "topK": 10}]}
    )

    query: str = Field(
        min_length=1,
        max_length=MAX_QUERY_CHARS,
        pattern=r"\S",
        description="Question to answer; not blank.",
    )
    top_k: int = Field(
        TOP_K, ge=1, le=MAX_TOP_K, description="Maximum number of passages for the reader."
    )
    answer_tokens: _Tokens = Field(
        ANSWER_TOKENS, description="Maximum length of the answer, in tokens."
    )


class SummarizeNamespaceRequest(ReadFields):
    """Parameters of a summary of a whole namespace."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"instructions": "Name all prices.", "maxTokens": 300}]}
    )

    instructions: str | None = Field(
        None,
        min_length=1,
        max_length=MAX_INSTRUCTIONS_CHARS,
        description="Content that the summary should have, or leave out.",
    )
    template: Template | None = Field(
        None,
        description="The whole prompt, in place of instructions: with `{text}`, and optionally"
        " `{previous_summary}` and `{char_limit}`.",
    )
    max_tokens: _Tokens = Field(
        SUMMARY_TOKENS, description="Maximum length of the summary, in tokens."
    )

    @model_validator(mode="after")
    def _has_one_wish(self) -> Self:
        if self.instructions is not None and self.template is not None:
            raise ValueError("must have at most one of instructions and template")
        return self


class ExtractNamespaceRequest(ReadFields):
    """A schema of rows to extract from a namespace."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "schema": {"type": "object", "properties": {"price": {"type": "number"}}},
                    "source": {"path": "/orders", "columns": {"price": "Unit price"}},
                }
            ]
        }
    )

    schema_: RowSchema = Field(
        alias="schema",
        description="JSON schema of one row: an object with properties. References stay within it,"
        " and patterns are of RE2 syntax.",
    )
    source: RowSource = Field(
        default_factory=RowSource,
        description="Places of rows and values, which a model does not need.",
    )
    format: RowFormat = Field(
        RowFormat.JSON,
        description="`json`, or `csv`, which has a column for each property and no sources.",
    )
    max_rows: int = Field(
        EXTRACTED_ROWS,
        ge=1,
        le=MAX_EXTRACTED_ROWS,
        description="Maximum number of rows; without `offPrompt`, the response also has at most"
        f" {MAX_INLINE_ROWS:,} rows and 256 KiB of them.",
    )


class Citation(WireModel):
    """A passage as evidence of an answer.

    `start` and `end` count characters (code points, not bytes or UTF-16 units) of the text that was
    read from the artifact. This is its content without a byte order mark and with LF line ends.
    JSON, CSV, HTML and PDF are rewritten for readers, so their offsets differ from the content. An
    image is cited as a whole: `chunk`, `start` and `end` are 0.
    """

    artifact: TaskId = Field(description="Name of the artifact within the namespace.")
    chunk: int = Field(description="Number of the artifact's chunk, from 0.")
    start: int = Field(
        ge=0,
        description="The first character, from 0, in code points of the text that was read. That"
        " text has no byte order mark and LF line ends; for JSON, CSV, HTML and PDF it differs from"
        " the content.",
    )
    end: int = Field(
        ge=0, description="The first character after the passage, counted like `start`."
    )
    page: int = Field(
        ge=1,
        description="Page with the first character, from 1: of the PDF, or of the text of another"
        " artifact as `:text` shows it.",
    )


class TextPage(WireModel):
    """A page of the text that readers get of an artifact."""

    text: str = Field(description="The characters from `start` to `end`.")
    page: int = Field(description="Number of this page, from 1.")
    pages: int = Field(description="Number of pages of the whole text.")
    start: int = Field(
        description="The first character, from 0, counted like `start` of a citation."
    )
    end: int = Field(description="The first character after the page, counted like `start`.")


class UnreadableArtifact(WireModel):
    """An artifact that was not read."""

    artifact: TaskId = Field(description="Name of the artifact within the namespace.")
    reason: str = Field(description="The reason, in a sentence.")


class ReadingCoverage(WireModel):
    """Coverage of a namespace by the read chunks."""

    chunks_total: int | None = Field(
        None,
        description="Number of chunks in the namespace; absent for a sensitive namespace without"
        " `artifacts.content`.",
    )
    chunks_used: int | None = Field(
        None, description="Number of chunks that were read; absent like `chunksTotal`."
    )
    truncated: bool | None = Field(
        None, description="True if wanted chunks did not fit; absent like `chunksTotal`."
    )
    artifacts_total: int = Field(description="Number of artifacts in the namespace, from 0.")
    artifacts_unreadable: int = Field(
        description="Number of artifacts without text, except for images that were read."
    )
    unreadable: list[UnreadableArtifact] | None = Field(
        None,
        description="Up to 20 of these artifacts, beginning with failed indexing, then images;"
        " absent if there are none, and like `chunksTotal`.",
    )


class ReaderUsage(WireModel):
    """Usage of the model calls."""

    calls: int | None = Field(
        None,
        description="Number of model calls, from 0; absent for a sensitive namespace without"
        " `artifacts.content`.",
    )
    input_token_count: int | None = Field(
        None, description="Tokens sent to models; absent like `calls`."
    )
    output_token_count: int | None = Field(
        None, description="Tokens that models wrote; absent like `calls`."
    )


class ReadResponse(WireModel):
    """Fields of every response of a reader."""

    model: str = Field(
        description="Id of the model that was called; `builtin:extractive`: none was."
    )
    coverage: ReadingCoverage = Field(description="Part of the namespace that was read.")
    usage: ReaderUsage = Field(description="Model calls made for this request.")
    reference: Reference | None = Field(
        None, description="Reference to the result, if it is kept off the prompt."
    )
    prompt_text: str | None = Field(
        None, description="Text for the prompt that names the result, if it is kept off the prompt."
    )
    reused: bool | None = Field(
        None,
        description="True if this is the result of an equal request. After an earlier one, this"
        " request is free; after a concurrent one, `usage` shows the cost of this request.",
    )


class QueryNamespaceResponse(ReadResponse):
    """An answer and its citations."""

    answer: str | None = Field(
        None, description="The answer; absent if the prompt must not show it."
    )
    citations: list[Citation] = Field(
        description=f"Passages as evidence of the answer, at most {MAX_LISTED}, in text"
        " order; empty for a sensitive namespace without `artifacts.content`."
    )


class SummarizeNamespaceResponse(ReadResponse):
    """A summary."""

    summary: str | None = Field(
        None, description="The summary; absent if it is kept off the prompt."
    )
    cut: bool | None = Field(None, description="True if it was too long and lost its end.")


class ExtractNamespaceResponse(ReadResponse):
    """Extracted rows, in text order.

    Of a sensitive namespace, a key without `artifacts.content` gets neither counts nor rejections.
    """

    rows: list[ExtractedRow] | None = Field(
        None, description="The rows; absent if they are kept off the prompt, or are `csv`."
    )
    csv: str | None = Field(
        None,
        description="The rows as CSV with a header. A cell that spreadsheets would compute begins"
        " with an apostrophe.",
    )
    row_count: int | None = Field(None, description="Number of rows in the result, from 0.")
    truncated: bool | None = Field(
        None,
        description="True if there are more rows, or text was not read; `offPrompt`, `maxRows` or"
        " `artifacts` get the others.",
    )
    rejected: list[RejectedRow] | None = Field(
        None, description="The first rejected rows, up to 20; absent if there are none."
    )
    rejected_count: int | None = Field(None, description="Number of all rejected rows, from 0.")


class ToolFormat(StrEnum):
    """Format of tool declarations, by the model API that takes it."""

    OPENAI = "openai"
    GEMINI = "gemini"
    ANTHROPIC = "anthropic"


class ToolSpecs(WireModel):
    """The readers, and the export, as tools of an agent in the formats of model APIs.

    Each format has the same tools: only tools that the caller may use.
    """

    openai: list[dict[str, Any]] | None = Field(
        None, description="Declarations for `tools` in a request to OpenAI."
    )
    gemini: list[dict[str, Any]] | None = Field(
        None, description="Declarations for `functionDeclarations` of Gemini."
    )
    anthropic: list[dict[str, Any]] | None = Field(
        None, description="Declarations for `tools` in a request to Anthropic."
    )
