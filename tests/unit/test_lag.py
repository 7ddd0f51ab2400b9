"""How late the event loop is, as it is told."""

import asyncio
import re

import pytest
from prometheus_client import REGISTRY, generate_latest
from structlog.testing import capture_logs

from app.adapters.lag import LagWatch, RecentLag, recent_lag, watched

_LAG = "memory_bank_event_loop_lag_seconds"
_STALL = "memory_bank_event_loop_stall_seconds"


def _told(series: str) -> dict[str, float]:
    """Return how many moments are told of, by how late they were at most."""
    text = generate_latest().decode()
    found = re.findall(rf'^{series}_bucket{{le="([^"]+)"}} (\S+)$', text, re.MULTILINE)
    return {bound: float(count) for bound, count in found}


def _stalls() -> float:
    return REGISTRY.get_sample_value("memory_bank_loop_stalls_total") or 0.0


def _added(series: str, before: dict[str, float]) -> dict[str, float]:
    return {bound: count - before[bound] for bound, count in _told(series).items()}


def test_a_look_in_time_is_one_moment() -> None:
    before = _told(_LAG)
    watch = LagWatch(due=10.0, waited=0.0)
    assert watch.look(10.0005, waited=0.0) == pytest.approx(10.1)
    added = _added(_LAG, before)
    assert (added["0.001"], added["+Inf"]) == (1, 1)


def test_a_late_look_tells_of_every_moment_that_has_passed() -> None:
    before = _told(_LAG)
    watch = LagWatch(due=10.0, waited=0.0)
    assert watch.look(10.42, waited=0.0) == pytest.approx(10.5)
    added = _added(_LAG, before)
    # 420, 320, 220, 120 and 20 milliseconds.
    assert (added["0.025"], added["0.25"], added["0.5"], added["+Inf"]) == (1, 3, 5, 5)


def test_what_others_had_of_the_processor_is_no_stall() -> None:
    lag, stall = _told(_LAG), _told(_STALL)
    watch = LagWatch(due=10.0, waited=3.0)
    watch.look(10.04, waited=3.035)
    assert _added(_LAG, lag)["0.025"] == 0
    assert _added(_STALL, stall)["0.01"] == 1
    # And counts once.
    watch.look(10.14, waited=3.035)
    assert _added(_STALL, stall)["0.025"] == 1
    assert _added(_STALL, stall)["0.05"] == 2


def test_the_recent_lag_is_that_of_the_last_minute() -> None:
    watch = LagWatch(due=0.0, waited=0.0)
    before, within = [0.04] * 1_000, ([0.001] * 49 + [0.03]) * 24
    for late in before + within:
        watch.due = 0.0
        watch.look(late, waited=0.0)
    assert recent_lag() == RecentLag(p50=0.001, p99=0.03)


def test_a_machine_that_slept_is_told_of_for_a_while_only() -> None:
    before, stalls = _told(_LAG), _stalls()
    watch = LagWatch(due=10.0, waited=0.0)
    with capture_logs() as logs:
        assert watch.look(40_000.0, waited=0.0) == pytest.approx(40_000.1)
    assert _added(_LAG, before)["+Inf"] == 200
    assert _stalls() - stalls == 1
    assert [(one["event"], one["seconds"]) for one in logs] == [("event_loop.late", 39_990.0)]


async def test_a_loop_is_looked_at_while_the_block_runs() -> None:
    before = _told(_LAG)
    async with watched():
        async with asyncio.timeout(30):
            while _added(_LAG, before)["+Inf"] < 3:  # noqa: ASYNC110 - nothing tells of a look
                await asyncio.sleep(0.01)
    told = _told(_LAG)
    await asyncio.sleep(0.22)
    assert _told(_LAG) == told
    assert _told(_STALL).keys() == told.keys()
