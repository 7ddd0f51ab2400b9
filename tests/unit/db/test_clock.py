"""A process's clock, set right by the database's."""

import sys
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from app.adapters.db import clock as measured
from app.adapters.db.clock import DatabaseClock, Skew
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.settings.settings import Settings
from tests.conftest import START

_MOST = timedelta(seconds=30)


class _Passing:
    """A steady clock on which each look at it takes a while."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.now = 0.0

    def __call__(self) -> float:
        self.now += self.seconds
        return self.now


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> _Passing:
    """What a round trip to the database seems to take."""
    found = _Passing(0)
    monkeypatch.setattr(measured, "monotonic", found)
    return found


@pytest.mark.usefixtures("passing")
@pytest.mark.parametrize("seconds", [37, -37, 0, 3 * 86_400])
async def test_it_follows_the_database(database: Database, seconds: float) -> None:
    skew = Skew(_MOST)
    clock = DatabaseClock(FixedClock(START + timedelta(seconds=seconds)), skew)
    await clock.measure(database)
    assert clock.now() == START
    assert skew.found == timedelta(seconds=seconds)


async def test_half_of_the_round_trip_is_taken_off(database: Database, passing: _Passing) -> None:
    passing.seconds = 2
    clock = DatabaseClock(FixedClock(START + timedelta(hours=1)), Skew(_MOST))
    await clock.measure(database)
    assert clock.now() == START + timedelta(seconds=1)


async def test_a_round_trip_that_is_too_long_is_no_measurement(
    database: Database, passing: _Passing
) -> None:
    passing.seconds = 2.1
    skew = Skew(_MOST)
    clock = DatabaseClock(FixedClock(START + timedelta(hours=1)), skew)
    await clock.measure(database)
    assert clock.now() == START + timedelta(hours=1)
    assert skew.found is None
    assert not skew.is_too_large


async def test_what_a_measurement_cannot_tell_apart_stays(
    database: Database, passing: _Passing
) -> None:
    """Or times would move to and fro with every measurement."""
    passing.seconds = 1
    process = FixedClock(START)
    clock = DatabaseClock(process, Skew(_MOST))
    await clock.measure(database)
    assert clock.now() == START
    process.advance(timedelta(seconds=0.9))
    await clock.measure(database)
    assert clock.now() == START + timedelta(seconds=0.9)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a jump from a sleep")
@pytest.mark.parametrize("days", [3, -3])
async def test_a_jump_between_measurements_changes_nothing(database: Database, days: int) -> None:
    process = FixedClock(START)
    clock = DatabaseClock(process, Skew(_MOST))
    await clock.measure(database)
    process.advance(timedelta(days=days))
    assert abs(clock.now() - START) < timedelta(seconds=30)
    await clock.measure(database)
    assert abs(clock.now() - START) < timedelta(seconds=30)


async def test_a_database_that_is_away_changes_nothing(settings: Settings) -> None:
    away = Database(open_engine("postgresql://nobody@127.0.0.1:1/nothing", settings))
    skew = Skew(_MOST)
    clock = DatabaseClock(FixedClock(START), skew)
    with capture_logs() as lines:
        await clock.measure(away)
    await away.close()
    assert clock.now() == START
    assert skew.found is None
    assert [line["event"] for line in lines] == ["database.failed", "clock.not_measured"]


async def test_it_is_told_at_most_once_a_minute(database: Database, passing: _Passing) -> None:
    clock = DatabaseClock(FixedClock(START - timedelta(seconds=37)), Skew(_MOST))
    with capture_logs() as lines:
        for now in (100, 130, 159, 161, 190, 222):
            passing.now = now
            await clock.measure(database)
    told = [line["clock"] for line in lines if line["event"] == "clock.skewed"]
    assert told == ["37 s behind the database"] * 3


@pytest.mark.parametrize(
    ("found", "is_too_large"), [(None, False), (30, False), (30.1, True), (-30.1, True)]
)
def test_a_skew_is_too_large_beyond_its_bound(found: float | None, *, is_too_large: bool) -> None:
    skew = Skew(_MOST, None if found is None else timedelta(seconds=found))
    assert skew.is_too_large is is_too_large
