"""How long a context holds the event loop: nobody else is served meanwhile."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median

from app.adapters.concurrency import in_background
from benchmarks.contexts.bank import Bank

_SESSION = "of-short-events"
_EVENTS = 20_000
"""The most that one context reads."""
_ROUNDS = 9
_BAR_MS = 100.0
_PAUSE_SECONDS = 0.001
_SHORT = {"policy": {"strategy": "inclusive"}}
_CONTEXTS: Mapping[str, Mapping[str, object]] = {
    "inclusive": _SHORT,
    "inclusive, as openai": {**_SHORT, "format": "openai"},
    "inclusive, as gemini": {**_SHORT, "format": "gemini"},
    "inclusive, as text": {**_SHORT, "format": "text"},
    "every_n": {"policy": {"strategy": "every_n"}},
}


@dataclass
class _Hold:
    """The longest time between two turns of the event loop."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """The most CPU time that all threads of the process spent between two."""


async def report_holds(bank: Bank) -> None:
    """Print the longest hold of the loop for contexts of a session of many short events."""
    await bank.new_session(_SESSION)
    await bank.fill(_SESSION, _EVENTS, chars=20)
    print(
        f"\n{f'holds of the loop, {_EVENTS:,} events':<40}{'median ms':>12}{'CPU ms':>9}{'bar':>9}"
    )
    for name, body in _CONTEXTS.items():
        holds = []
        for _ in range(_ROUNDS):
            async with _watched() as hold:
                await bank.answer(f"/{_SESSION}:context", body)
            holds.append(hold)
        seconds = median(hold.seconds for hold in holds)
        cpu = median(hold.cpu_seconds for hold in holds)
        print(f"{name:<40}{1_000 * seconds:>12.1f}{1_000 * cpu:>9.1f}{f'<= {_BAR_MS:.0f}':>9}")


@asynccontextmanager
async def _watched() -> AsyncIterator[_Hold]:
    """Measure the longest hold beside the block."""
    hold = _Hold()
    async with in_background(_watch(hold)):
        yield hold
        # The last hold ends with a turn of the watch.
        await asyncio.sleep(10 * _PAUSE_SECONDS)


async def _watch(hold: _Hold) -> None:
    while True:
        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.sleep(_PAUSE_SECONDS)
        hold.seconds = max(hold.seconds, time.perf_counter() - began - _PAUSE_SECONDS)
        hold.cpu_seconds = max(hold.cpu_seconds, time.process_time() - cpu)
