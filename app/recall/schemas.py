"""Wire types of recall."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from app.contexts.schemas import MAX_SEQ, SeqRange
from app.engines.config import MAX_FACT_CHARS
from app.wire.base import WireModel
from app.wire.scalars import one_of

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

    query: str = Field(min_length=1, max_length=MAX_FACT_CHARS)
    mode: Annotated[RecallMode, one_of(RecallMode)] = Field(
        RecallMode.EXTRACTIVE,
        description="`extractive`: passages, word for word. `summary`: a text made of them, by one"
        " call of a model; without a model it is the passages themselves.",
    )
    top_k: int = Field(
        5, ge=1, le=100, description="Most passages; a model is shown four times as many."
    )
    max_tokens: int = Field(
        300, ge=1, le=_MAX_RECALLED_TOKENS, description="Of all passages, or of the text."
    )
    exclude_recent: int = Field(
        0,
        ge=0,
        le=MAX_SEQ,
        description="How many of the newest events are left out; erased ones count, too.",
    )
    model: str | None = Field(
        None,
        min_length=1,
        max_length=512,
        description="Who writes the text: a model of the settings, or `builtin`; absent: the"
        " settings' own model, and without one `builtin`.",
    )
    counter: str | None = Field(
        None, min_length=1, max_length=64, description="What counts tokens; `chars4`."
    )


class RecalledSpan(WireModel):
    """A passage of an event, word for word."""

    event: str = Field(description="The name of the event.")
    seq: int
    speaker: str = Field(description="`user`, `agent`, `tool` or `system`.")
    start_offset: int = Field(
        description="Where it begins in the event's text as contexts show it: a number of"
        " characters (code points)."
    )
    end_offset: int
    text: str
    tokens: int
    score: float = Field(description="What its words weigh; it compares within one answer only.")


class RecallResponse(WireModel):
    """Passages or a text that match the query; empty if nothing does."""

    mode: RecallMode
    spans: list[RecalledSpan] = Field(
        description="`extractive`: best first. They are not there in `summary`."
    )
    text: str | None = Field(None, description="`summary`: empty where nothing answers.")
    seqs: list[int] | None = Field(None, description="`summary`: the events that it rests on.")
    is_cut: bool | None = Field(None, description="`summary`: whether the text's end is missing.")
    model: str | None = Field(
        None, description="`summary`: who wrote it; absent where nothing was found to write of."
    )
    usage: dict[str, Any] | None = Field(
        None, description="What the model has taken, as in the metadata of operations."
    )
    tokens: int = Field(description="Of all passages, or of the text.")
    counter: str
    searched: SeqRange | None = Field(
        None,
        description="The events that were searched: the newest, where there are too many, or they"
        " take too long; of a very long one, its beginning.",
    )
