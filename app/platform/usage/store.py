"""The table of model usage, by engine, day, model and kind of work, and every statement on it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Date,
    Double,
    Index,
    Numeric,
    Select,
    Text,
    case,
    cast,
    delete,
    func,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, mapped_column

from app.adapters.db.base import Base
from app.adapters.db.session import Session
from app.adapters.llm.ports import Meter, Usage
from app.platform.operations.store.tables import OperationRow
from app.platform.usage.logic import Dimension, cost_of
from app.settings.settings import ModelPrice


class ModelUsageRow(Base):
    """The calls of one model for one engine on one UTC day, for one kind of work.

    `cost` is the part with a configured price. Both it and `unpriced_calls` are null if some calls
    had none in a release that did not count them: both are unknown then.
    """

    __tablename__ = "model_usage"
    # For the metrics, which read the last days of all engines.
    __table_args__ = (Index("ix_model_usage_day", "day"),)

    engine_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    model_id: Mapped[str] = mapped_column(Text, primary_key=True)
    # The kind of an operation, or one of `logic.py`; unknown: from before this column.
    kind: Mapped[str] = mapped_column(Text, primary_key=True)
    calls: Mapped[int]
    input_tokens: Mapped[int]
    output_tokens: Mapped[int]
    milliseconds: Mapped[int]
    cost: Mapped[float | None] = mapped_column(Double)
    unpriced_calls: Mapped[int | None]


_KEY = (
    ModelUsageRow.engine_id,
    ModelUsageRow.day,
    ModelUsageRow.model_id,
    ModelUsageRow.kind,
)
_SUMS = (
    func.sum(ModelUsageRow.calls),
    func.sum(ModelUsageRow.input_tokens),
    func.sum(ModelUsageRow.output_tokens),
    func.sum(ModelUsageRow.milliseconds),
)
_COST = func.sum(ModelUsageRow.cost)
_UNPRICED = case(
    (
        func.bool_and(ModelUsageRow.unpriced_calls.is_not(None)),
        func.sum(ModelUsageRow.unpriced_calls),
    )
)
_GROUPED_BY = {
    Dimension.DAY: ModelUsageRow.day,
    Dimension.MODEL: ModelUsageRow.model_id,
    Dimension.KIND: ModelUsageRow.kind,
}


@dataclass(frozen=True)
class UsageLine:
    """Summed usage, by the values of dimensions.

    Attributes:
        cost: the cost of the calls with a price, as far as it is known; None: of none of them.
        unpriced_calls: None: unknown for some calls.
    """

    by: Mapping[Dimension, str | date]
    calls: int
    input_tokens: int
    output_tokens: int
    milliseconds: int
    cost: float | None
    unpriced_calls: int | None


class UsageLines(NamedTuple):
    """The usage of a range of days: grouped, by model, and by model in as many days before."""

    grouped: Sequence[UsageLine]
    by_model: Sequence[UsageLine]
    previous: Sequence[UsageLine]


_Reading = Callable[[Sequence[Dimension], date, date], Awaitable[Sequence[UsageLine]]]


def day_of(now: datetime) -> date:
    """Return the UTC day under which usage at a moment is counted."""
    return now.astimezone(UTC).date()


async def record(
    session: Session,
    engine_id: int,
    now: datetime,
    meter: Meter,
    prices: Mapping[str, ModelPrice],
    kind: str,
) -> None:
    """Add the usage of a piece of work, of this kind, to its engine's day, if there were calls.

    The caller has locked the engine: no rows may be left behind when the engine is deleted. It
    calls this late, since generations of one engine wait here for each other's commit.
    """
    spent = dict(meter.by_model)
    if not spent:
        return
    costs = {model: cost_of(model, used, prices) for model, used in spent.items()}
    statement = insert(ModelUsageRow).values(
        [
            {
                "engine_id": engine_id,
                "day": day_of(now),
                "model_id": model,
                "kind": kind,
                "calls": used.calls,
                "input_tokens": used.input_tokens,
                "output_tokens": used.output_tokens,
                "milliseconds": used.milliseconds,
                "cost": costs[model] or 0.0,
                "unpriced_calls": used.calls if costs[model] is None else 0,
            }
            # Always in the same order: two concurrent recordings must not deadlock.
            for model, used in sorted(spent.items())
        ]
    )
    # What an earlier release left unknown stays null, as intended.
    added = ("calls", "input_tokens", "output_tokens", "milliseconds", "cost", "unpriced_calls")
    sums = {name: getattr(ModelUsageRow, name) + statement.excluded[name] for name in added}
    await session.execute(statement.on_conflict_do_update(index_elements=_KEY, set_=sums))


async def usage_since(session: Session, day: date) -> dict[tuple[str, date], Usage]:
    """Return the usage of all engines from a day on, by model and day."""
    key = (ModelUsageRow.model_id, ModelUsageRow.day)
    statement = select(*key, *_SUMS).where(ModelUsageRow.day >= day).group_by(*key)
    rows = await session.execute(statement)
    return {(model, of): Usage(*map(int, sums)) for model, of, *sums in rows}


async def tokens_of_day(session: Session, engine_id: int, day: date) -> int:
    """Return the input and output tokens that all models used for an engine on a UTC day."""
    used = func.sum(ModelUsageRow.input_tokens + ModelUsageRow.output_tokens)
    statement = select(used).where(ModelUsageRow.engine_id == engine_id, ModelUsageRow.day == day)
    return int((await session.execute(statement)).scalar_one() or 0)


async def list_usage(
    session: Session, engine_id: int, start: date, end: date, by: Sequence[Dimension]
) -> UsageLines:
    """Return the sums of an engine's usage from `start` to `end`, both included, in order."""

    async def of_engine(named: Sequence[Dimension], first: date, last: date) -> list[UsageLine]:
        statement = _sums_by(named, first, last).where(ModelUsageRow.engine_id == engine_id)
        return [_line(named, row) for row in await session.execute(statement)]

    return await _compared(of_engine, start, end, by)


