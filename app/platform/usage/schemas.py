"""The wire form of an engine's usage; the method is this service's own.

Counts are JSON numbers: clients need not parse them first.
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
    """The consumption of one model's calls on one day."""

    day: Day = Field(description="Day of UTC.")
    model: str = Field(
        examples=["openai:gpt-5-mini"],
        description="Id of the model: its provider and its name.",
    )

    @classmethod
    def from_row(cls, row: ModelUsageRow, currency: str) -> "ModelUsage":
        """Build the wire form."""
        return cls(day=row.day, model=row.model_id, **_sums([row], currency))


class TokenBudget(WireModel):
    """The input and output tokens that the engine may use today."""

    daily_token_limit: int = Field(description="Tokens that the engine may use in a day of UTC.")
    used_token_count: int = Field(description="Tokens used since the last midnight of UTC.")
    reset_time: Timestamp = Field(
        description="Time of the budget's renewal: the next midnight UTC."
    )


class QuotaUse(WireModel):
    """An engine's use of one quota."""

    used: int = Field(description="Amount held now, in rows or bytes.")
    limit: int | None = Field(None, description="Absent: no bound.")


class EngineQuotas(WireModel):
    """The amounts that the engine holds and may hold."""

    memories: QuotaUse = Field(description="Live memories, without deleted ones.")
    sessions: QuotaUse = Field(description="Sessions that have not expired.")
    events: QuotaUse = Field(
        description="Events of sessions, and ingested events not yet processed."
    )
    bytes: QuotaUse = Field(description="Content of all of them, with revisions and states.")
    artifact_bytes: QuotaUse = Field(description="Artifacts of task memory.")


class EngineUsage(WireModel):
    """The model usage of an engine in a range of days, and the amounts it holds."""

    usage: list[ModelUsage] = Field(description="By day and model; days without calls are absent.")
    total: UsageSums = Field(description="Sums over all days and models of the range.")
    budget: TokenBudget | None = Field(None, description="Present if the service sets a budget.")
    quotas: EngineQuotas = Field(description="Amounts held, each with its bound.")

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[ModelUsageRow],
        currency: str,
        budget: TokenBudget | None,
        quotas: EngineQuotas,
    ) -> "EngineUsage":
        """Build the wire form."""
        return cls(
            usage=[ModelUsage.from_row(row, currency) for row in rows],
            total=UsageSums(**_sums(rows, currency)),
            budget=budget,
            quotas=quotas,
        )


def _sums(rows: Sequence[ModelUsageRow], currency: str) -> Mapping[str, Any]:
    total = Sums.of(rows)
    return {
        "call_count": total.calls,
        "input_token_count": total.input_tokens,
        "output_token_count": total.output_tokens,
        "model_milliseconds": total.milliseconds,
        "cost": money([row.cost for row in rows], currency),
    }
