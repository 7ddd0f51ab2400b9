"""Use cases of usage: the budget of tokens, and the sums by day, model and kind of work."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from math import ceil

from app.adapters.db.clock import database_now
from app.adapters.db.session import Database, Session
from app.adapters.resources import CountOfEngine, Resources
from app.kernel.clock import Clock
from app.kernel.errors import InvalidArgument, Reason, ResourceExhausted
from app.kernel.limits import Counted
from app.kernel.names import EngineName
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import EngineRow
from app.platform.limits.services.quotas import bounds
from app.platform.limits.store.repository import read_totals
from app.platform.usage.logic.costs import is_used_up
from app.platform.usage.logic.grouping import read_grouping
from app.platform.usage.schemas import (
    MAX_WAITING,
    EngineEmbedding,
    EngineQuotas,
    EngineUsage,
    QuotaUse,
    TokenBudget,
)
from app.platform.usage.store import repository
from app.platform.usage.store.repository import day_of
from app.settings.settings import Settings

_DEFAULT_DAYS = 30
_MAX_DAYS = 366


@dataclass(frozen=True)
class UsageService:
    """Use cases of an engine's model usage and token budget."""

    db: Database
    clock: Clock
    settings: Settings
    unembedded: CountOfEngine | None = None

    @classmethod
    def of(cls, resources: Resources) -> "UsageService":
        """Build the service from the process's resources."""
        return cls(resources.db, resources.clock, resources.settings, resources.registry.unembedded)

    async def check_budget(self, session: Session, engine_id: int) -> None:
        """Refuse a model call for an engine that has used up its tokens of this UTC day.

        Raises:
            ResourceExhausted: the error names the budget and the time of its renewal.
        """
        limit = self.settings.daily_max_tokens
        if limit is None:
            return
        now = await database_now(session)
        used = await repository.tokens_of_day(session, engine_id, day_of(now))
        if is_used_up(used, limit):
            raise _exhausted(engine_id, used, limit, now)

    async def usage(
        self, name: EngineName, start: date | None, end: date | None, group_by: str | None
    ) -> EngineUsage:
        """Return the usage of an engine's models from `start` to `end`, both included.

        The defaults are today for `end`, thirty days for the range, and day and model to group by.

        Raises:
            InvalidArgument: the days are in the wrong order or too far apart, or `group_by` names
                an unknown dimension.
            NotFound: no such engine.
        """
        now, by = self.clock.now(), read_grouping(group_by)
        first, last = _range(start, end, day_of(now))
        async with self.db.snapshot() as session:
            engine = await engines.get(session, name)
            lines = await repository.list_usage(session, name.engine, first, last, by)
            budget = await self._budget(session, name.engine, now)
            quotas = await self._quotas(session, name.engine)
            embedding = await self._embedding(session, engine)
        currency = self.settings.price_currency
        return EngineUsage.from_lines(lines, currency, budget, quotas, embedding)

    async def _quotas(self, session: Session, engine_id: int) -> EngineQuotas:
        limits = bounds(self.settings, *Counted)
        totals = await read_totals(session, engine_id)
        return EngineQuotas.model_validate(
            {kind: QuotaUse(used=totals[kind], limit=limits.get(kind)) for kind in Counted}
        )

    async def _embedding(self, session: Session, engine: EngineRow) -> EngineEmbedding:
        waiting = 0
        if self.unembedded is not None:
            waiting = await self.unembedded(session, engine.engine_id, MAX_WAITING + 1)
        return EngineEmbedding(
            model=engine.embedding_model,
            target=engine.embedding_target,
            waiting_memory_count=min(waiting, MAX_WAITING),
            is_capped=True if waiting > MAX_WAITING else None,
        )

    async def _budget(self, session: Session, engine_id: int, now: datetime) -> TokenBudget | None:
        limit = self.settings.daily_max_tokens
        if limit is None:
            return None
        return TokenBudget(
            daily_token_limit=limit,
            used_token_count=await repository.tokens_of_day(session, engine_id, day_of(now)),
            reset_time=reset_time(now),
        )


def _range(start: date | None, end: date | None, today: date) -> tuple[date, date]:
    last = end or today
    # Not `last - ...`: the calendar starts with the year 1.
    first = start or date.fromordinal(max(1, last.toordinal() - _DEFAULT_DAYS + 1))
    if first > last:
        raise InvalidArgument.of_field("startDay", f"must not be after {last.isoformat()}.")
    if (last - first).days >= _MAX_DAYS:
        earliest = last - timedelta(days=_MAX_DAYS - 1)
        raise InvalidArgument.of_field(
            "startDay",
            f"must not be before {earliest.isoformat()}: a range has at most {_MAX_DAYS} days, both"
            " ends included.",
        )
    return first, last


def reset_time(now: datetime) -> datetime:
    """Return the renewal time of a day's budget: the next midnight UTC."""
    return datetime.combine(day_of(now) + timedelta(days=1), time(), UTC)


def _exhausted(engine_id: int, used: int, limit: int, now: datetime) -> ResourceExhausted:
    day = day_of(now).isoformat()
    return ResourceExhausted(
        f"reasoningEngines/{engine_id} has used {used} of its {limit} tokens of {day} (UTC);"
        " the budget is renewed at midnight.",
        Reason.TOKEN_BUDGET_EXHAUSTED,
        metadata={
            "engine": str(engine_id),
            "day": day,
            "usedTokenCount": str(used),
            "dailyTokenLimit": str(limit),
        },
        retry_after_seconds=ceil((reset_time(now) - now).total_seconds()),
    )