async def list_usage_of_all(
    session: Session, start: date, end: date, by: Sequence[Dimension]
) -> UsageLines:
    """Return the sums of all engines' usage from `start` to `end`, both included, in order."""

    async def of_all(named: Sequence[Dimension], first: date, last: date) -> list[UsageLine]:
        statement = _sums_by(named, first, last)
        return [_line(named, row) for row in await session.execute(statement)]

    return await _compared(of_all, start, end, by)


async def _compared(read: _Reading, start: date, end: date, by: Sequence[Dimension]) -> UsageLines:
    days = end.toordinal() - start.toordinal() + 1
    by_model = (Dimension.MODEL,)
    # The calendar starts with the year 1.
    earlier = [date.fromordinal(max(1, day.toordinal() - days)) for day in (start, end)]
    return UsageLines(
        grouped=await read(by, start, end),
        by_model=await read(by_model, start, end),
        previous=await read(by_model, *earlier),
    )


def _sums_by(by: Sequence[Dimension], start: date, end: date) -> Select[Any]:
    key = [_GROUPED_BY[dimension] for dimension in by]
    of_days = ModelUsageRow.day.between(start, end)
    return select(*_SUMS, _COST, _UNPRICED, *key).where(of_days).group_by(*key).order_by(*key)


def _line(by: Sequence[Dimension], row: Sequence[Any]) -> UsageLine:
    calls, input_tokens, output_tokens, milliseconds, cost, unpriced, *values = row
    return UsageLine(
        dict(zip(by, values, strict=True)),
        calls=int(calls),
        input_tokens=int(input_tokens),
        output_tokens=int(output_tokens),
        milliseconds=int(milliseconds),
        cost=cost,
        unpriced_calls=None if unpriced is None else int(unpriced),
    )


@dataclass(frozen=True)
class OperationSums:
    """Summed metadata of operations; the cost is of one currency."""

    operations: int
    first_time: datetime | None
    calls: int
    input_tokens: int
    output_tokens: int
    milliseconds: int
    cost: float | None
    unpriced_calls: int


async def sum_operations(
    session: Session, listed: Select[OperationRow], currency: str
) -> OperationSums:
    """Return the sums of selected operations, with the costs in a currency."""
    calls, cost = _number("modelCallCount"), OperationRow.details["cost"]
    currency_of = cost["currency"].astext
    counts = (
        calls,
        _number("inputTokenCount"),
        _number("outputTokenCount"),
        _number("modelMilliseconds"),
        case((currency_of.is_distinct_from(currency), calls)),
    )
    statement = listed.with_only_columns(
        func.count(),
        func.min(OperationRow.create_time),
        func.sum(case((currency_of == currency, _as_number(cost["amount"])))),
        *map(func.sum, counts),
    )
    operations, first, amount, *sums = (await session.execute(statement)).one()
    calls_, input_tokens, output_tokens, milliseconds, unpriced = (int(one or 0) for one in sums)
    return OperationSums(
        operations,
        first,
        calls_,
        input_tokens,
        output_tokens,
        milliseconds,
        None if amount is None else float(amount),
        unpriced,
    )


def _number(name: str) -> ColumnElement[Any]:
    return _as_number(OperationRow.details[name])


def _as_number(value: ColumnElement[Any]) -> ColumnElement[Any]:
    # Metadata of an archive may hold any JSON.
    return case((func.jsonb_typeof(value) == "number", cast(value, Numeric)))


async def remove_of_engine(session: Session, engine_id: int, limit: int) -> int:
    """Remove up to `limit` rows of an engine being deleted; return the number removed."""
    mine = ModelUsageRow.engine_id == engine_id
    some = select(*_KEY).where(mine).limit(limit).subquery()
    statement = (
        delete(ModelUsageRow)
        .where(mine, tuple_(*_KEY).in_(select(some)))
        .returning(ModelUsageRow.model_id)
        .execution_options(synchronize_session=False)
    )
    return len((await session.execute(statement)).all())
