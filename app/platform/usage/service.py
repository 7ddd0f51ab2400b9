"""Use cases of usage: its recording, the budget of tokens, sums, and metrics of all processes."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from math import ceil
from typing import Any

import structlog
from prometheus_client import Counter

from app.adapters.db.clock import database_now
from app.adapters.db.filters import read_filter
from app.adapters.db.session import Database, Session
from app.adapters.db.transaction_settings import limited
from app.adapters.llm.models import TextModels
from app.adapters.llm.ports import Meter, Usage
from app.adapters.metrics import of_all
from app.adapters.resources import CountOfEngine, Resources
from app.kernel.clock import Clock
from app.kernel.errors import InvalidArgument, Reason, ResourceExhausted, describe
from app.kernel.limits import Counted
from app.kernel.names import EngineName
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow, config_of
from app.platform.limits.services.quotas import bounds
from app.platform.limits.store import read_totals
from app.platform.operations.services.runner import Job
from app.platform.operations.store.filtering import operations
from app.platform.operations.store.repository import select_operations
from app.platform.usage import logic as costs
from app.platform.usage import store
from app.platform.usage.logic import is_used_up, read_grouping
from app.platform.usage.schemas import (
    MAX_WAITING,
    EngineEmbedding,
    EngineGeneration,
    EngineQuotas,
    EngineUsage,
    OperationsUsage,
    QuotaUse,
    TokenBudget,
    UsageOfDays,
)
from app.platform.usage.store import day_of
from app.settings.settings import Settings

_DEFAULT_DAYS = 30
_MAX_DAYS = 366
log = structlog.get_logger()

MAX_NOTE_SECONDS = 5
"""Limit for recording the costs of stopped work, since the cancelling side waits."""
_CALLS = of_all(
    Counter,
    "memory_bank_model_calls",
    "Requests to a model by all processes, including failed ones.",
    ["model"],
)
_SECONDS = of_all(
    Counter,
    "memory_bank_model_seconds",
    "Time from a model request to its answer, of all processes.",
    ["model"],
)
_TOKENS = of_all(
    Counter,
    "memory_bank_model_tokens",
    "Tokens of prompts and of answers, of all processes.",
    ["model", "direction"],
)
_LATE = timedelta(days=1)
"""Time after the end of a day in which a process whose clock is behind may still add usage."""


@dataclass(frozen=True)
class UsageService:
    """Use cases of an engine's model usage and token budget."""

    db: Database
    clock: Clock
    settings: Settings
    unembedded: CountOfEngine | None = None
    models: TextModels = field(default_factory=TextModels)

    @classmethod
    def of(cls, resources: Resources) -> "UsageService":
        """Build the service from the process's resources."""
        return cls(
            resources.db,
            resources.clock,
            resources.settings,
            resources.registry.unembedded,
            resources.models,
        )

    async def check_budget(self, session: Session, engine_id: int) -> None:
        """Raise ResourceExhausted if an engine has used up its tokens of this UTC day."""
        limit = self.settings.daily_max_tokens
        if limit is None:
            return
        now = await database_now(session)
        used = await store.tokens_of_day(session, engine_id, day_of(now))
        if is_used_up(used, limit):
            raise _exhausted(engine_id, used, limit, now)

    async def usage(
        self, name: EngineName, start: date | None, end: date | None, group_by: str | None
    ) -> EngineUsage:
        """Return the usage of an engine's models from `start` to `end`, both included.

        The defaults are today for `end`, thirty days for the range, and day and model to group by.
        """
        now, by = self.clock.now(), read_grouping(group_by)
        first, last = _range(start, end, day_of(now))
        async with self.db.snapshot() as session:
            engine = await engines.get(session, name)
            lines = await store.list_usage(session, name.engine, first, last, by)
            budget = await self._budget(session, name.engine, now)
            quotas = await self._quotas(session, name.engine)
            embedding = await self._embedding(session, engine)
        currency = self.settings.price_currency
        generation = self._generation(engine)
        return EngineUsage.from_lines(lines, currency, budget, quotas, embedding, generation)

    async def usage_of_all(
        self, start: date | None, end: date | None, group_by: str | None
    ) -> UsageOfDays:
        """Return the usage of all engines' models, with the defaults and errors of `usage`."""
        by = read_grouping(group_by)
        first, last = _range(start, end, day_of(self.clock.now()))
        lines = await self.db.read_all(
            partial(store.list_usage_of_all, start=first, end=last, by=by)
        )
        return UsageOfDays.of_lines(lines, self.settings.price_currency)

    async def of_operations(
        self, name: EngineName, filter_text: str | None, kinds: Collection[str]
    ) -> OperationsUsage:
        """Return the consumption of operations that match a filter; refuse to sum up too many."""
        clause = read_filter(filter_text, operations(name, kinds).fields, self.settings)
        listed = select_operations(name, self.clock.now()).where(clause.condition)
        currency = self.settings.price_currency
        async with self.db.snapshot() as session:
            await engines.get(session, name)
            async with limited(session, self.settings.filter_timeout_seconds):
                sums = await store.sum_operations(session, listed, currency)
        known = costs.money([sums.cost], currency)
        return OperationsUsage(
            operation_count=sums.operations,
            first_time=sums.first_time,
            call_count=sums.calls,
            input_token_count=sums.input_tokens,
            output_token_count=sums.output_tokens,
            model_milliseconds=sums.milliseconds,
            cost=None if sums.unpriced_calls else known,
            known_cost=known,
            unpriced_call_count=sums.unpriced_calls,
        )

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

    def _generation(self, engine: EngineRow) -> EngineGeneration:
        configured = config_of(engine).generation_config
        chosen = self.models.choose(None if configured is None else configured.model)
        return EngineGeneration(
            model=self.models.writer if chosen is None else chosen.model_id,
            available_models=list(self.models.names),
        )

    async def _budget(self, session: Session, engine_id: int, now: datetime) -> TokenBudget | None:
        limit = self.settings.daily_max_tokens
        if limit is None:
            return None
        return TokenBudget(
            daily_token_limit=limit,
            used_token_count=await store.tokens_of_day(session, engine_id, day_of(now)),
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


async def finish_in_time(recording: asyncio.Task[None]) -> bool:
    """Wait for a task that records costs; cancel it and return False if that takes too long.

    A second cancellation does not interrupt the task.
    """
    _, late = await asyncio.wait([recording], timeout=MAX_NOTE_SECONDS)
    for task in late:
        task.cancel()
    return not late


@asynccontextmanager
async def recorded(
    resources: Resources, engine: EngineName, meter: Meter, kind: str
) -> AsyncIterator[None]:
    """Add the usage that the block has put into `meter` to its engine's day, even on failure.

    No transaction may be open: this opens one after the block.
    """
    recording = _Recording(resources, engine, meter, kind)
    try:
        yield
    except BaseException:
        await _wait_for_recording(asyncio.create_task(recording.now()))
        raise
    noting = asyncio.create_task(recording.now())
    try:
        # Unlike `await noting`, this does not cancel the task if the request is cancelled.
        await asyncio.wait([noting])
    except BaseException:
        await _wait_for_recording(noting)
        raise
    if resources.db.is_primary_away:
        # The answer exists and is paid for: return it, even if the costs are not recorded.
        await _wait_for_recording(noting)
        return
    noting.result()


async def _wait_for_recording(noting: asyncio.Task[None]) -> None:
    if await finish_in_time(noting) and (error := noting.exception()) is not None:
        log.warning("usage.costs_not_recorded", error=describe(error))


@dataclass(frozen=True)
class _Recording:
    resources: Resources
    engine: EngineName
    meter: Meter
    kind: str

    async def now(self) -> None:
        resources = self.resources
        async with resources.db.transaction() as session:
            engine = await engines.get(session, self.engine, Lock.SHARED)
            prices = resources.settings.model_prices
            now = resources.clock.now()
            meter, kind = self.meter, self.kind
            await store.record(session, engine.engine_id, now, meter, prices, kind)


async def note(job: Job, session: Session, details: dict[str, Any]) -> None:
    """Add the costs of an attempt to the costs of earlier ones in the operation's metadata."""
    await job.note(session, costs.with_earlier(details, job.claim.details))


@dataclass
class _Counted:
    """The usage that one process has counted, and the first day that may still gain usage."""

    by_day: Mapping[tuple[str, date], Usage] = field(default_factory=dict)
    since: date = date.min
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


async def refresh(resources: Resources) -> None:
    """Count the newly recorded usage of all engines; only growth, as a counter may not shrink."""
    counted: _Counted = resources.kept.setdefault(_Counted, _Counted())
    async with counted.lock:
        usage_since = partial(store.usage_since, day=counted.since)
        by_day = await resources.db.read_all(usage_since)
        for (model, day), used in by_day.items():
            _count(model, used, counted.by_day.get((model, day), Usage()))
        counted.by_day = by_day
        counted.since = day_of(resources.clock.now()) - _LATE


def _count(model: str, used: Usage, before: Usage) -> None:
    _CALLS.labels(model).inc(max(0, used.calls - before.calls))
    _SECONDS.labels(model).inc(max(0, used.milliseconds - before.milliseconds) / 1_000)
    _TOKENS.labels(model, "input").inc(max(0, used.input_tokens - before.input_tokens))
    _TOKENS.labels(model, "output").inc(max(0, used.output_tokens - before.output_tokens))
