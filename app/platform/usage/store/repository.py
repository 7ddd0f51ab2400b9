"""Every statement on the usage of models. All functions take part in the caller's transaction."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime

from sqlalchemy import delete, func, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from app.adapters.db.session import Session
from app.adapters.llm.ports import Meter, Usage
from app.platform.usage.logic.costs import cost_of
from app.platform.usage.store.tables import ModelUsageRow
from app.settings.settings import ModelPrice

_KEY = (ModelUsageRow.engine_id, ModelUsageRow.day, ModelUsageRow.model_id)


def day_of(now: datetime) -> date:
    """Return the UTC day under which usage at a moment is counted."""
    return now.astimezone(UTC).date()


async def record(
    session: Session,
    engine_id: int,
    now: datetime,
    meter: Meter,
    prices: Mapping[str, ModelPrice],
) -> None:
    """Add the usage of a piece of work to its engine's day; do nothing without calls.

    The caller has locked the engine, so that nothing is left behind when the engine is deleted. It
    calls this late: generations of one engine wait here for each other's commit.
    """
    spent = dict(meter.by_model)
    if not spent:
        return
    statement = insert(ModelUsageRow).values(
        [
            {
                "engine_id": engine_id,
                "day": day_of(now),
                "model_id": model,
                "calls": used.calls,
                "input_tokens": used.input_tokens,
                "output_tokens": used.output_tokens,
                "milliseconds": used.milliseconds,
                "cost": cost_of(model, used, prices),
            }
            # Always in the same order: two concurrent recordings must not deadlock.
            for model, used in sorted(spent.items())
        ]
    )
    # An unknown cost makes the sum null, as it should.
    added = ("calls", "input_tokens", "output_tokens", "milliseconds", "cost")
    sums = {name: getattr(ModelUsageRow, name) + statement.excluded[name] for name in added}
    await session.execute(statement.on_conflict_do_update(index_elements=_KEY, set_=sums))


async def usage_since(session: Session, day: date) -> dict[tuple[str, date], Usage]:
    """Return what all engines used from a day on, by model and day."""
    columns = (
        ModelUsageRow.calls,
        ModelUsageRow.input_tokens,
        ModelUsageRow.output_tokens,
        ModelUsageRow.milliseconds,
    )
    key = (ModelUsageRow.model_id, ModelUsageRow.day)
    statement = (
        select(*key, *(func.sum(column) for column in columns))
        .where(ModelUsageRow.day >= day)
        .group_by(*key)
    )
    rows = await session.execute(statement)
    return {(model, of): Usage(*map(int, sums)) for model, of, *sums in rows}


async def tokens_of_day(session: Session, engine_id: int, day: date) -> int:
    """Return the input and output tokens that all models used for an engine on a UTC day."""
    used = func.sum(ModelUsageRow.input_tokens + ModelUsageRow.output_tokens)
    statement = select(used).where(ModelUsageRow.engine_id == engine_id, ModelUsageRow.day == day)
    return int((await session.execute(statement)).scalar_one() or 0)


async def list_usage(
    session: Session, engine_id: int, start: date, end: date
) -> Sequence[ModelUsageRow]:
    """Return an engine's usage from `start` to `end`, both included, by day and model."""
    statement = (
        select(ModelUsageRow)
        .where(ModelUsageRow.engine_id == engine_id, ModelUsageRow.day.between(start, end))
        .order_by(ModelUsageRow.day, ModelUsageRow.model_id)
    )
    return (await session.execute(statement)).scalars().all()


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
