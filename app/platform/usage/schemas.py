"""The wire form of an engine's usage, with counts as JSON numbers."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from app.kernel.wire.archived import Amount, ArchivedRow, Count, KindName, PastDay, Text
from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Timestamp
from app.platform.usage.logic import Dimension, Sums, money
from app.platform.usage.store import UsageLine, UsageLines

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
    known_cost: Money | None = Field(
        None,
        description="Cost of the calls whose model had a price; absent: no such cost is known.",
    )
    unpriced_call_count: int | None = Field(
        None,
        description="Calls whose model had no price, which `knownCost` lacks; absent: unknown for"
        " calls that an earlier release recorded.",
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


class EngineGeneration(WireModel):
    """The model that writes the memories of an engine."""

    model: str = Field(
        description="Id of the model that writes, or `builtin-rules/N`.",
        examples=["openai:gpt-5-mini"],
    )
    available_models: list[str] = Field(
        description="Names of configured models that `generationConfig.model` can have; without"
        " it, the default of the service writes."
    )


class UsageOfDays(WireModel):
    """The model usage in a range of days, next to the range before it."""

    usage: list[ModelUsage] = Field(
        description="Sums by the fields in `groupBy`; groups without calls are left out."
    )
    total: UsageSums = Field(description="Sums over all that `usage` could list.")
    previous_total: UsageSums = Field(
        description="Sums over as many days, just before the first day."
    )
    unpriced_models: list[str] = Field(
        description="Ids of the models in `total` some of whose calls had no price, or may have had"
        " none."
    )

    @classmethod
    def of_lines(cls, lines: UsageLines, currency: str) -> "UsageOfDays":
        """Build the wire form."""
        return cls(
            usage=[ModelUsage.from_line(line, currency) for line in lines.grouped],
            total=UsageSums(**_sums(lines.grouped, currency)),
            previous_total=UsageSums(**_sums(lines.previous, currency)),
            unpriced_models=[
                str(line.by[Dimension.MODEL]) for line in lines.by_model if line.unpriced_calls != 0
            ],
        )


class EngineUsage(UsageOfDays):
    """The model usage of an engine in a range of days, and its stored amounts."""

    budget: TokenBudget | None = Field(
        None, description="Tokens of today; absent: the service sets no budget."
    )
    quotas: EngineQuotas = Field(description="Stored amounts, each with its limit.")
    embedding: EngineEmbedding = Field(description="State of the vectors of its memories.")
    generation: EngineGeneration = Field(description="Model that writes its memories.")

    @classmethod
    def from_lines(
        cls,
        lines: UsageLines,
        currency: str,
        budget: TokenBudget | None,
        quotas: EngineQuotas,
        embedding: EngineEmbedding,
        generation: EngineGeneration,
    ) -> "EngineUsage":
        """Build the wire form."""
        return cls(
            **dict(UsageOfDays.of_lines(lines, currency)),
            budget=budget,
            quotas=quotas,
            embedding=embedding,
            generation=generation,
        )


def _sums(lines: Sequence[UsageLine], currency: str) -> Mapping[str, Any]:
    total = Sums.of(lines)
    known = [line.cost for line in lines if line.cost is not None]
    unpriced = [line.unpriced_calls for line in lines]
    counted = [count for count in unpriced if count is not None]
    is_whole = len(counted) == len(unpriced)
    return {
        "call_count": total.calls,
        "input_token_count": total.input_tokens,
        "output_token_count": total.output_tokens,
        "model_milliseconds": total.milliseconds,
        "cost": money(known, currency) if is_whole and not any(counted) else None,
        "known_cost": money(known, currency),
        "unpriced_call_count": sum(counted) if is_whole else None,
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
        description="Calls that `knownCost` lacks: of operations without a known cost, or with one"
        " in another currency than the configured prices have."
    )


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
    unpriced_calls: Count | None = None
