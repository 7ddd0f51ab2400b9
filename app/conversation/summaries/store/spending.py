"""Counts and usage totals of a session's summaries.

All functions take part in the caller's transaction.
"""

from dataclasses import dataclass

from sqlalchemy import BigInteger, ColumnElement, Double, case, cast, func, literal, select
from sqlalchemy.dialects.postgresql import JSONB

from app.adapters.db.session import Session
from app.conversation.summaries.store.repository import of
from app.conversation.summaries.store.tables import SessionSummaryRow
from app.kernel.names import SessionName

_R = SessionSummaryRow


async def count_states(session: Session, name: SessionName) -> dict[str, int]:
    """Return the number of a session's summaries by state."""
    statement = select(_R.state, func.count()).where(of(name)).group_by(_R.state)
    counted = (await session.execute(statement)).all()
    return {row[0]: row[1] for row in counted}


@dataclass(frozen=True)
class SummarySpending:
    """Usage of one model for a session's summaries; `cost` None: unknown."""

    model_id: str
    calls: int
    input_tokens: int
    output_tokens: int
    milliseconds: int
    cost: float | None


async def list_spent(session: Session, name: SessionName) -> list[SummarySpending]:
    """Return the usage of a session's summaries by model, failed attempts included."""
    each = func.jsonb_each(_R.usage).table_valued("key", "value", name="spent").lateral()
    told = cast(each.c.value, JSONB)

    def total(field_name: str) -> ColumnElement[int]:
        return cast(func.sum(cast(told[field_name].astext, BigInteger)), BigInteger)

    costs = cast(told["cost"].astext, Double)
    all_known = func.bool_and(told.has_key("cost"))
    statement = (
        select(
            each.c.key,
            *map(total, ("calls", "inputTokens", "outputTokens", "milliseconds")),
            case((all_known, func.sum(costs)), else_=None),
        )
        .select_from(_R)
        .join(each, literal(value=True))
        .where(of(name))
        .group_by(each.c.key)
        .order_by(each.c.key)
    )
    return [SummarySpending(*row) for row in await session.execute(statement)]
