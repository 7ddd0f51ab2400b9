"""Responses of the operations that make summaries, and summaries in archives."""

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


class SummarizeSessionResponse(WireModel):
    """The end of the making of summaries that were due."""


class RegenerateSummaryResponse(WireModel):
    """The end of the regeneration of a summary."""


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
