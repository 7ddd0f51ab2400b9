"""Wire types of recall."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from app.conversation.contexts.schemas import SeqRange
from app.kernel.names import MAX_INT64, SESSION_ID
from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Timestamp, one_of
from app.memory.memories.schemas.memories import Scope
from app.memory.memories.schemas.metadata import FilterGroups
from app.platform.engines.logic.topics import MAX_FACT_CHARS
from app.platform.sessions.schemas.sessions import UserId

_MAX_RECALLED_TOKENS = 100_000
_MAX_EXCLUDED = 100


class RecallMode(StrEnum):
    """Form of a recall's result."""

    EXTRACTIVE = "extractive"
    """Passages, word for word."""
    SUMMARY = "summary"
    """A text made from the passages."""


class RecallFields(WireModel):
    """Parameters of every search."""

    query: str = Field(
        min_length=1,
        max_length=MAX_FACT_CHARS,
        description="Text to search for, by its words and not by its meaning.",
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


class RecallRequest(RecallFields):
    """Parameters of a search in a session."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "Which hotel did we book?", "maxTokens": 200}]}
    )

    exclude_recent: int = Field(
        0,
        ge=0,
        le=MAX_INT64,
        description="Number of newest events to skip; erased ones count as well.",
    )


class RecallSessionsRequest(RecallFields):
    """Parameters of a search in all sessions of a user."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"userId": "42", "query": "Which hotel did we book?", "maxTokens": 200}]
        }
    )

    user_id: UserId | None = Field(
        None,
        description="User to search; may be absent if the key is restricted to one user.",
    )
    filter: str | None = Field(
        None, description="An AIP-160 filter of sessions, with the fields of their list."
    )
    exclude_sessions: Sequence[Annotated[str, Field(pattern=f"^{SESSION_ID}$")]] = Field(
        (),
        max_length=_MAX_EXCLUDED,
        description="Ids of sessions to skip, such as the current session.",
    )
    start_time: Timestamp | None = Field(
        None, description="Time of the first event to search; absent: no limit."
    )
    end_time: Timestamp | None = Field(
        None,
        description="Time of the first event not to search any more; absent: no limit.",
    )
    page_token: str | None = Field(
        None,
        description="`nextPageToken` of the response to the same request, to search the remaining"
        " sessions; empty or absent: begin with the newest session.",
    )

    @field_validator("end_time")
    @classmethod
    def _ends_after_its_start(cls, end: datetime | None, info: ValidationInfo) -> datetime | None:
        start = info.data.get("start_time")
        if start is not None and end is not None and end <= start:
            raise ValueError("must be later than startTime; endTime itself is not included")
        return end


class RecallMemoriesRequest(RecallFields):
    """Parameters of a search in the memories of a scope."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"scope": {"user_id": "42"}, "query": "Which hotel did we book?"}]
        }
    )

    query: str = Field(
        min_length=1,
        max_length=MAX_FACT_CHARS,
        description="Question or words: compared with facts by meaning, with events by words.",
    )
    top_k: int = Field(
        5,
        ge=1,
        le=100,
        description="Maximum number of facts, and also of passages; a model gets four times as"
        " many, but at most 100 facts.",
    )
    max_tokens: int = Field(
        300,
        ge=1,
        le=_MAX_RECALLED_TOKENS,
        description="Maximum tokens of all facts and passages, or of the text. If there are both,"
        " each may take half, and the unused part of the other half.",
    )
    scope: Scope
    filter: str | None = Field(None, description="An AIP-160 filter of memories.")
    filter_groups: FilterGroups | None = Field(
        None,
        description="Groups of conditions on metadata; a memory must match at least one group.",
    )
    include_sessions: bool = Field(
        False,
        description="True: also search the sessions of the scope's `user_id`, as many as one call"
        " of `sessions/-:recall` reaches.",
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


class RecalledSessionSpan(RecalledSpan):
    """A passage of an event in one of several sessions, word for word."""

    session: str = Field(description="Name of the session.")
    event_time: Timestamp = Field(description="Time of the event.")


class RecalledFact(WireModel):
    """A memory that matches the query."""

    memory: str = Field(description="Name of the memory.")
    fact: str = Field(description="Statement that is remembered; never cut.")
    distance: float | None = Field(
        None,
        description="Distance from the query, as in a retrieval; not comparable with the"
        " `score` of passages.",
    )
    changed: Timestamp = Field(description="Time of the memory's last change.")
    tokens: int = Field(description="Tokens of the fact, by the response's `counter`.")


class SearchedSessions(WireModel):
    """Extent of a search in the sessions of a user."""

    sessions: int = Field(description="Number of sessions with searched events.")
    events: int = Field(description="Number of events searched.")
    oldest_event_time: Timestamp | None = Field(
        None, description="Time of the oldest event searched; absent: none was."
    )
    is_complete: bool = Field(
        description="True if the search covered all that this request could reach; else see"
        " `nextPageToken`."
    )


class RecalledFields(WireModel):
    """Fields of every result of a search; empty if nothing matches the query."""

    mode: RecallMode = Field(description="`extractive` or `summary`, as requested.")
    text: str | None = Field(None, description="`summary`: empty if nothing matches.")
    is_cut: bool | None = Field(
        None, description="`summary`: whether the end of the text is missing."
    )
    model: str | None = Field(
        None, description="`summary`: writer of the text; absent if nothing was found."
    )
    usage: dict[str, Any] | None = Field(
        None, description="Usage of the model, as in operation metadata."
    )
    tokens: int = Field(description="Tokens of all that is listed, or of the text.")
    counter: str = Field(description="Token counter that `tokens` is counted by.")


class RecallResponse(RecalledFields):
    """Passages or a text that match the query; empty without a match."""

    spans: list[RecalledSpan] = Field(description="`extractive`: best first; empty in `summary`.")
    seqs: list[int] | None = Field(None, description="`summary`: its source events.")
    searched: SeqRange | None = Field(
        None,
        description="Events that were searched: only the newest if there are too many or the"
        " search takes too long. Very long events are searched only at their beginning.",
    )


class RecallSessionsResponse(RecalledFields):
    """Passages or a text from the sessions of a user; empty if nothing matches the query."""

    spans: list[RecalledSessionSpan] = Field(
        description="`extractive`: best first; empty in `summary`. The `score`s of two pages"
        " cannot be compared."
    )
    events: list[str] | None = Field(None, description="`summary`: names of its source events.")
    searched: SearchedSessions = Field(description="Extent of the search.")
    next_page_token: str | None = Field(
        None, description="`pageToken` for the remaining sessions; absent: all were searched."
    )


class RecallMemoriesResponse(RecalledFields):
    """Facts and passages, or a text made from them; empty if nothing matches the query."""

    facts: list[RecalledFact] = Field(description="`extractive`: best first; empty in `summary`.")
    spans: list[RecalledSessionSpan] = Field(
        description="`extractive` with `includeSessions`: passages of sessions, best first."
    )
    sources: list[str] | None = Field(
        None, description="`summary`: names of its source memories and events."
    )
    searched: SearchedSessions | None = Field(
        None, description="With `includeSessions`: extent of the search in the sessions."
    )
