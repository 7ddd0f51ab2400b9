"""Wire types of summaries and their usage, and summaries in archives."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field
from typing_extensions import override

from app.conversation.strategies.logic.turns import TurnKind
from app.conversation.summaries.store.repository import StoredSummaryState
from app.kernel.wire.archived import (
    Amount,
    ArchivedRow,
    Count,
    Past,
    Position,
    Retry,
    SessionId,
    StoredId,
    Text,
)
from app.kernel.wire.base import WireModel
from app.kernel.wire.memory_policy import MemoryPolicy
from app.kernel.wire.scalars import Timestamp
from app.platform.usage.schemas import UsageSums


class SummarizeSessionResponse(WireModel):
    """The end of the making of summaries that were due."""


class RegenerateSummaryResponse(WireModel):
    """The end of the regeneration of a summary."""


class Covered(WireModel):
    """A range of a session's events; both ends are included."""

    first_seq: int = Field(description="Number of the first event.")
    last_seq: int = Field(description="Number of the last event.")


class ModelSums(UsageSums):
    """Usage of one model."""

    model: str = Field(
        examples=["openai:gpt-5-mini"],
        description="Id of the model: its provider and its name.",
    )


class SessionSummary(WireModel):
    """A summary of a part of a session. Its text and range never change."""

    name: str = Field(description="Full name of the summary.")
    policy_key: str = Field(
        description="Hash of the policy settings that affect summaries; policies with equal"
        " settings share their summaries."
    )
    kind: str = Field(
        description="Inputs: `block`, exchanges; `full`, all events; `recursive`, the previous"
        " summary and later events; `merge`, summaries."
    )
    state: StoredSummaryState = Field(
        description="`stale`: the text is erased, since a covered event was erased, or the session"
        " was cleared or changed while the summary was made."
    )
    version: int = Field(description="Version of a summary that is replaced or made again, from 1.")
    covers: Covered = Field(description="Events that it replaces.")
    text: str | None = Field(
        None, description="Text of the summary; absent if it failed or was erased."
    )
    tokens: int | None = Field(None, description="Tokens of the text, by the policy's counter.")
    char_limit: int = Field(
        description="Maximum length that the model was asked to keep, in characters."
    )
    cut: bool = Field(
        description="True: the model wrote too much, even when asked again; the end is missing."
    )
    previous_summaries: list[str] = Field(description="Summaries that it absorbed, oldest first.")
    inputs: Covered | None = Field(None, description="Events that were read for it.")
    model: str = Field(
        examples=["openai:gpt-5-mini", "builtin:extractive"],
        description="Id of the model that wrote it, or of the built-in summariser.",
    )
    template: str | None = Field(
        None, description="Template of the model's prompt; absent for `builtin`."
    )
    usage: list[ModelSums] = Field(description="Usage of all attempts, by model.")
    error: str | None = Field(
        None, description="Reason of the failure; only in the state `failed`."
    )
    retry_time: Timestamp | None = Field(
        None, description="`failed`: time of the next attempt; absent: none."
    )
    create_time: Timestamp = Field(description="Time at which it was begun.")
    update_time: Timestamp = Field(description="Time of the last change of its state.")


class ListSummariesResponse(WireModel):
    """A page of summaries, oldest first."""

    summaries: list[SessionSummary] = Field(description="The summaries of this page.")
    next_page_token: str | None = Field(
        None, description="Token of the next page, for `pageToken`; absent on the last page."
    )


class SummaryCounts(WireModel):
    """Number of a session's summaries in each state, over all policies."""

    active: int = Field(0, description="Number of summaries in use, from 0.")
    superseded: int = Field(0, description="Number of summaries replaced by later ones, from 0.")
    stale: int = Field(
        0, description="Number of summaries erased since an event that they cover was, from 0."
    )
    failed: int = Field(0, description="Number of summaries that could not be made, from 0.")


class SessionUsage(WireModel):
    """Usage of a session's summaries, failed attempts included."""

    models: list[ModelSums] = Field(
        description="Usage by model; the built-in summariser calls none."
    )
    total: UsageSums = Field(description="Usage of all models together.")
    summaries: SummaryCounts = Field(description="Number of summaries by state.")
    event_count: int = Field(description="Number of events, including erased and cleared ones.")
    exchange_count: int = Field(
        description="Number of exchanges, from 0: a user's turn with the events after it."
    )


class _Spent(WireModel):
    """The usage of one model for a summary."""

    calls: Count
    input_tokens: Count
    output_tokens: Count
    milliseconds: Count
    cost: Amount | None = None


class ArchivedSummary(ArchivedRow):
    """The columns of a summary in an archive."""

    session_id: SessionId
    summary_id: StoredId
    policy_key: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    policy: MemoryPolicy
    kind: TurnKind
    state: StoredSummaryState
    version: Position
    first_seq: Position
    last_seq: Position
    last_exchange: Count
    boundary_seq: Count
    text: str | None
    char_limit: Count
    is_cut: bool
    previous: list[StoredId]
    read_first_seq: Position | None
    read_last_seq: Position | None
    model_id: Text
    template: str
    usage: dict[str, _Spent]
    error_reason: Text | None
    attempts: Count
    retry_time: Retry | None
    create_time: Past
    update_time: Past

    @override
    def contradictions(self) -> Iterable[tuple[str, str]]:
        if self.last_seq < self.first_seq:
            yield "last_seq", "must be at least firstSeq"
        if self.last_exchange > self.last_seq:
            yield "last_exchange", "must be at most lastSeq"
        if self.text is None and self.state is StoredSummaryState.ACTIVE:
            yield "text", "is required of an active summary"
