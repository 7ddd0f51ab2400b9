"""The wire form of an engine's usage; the method is this service's own.

Counts are JSON numbers: whoever shows them need not parse them first.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Timestamp
from app.platform.usage.logic.costs import Sums, money
from app.platform.usage.store.tables import ModelUsageRow

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _read_day(value: object) -> date:
    # The framework's own reading takes seconds since 1970, and moments at midnight, too.
    if isinstance(value, date):
        return value
    if not isinstance(value, str) or _DAY.fullmatch(value) is None:
        raise ValueError('must be a day such as "2026-11-21"')
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError("must be a day that the calendar has") from None


Day = Annotated[
    date,
    BeforeValidator(_read_day),
    WithJsonSchema({"type": "string", "format": "date", "examples": ["2026-11-21"]}),
]
"""A day of UTC: `"2026-11-21"`."""


class Money(WireModel):
    """An amount, rounded to nine digits after the point."""

    amount: float
    currency: str = Field(examples=["USD"])


class UsageSums(WireModel):
    """What calls of models took."""

    call_count: int = Field(description="Requests to models, failed ones too.")
    input_token_count: int
    output_token_count: int
    model_milliseconds: int
    cost: Money | None = Field(
        None, description="Absent unless every call's model had a configured price at the time."
    )


class ModelUsage(UsageSums):
    """What calls of one model took on one day."""

    day: Day
    model: str = Field(examples=["openai:gpt-5-mini"])

    @classmethod
    def from_row(cls, row: ModelUsageRow, currency: str) -> "ModelUsage":
        """Build the answer."""
        return cls(day=row.day, model=row.model_id, **_sums([row], currency))


class TokenBudget(WireModel):
    """The tokens, in and out, that the engine may use today."""

    daily_token_limit: int
    used_token_count: int
    reset_time: Timestamp = Field(description="When there are tokens again: midnight of UTC.")


class QuotaUse(WireModel):
    """How much of something the engine has, and may have."""

    used: int
    limit: int | None = Field(None, description="Absent: no bound.")


class EngineQuotas(WireModel):
    """How much the engine holds at present, and may hold."""

    memories: QuotaUse = Field(description="Without those that were deleted.")
    sessions: QuotaUse
    events: QuotaUse = Field(description="Of sessions, and ingested ones that wait.")
    bytes: QuotaUse = Field(description="What all of them say, with revisions and states.")
    artifact_bytes: QuotaUse = Field(description="Of task memory.")


class EngineUsage(WireModel):
    """What the models of an engine took in a range of days, and how much it holds."""

    usage: list[ModelUsage] = Field(description="By day and model; days without calls are absent.")
    total: UsageSums
    budget: TokenBudget | None = Field(None, description="There when the service sets a budget.")
    quotas: EngineQuotas

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[ModelUsageRow],
        currency: str,
        budget: TokenBudget | None,
        quotas: EngineQuotas,
    ) -> "EngineUsage":
        """Build the answer."""
        return cls(
            usage=[ModelUsage.from_row(row, currency) for row in rows],
            total=UsageSums(**_sums(rows, currency)),
            budget=budget,
            quotas=quotas,
        )


def _sums(rows: Sequence[ModelUsageRow], currency: str) -> Mapping[str, Any]:
    found = Sums.of(rows)
    return {
        "call_count": found.calls,
        "input_token_count": found.input_tokens,
        "output_token_count": found.output_tokens,
        "model_milliseconds": found.milliseconds,
        "cost": money([row.cost for row in rows], currency),
    }
