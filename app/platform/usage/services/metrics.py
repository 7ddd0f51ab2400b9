"""Metrics of model usage, read from the database: they count the calls of all processes."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial

from prometheus_client import Counter

from app.adapters.llm.ports import Usage
from app.adapters.metrics import of_all
from app.adapters.resources import Resources
from app.platform.usage.store import repository
from app.platform.usage.store.repository import day_of

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


@dataclass
class _Counted:
    """The usage that one process has counted, and the first day that may still gain usage."""

    by_day: Mapping[tuple[str, date], Usage] = field(default_factory=dict)
    since: date = date.min
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


async def refresh(resources: Resources) -> None:
    """Count the usage of all engines that was recorded since the last time.

    Only growth counts: the removal of an engine must not look like a restart.
    """
    counted: _Counted = resources.kept.setdefault(_Counted, _Counted())
    async with counted.lock:
        usage_since = partial(repository.usage_since, day=counted.since)
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
