"""Wire types of a session's summaries and of their usage."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from app.conversation.strategies.logic.policies import rules_of
from app.conversation.strategies.service import counter_of
from app.conversation.summaries.store.repository import StoredSummaryState
from app.conversation.summaries.store.spending import SummarySpending
from app.conversation.summaries.store.tables import SessionSummaryRow
from app.kernel.errors import InvalidArgument
from app.kernel.names import SessionName, SummaryName
from app.kernel.wire.base import WireModel
from app.kernel.wire.memory_policy import MemoryPolicy
from app.kernel.wire.scalars import Timestamp
from app.language.tokens import estimate_tokens
from app.platform.sessions.store.tables import SessionRow
from app.platform.usage.logic.costs import Sums, money
from app.platform.usage.schemas import UsageSums
from app.settings.settings import Settings


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

    @classmethod
    def from_row(
        cls, session: SessionName, row: SessionSummaryRow, settings: Settings
    ) -> "SessionSummary":
        """Build the response; `session` is the name with the engine's own project and location."""
        read = None
        if row.read_first_seq is not None and row.read_last_seq is not None:
            read = Covered(first_seq=row.read_first_seq, last_seq=row.read_last_seq)
        return cls(
            name=str(SummaryName(session, row.summary_id)),
            policy_key=row.policy_key,
            kind=row.kind,
            state=StoredSummaryState(row.state),
            version=row.version,
            covers=Covered(first_seq=row.first_seq, last_seq=row.last_seq),
            text=row.text,
            tokens=None if row.text is None else _tokens(row.text, row.policy, settings),
            char_limit=row.char_limit,
            cut=row.is_cut,
            previous_summaries=[
                str(SummaryName(session, summary_id)) for summary_id in row.previous
            ],
            inputs=read,
            model=row.model_id,
            template=row.template or None,
            usage=[_model_sums(spent, settings) for spent in _spent(row.usage)],
            error=row.error_reason,
            retry_time=row.retry_time,
            create_time=row.create_time,
            update_time=row.update_time,
        )


def _tokens(text: str, policy: Mapping[str, Any], settings: Settings) -> int:
    """Return the tokens of a text, estimated by length if the policy's counter is gone."""
    name = rules_of(MemoryPolicy.model_validate(policy)).counter
    try:
        return counter_of(name, settings).count(text)
    except InvalidArgument:
        return estimate_tokens(text)


def _spent(usage: Mapping[str, Mapping[str, Any]]) -> list[SummarySpending]:
    return [
        SummarySpending(
            model,
            used["calls"],
            used["inputTokens"],
            used["outputTokens"],
            used["milliseconds"],
            used.get("cost"),
        )
        for model, used in sorted(usage.items())
    ]


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

    @classmethod
    def of(
        cls,
        row: SessionRow,
        spent: Sequence[SummarySpending],
        counts: Mapping[str, int],
        settings: Settings,
    ) -> "SessionUsage":
        """Build the response."""
        return cls(
            models=[_model_sums(model_spent, settings) for model_spent in spent],
            total=UsageSums(**_sums(spent, settings)),
            summaries=SummaryCounts.model_validate(counts),
            event_count=row.last_seq,
            exchange_count=row.exchanges,
        )


def _model_sums(spent: SummarySpending, settings: Settings) -> ModelSums:
    return ModelSums(model=spent.model_id, **_sums([spent], settings))


def _sums(spent: Sequence[SummarySpending], settings: Settings) -> dict[str, Any]:
    sums = Sums.of(spent)
    return {
        "call_count": sums.calls,
        "input_token_count": sums.input_tokens,
        "output_token_count": sums.output_tokens,
        "model_milliseconds": sums.milliseconds,
        "cost": money([model_spent.cost for model_spent in spent], settings.price_currency),
    }
