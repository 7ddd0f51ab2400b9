"""The wire form of an engine's usage; the method is this service's own.

Counts are JSON numbers: clients need not parse them first.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from app.kernel.wire.archived import Amount, ArchivedRow, Count, KindName, PastDay, Text
from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Timestamp
from app.platform.usage.logic import Sums, money
from app.platform.usage.store import UsageLine

MAX_WAITING = 1_000
"""The most memories without vectors that are counted."""
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _read_day(value: object) -> date:
    # The framework's own parser also accepts seconds since 1970 and times at midnight.
    if isinstance(value, date):
        return value
    if not isinstance(value, str) or _DAY.fullmatch(value) is None:
        raise ValueError('must be a day such as "2026-11-21"')
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError("must be a valid calendar day") from None


Day = Annotated[
    date,
    BeforeValidator(_read_day),
    WithJsonSchema({"type": "string", "format": "date", "examples": ["2026-11-21"]}),
]
"""A day of UTC: `"2026-11-21"`."""


class Money(WireModel):
    """An amount of money, rounded to nine decimal places."""

    amount: float = Field(description="Sum in the currency.")
    currency: str = Field(
        examples=["USD"],
        description="Currency of the configured prices, as a code of three letters.",
    )


class UsageSums(WireModel):
    """The consumption of model calls."""

    call_count: int = Field(description="Requests to models, including failed ones.")
    input_token_count: int = Field(description="Tokens sent to models.")
    output_token_count: int = Field(description="Tokens that models wrote.")
    model_milliseconds: int = Field(
        description="Time that the calls took together, in milliseconds."
    )
    cost: Money | None = Field(
        None, description="Absent unless every call's model had a configured price at the time."
    )


class ModelUsage(UsageSums):
    """Usage of model calls, by the fields in `groupBy`: usually of one model on one day."""

    day: Day | None = Field(None, description="Day, of UTC; absent: all.")
    model: str | None = Field(
        None, description="Id of the model; absent: all.", examples=["openai:gpt-5-mini"]
    )
    kind: str | None = Field(
        None,
        description="Kind of the operation that called, `recall`, `query` (of task memory), or"
        " `unknown`: recorded by an earlier release; absent: all.",
        examples=["generation.generate"],
    )

    @classmethod
    def from_line(cls, line: UsageLine, currency: str) -> "ModelUsage":
        """Build the wire form."""
        by = {dimension.value: value for dimension, value in line.by.items()}
        return cls(**by, **_sums([line], currency))


class TokenBudget(WireModel):
    """The input and output tokens that the engine may use today."""

    daily_token_limit: int = Field(description="Tokens that the engine may use in a day of UTC.")
    used_token_count: int = Field(description="Tokens used since the last midnight of UTC.")
    reset_time: Timestamp = Field(
        description="Time of the budget's renewal: the next midnight UTC."
    )


class QuotaUse(WireModel):
    """An engine's use of one quota."""

    used: int = Field(description="Stored amount, in rows or bytes.")
    limit: int | None = Field(
        None, description="Largest amount, in rows or bytes; absent: no bound."
    )


class EngineQuotas(WireModel):
    """The stored amounts of the engine with their limits."""

    memories: QuotaUse = Field(description="Live memories, without deleted ones.")
    sessions: QuotaUse = Field(description="Sessions that have not expired.")
    events: QuotaUse = Field(
        description="Events of sessions, and ingested events not yet processed."
    )
    bytes: QuotaUse = Field(description="Content of all of them, with revisions and states.")
    artifact_bytes: QuotaUse = Field(description="Artifacts of task memory.")


class EngineEmbedding(WireModel):
    """The state of the vectors of an engine's memories."""

    model: str | None = Field(
        None, description="Id of the model for searches; absent: there are no vectors."
    )
    target: str | None = Field(
        None,
        description="Id of the new model of an unfinished re-embedding; until its end, `model`"
        " serves. Absent: none is running.",
    )
    waiting_memory_count: int = Field(
        description=f"Memories that wait for their vectors, up to {MAX_WAITING:,}; searches find"
        " them only by words."
    )
    is_capped: bool | None = Field(None, description="True: more of them wait; absent: no.")


class EngineUsage(WireModel):
    """The model usage of an engine in a range of days, and its stored amounts."""

    usage: list[ModelUsage] = Field(
        description="Sums by the fields in `groupBy`; groups without calls are left out."
    )
    total: UsageSums = Field(description="Sums over all that `usage` could list.")
    budget: TokenBudget | None = Field(
        None, description="Tokens of today; absent: the service sets no budget."
    )
    quotas: EngineQuotas = Field(description="Stored amounts, each with its limit.")
    embedding: EngineEmbedding = Field(description="State of the vectors of its memories.")

    @classmethod
    def from_lines(
        cls,
        lines: Sequence[UsageLine],
        currency: str,
        budget: TokenBudget | None,
        quotas: EngineQuotas,
        embedding: EngineEmbedding,
    ) -> "EngineUsage":
        """Build the wire form."""
        return cls(
            usage=[ModelUsage.from_line(line, currency) for line in lines],
            total=UsageSums(**_sums(lines, currency)),
            budget=budget,
            quotas=quotas,
            embedding=embedding,
        )


def _sums(lines: Sequence[UsageLine], currency: str) -> Mapping[str, Any]:
    total = Sums.of(lines)
    return {
        "call_count": total.calls,
        "input_token_count": total.input_tokens,
        "output_token_count": total.output_tokens,
        "model_milliseconds": total.milliseconds,
        "cost": money([line.cost for line in lines], currency),
    }


class OperationsUsage(UsageSums):
    """The consumption of operations together."""

    operation_count: int = Field(description="Operations that were summed up.")
    first_time: Timestamp | None = Field(
        None,
        description="Creation time of the first of them; earlier ones are no longer kept. Absent:"
        " there are none.",
    )
    unpriced_call_count: int = Field(
        description="Requests that `cost` leaves out: of operations without a known cost, or with"
        " one in another currency than that of the configured prices."
    )
    cost: Money | None = Field(None, description="Sum of the known costs; absent: there are none.")


class ArchivedUsage(ArchivedRow):
    """The columns of a day's usage in an archive."""

    day: PastDay
    model_id: Text
    kind: KindName
    calls: Count
    input_tokens: Count
    output_tokens: Count
    milliseconds: Count
    cost: Amount | None
