"""Wire types of recall."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from app.conversation.contexts.schemas import SeqRange
from app.kernel.names import MAX_INT64
from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import one_of
from app.platform.engines.logic.topics import MAX_FACT_CHARS

_MAX_RECALLED_TOKENS = 100_000


class RecallMode(StrEnum):
    """Form of a recall's result."""

    EXTRACTIVE = "extractive"
    """Passages, word for word."""
    SUMMARY = "summary"
    """A text made from the passages."""


class RecallRequest(WireModel):
    """Parameters of a search in a session."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "Which hotel did we book?", "maxTokens": 200}]}
    )

    query: str = Field(
        min_length=1,
        max_length=MAX_FACT_CHARS,
        description="What to look for, in words of the session.",
    )
    mode: Annotated[RecallMode, one_of(RecallMode)] = Field(
        RecallMode.EXTRACTIVE,
        description="`extractive`: passages, word for word. `summary`: a text made from them by one"
        " model call; without a model, the passages themselves.",
    )
    top_k: int = Field(
        5, ge=1, le=100, description="Maximum number of passages; a model gets four times as many."
    )
    max_tokens: int = Field(
        300,
        ge=1,
        le=_MAX_RECALLED_TOKENS,
        description="Maximum tokens of all passages, or of the text.",
    )
    exclude_recent: int = Field(
        0,
        ge=0,
        le=MAX_INT64,
        description="Number of newest events to skip; erased ones count as well.",
    )
    model: str | None = Field(
        None,
        min_length=1,
        max_length=512,
        description="Writer of the text: a configured model, or `builtin`; absent: the default"
        " model, or `builtin` without one.",
    )
    counter: str | None = Field(
        None, min_length=1, max_length=64, description="Token counter; absent: `chars4`."
    )


class RecalledSpan(WireModel):
    """A passage of an event, word for word."""

    event: str = Field(description="Name of the event.")
    seq: int = Field(description="Number of the event in the session, from 1.")
    speaker: str = Field(description="`user`, `agent`, `tool` or `system`.")
    start_offset: int = Field(
        description="Start in the event's text as contexts show it, in characters (code points)."
    )
    end_offset: int = Field(
        description="The first character after the passage, counted like `startOffset`."
    )
    text: str = Field(description="The passage.")
    tokens: int = Field(description="Tokens of the passage, by the response's `counter`.")
    score: float = Field(description="Weight of its words; comparable only within one response.")


class RecallResponse(WireModel):
    """Passages or a text that match the query; empty if nothing does."""

    mode: RecallMode = Field(description="`extractive` or `summary`, as asked for.")
    spans: list[RecalledSpan] = Field(description="`extractive`: best first; empty in `summary`.")
    text: str | None = Field(None, description="`summary`: empty if nothing matches.")
    seqs: list[int] | None = Field(None, description="`summary`: the events that it rests on.")
    is_cut: bool | None = Field(
        None, description="`summary`: whether the end of the text is missing."
    )
    model: str | None = Field(
        None, description="`summary`: writer of the text; absent if nothing was found."
    )
    usage: dict[str, Any] | None = Field(
        None, description="Usage of the model, as in operation metadata."
    )
    tokens: int = Field(description="Tokens of all passages, or of the text.")
    counter: str = Field(description="Token counter that `tokens` is counted by.")
    searched: SeqRange | None = Field(
        None,
        description="Events that were searched: only the newest if there are too many or the search"
        " takes too long. Of a very long event only the beginning is searched.",
    )
