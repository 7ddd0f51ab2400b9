"""What a stream does whose generations fail: it rests, and one bad event holds nothing back."""

from datetime import timedelta

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import FailedPrecondition, Reason, Unavailable
from app.memory.ingestion.feature import FEATURE
from app.platform.operations.services.runner import Runner
from app.platform.upkeep.jobs import sweep_once
from app.settings.settings import Settings
from tests.support.bank import Json, listed
from tests.support.faults import CUT, trigger
from tests.support.ingestion import ended, event, hears, ingest, read, rule, runs_after
from tests.support.scripted import written_by
from tests.support.scripted_models import Reply, ScriptedQuery, ScriptedTextModel

POISON = "I like poison."
REFUSED = FailedPrecondition("The provider refuses the request.", Reason.MODEL_REFUSED)
AWAY = Unavailable("The provider fails.", Reason.MODEL_UNAVAILABLE)
MANY = rule(event_count=1_000)
_QUARTER = timedelta(minutes=15)


class _Fails:
    """A model that fails whatever it reads while `failure` is set, and always at poison."""

    failure: Exception | None = None

    def __call__(self, asked: ScriptedQuery) -> Reply:
        if self.failure is not None:
            return self.failure
        return REFUSED if POISON in asked.prompt.text else hears(asked)


@pytest.fixture
def fails() -> _Fails:
    return _Fails()


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Work that is tried but once: what outlasts an outage is tested elsewhere."""
    return settings.model_copy(update={"worker_max_attempts": 1})


@pytest.fixture
def model(fails: _Fails) -> ScriptedTextModel:
    return ScriptedTextModel(fails)


@pytest.fixture
async def resources(resources: Resources, model: ScriptedTextModel) -> Resources:
    return written_by(resources, model)


def _thing(number: int) -> str:
    return f"I like thing {number}."


async def _runs_for(
    runner: Runner, clock: FixedClock, resources: Resources, quarters: int
) -> list[int]:
    """Let quarters of an hour pass, with a sweep at the end of each; return the runs of each.

    All features sweep at the end of each tenth, since nine of ten sweeps concern no stream.
    """
    runs = []
    for number in range(1, quarters + 1):
        clock.advance(_QUARTER)
        runs.append(await runner.run_pending())
        if number % 10 == 0:
            await sweep_once(resources)
        else:
            for sweep in FEATURE.sweeps:
                await sweep.run(resources)
    return runs


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweep whenever it is asked for: the ticks are those of the database's clock."""

    async def take(*_: object) -> bool:
        return True

    monkeypatch.setattr("app.platform.upkeep.service.UpkeepService.take_tick", take)


@pytest.mark.usefixtures("swept")
async def test_one_bad_event_does_not_hold_the_others_back(
    client: httpx.AsyncClient,
    runner: Runner,
    clock: FixedClock,
    resources: Resources,
    model: ScriptedTextModel,
) -> None:
    said = [event(_thing(number), f"e{number}") for number in range(8)]
    said[5] = event(POISON, "bad")
    await ingest(client, *said, **MANY)
    await ingest(client, forceFlush=True)
    await runner.run_pending()
    await sweep_once(resources)
    assert await listed(client) == []
    await _runs_for(runner, clock, resources, 10)
    assert len(await listed(client)) == 7
    # From now on it is asked for ever more seldom, and alone.
    asked = len(model.asked)
    await _runs_for(runner, clock, resources, 40)
    assert len(model.asked) - asked <= 3
    assert all(POISON in one.prompt.text for one in model.asked[asked:])


@pytest.mark.usefixtures("swept")
async def test_new_events_do_not_take_a_bad_one_with_them(
    client: httpx.AsyncClient,
    runner: Runner,
    clock: FixedClock,
    resources: Resources,
    model: ScriptedTextModel,
) -> None:
    await ingest(client, POISON)
    await runner.run_pending()
    for number in range(20):
        await ingest(client, _thing(number))
        await _runs_for(runner, clock, resources, 1)
    assert len(await listed(client)) == 20
    poisoned = sum(POISON in one.prompt.text for one in model.asked)
    assert poisoned <= 6


async def test_a_flush_reads_what_was_set_aside(
    client: httpx.AsyncClient, runner: Runner, fails: _Fails
) -> None:
    fails.failure = REFUSED
    await ingest(client, _thing(1), _thing(2))
    await runner.run_pending()
    fails.failure = None
    flush = await ingest(client, forceFlush=True)
    done = await ended(client, runner, flush)
    assert (done["metadata"]["eventCount"], done["metadata"]["pendingEventCount"]) == (2, 0)
    assert len(await listed(client)) == 2


async def test_what_is_set_aside_is_told_as_waiting(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    await ingest(client, POISON)
    await runner.run_pending()
    second = await ingest(client, _thing(1))
    assert second["metadata"]["pendingEventCount"] == 2
    clock.advance(_QUARTER)
    # The bad one has its own operation, which fails again.
    assert await runner.run_pending() == 2
    done = await read(client, second)
    assert (done["metadata"]["eventCount"], done["metadata"]["pendingEventCount"]) == (1, 1)
    assert await listed(client) == [_thing(1)]


@pytest.fixture(params=[AWAY, REFUSED])
def failing(fails: _Fails, request: pytest.FixtureRequest) -> _Fails:
    """The model, which fails."""
    fails.failure = request.param
    return fails


@pytest.mark.usefixtures("swept")
async def test_a_stream_rests_twice_as_long_each_time(
    client: httpx.AsyncClient,
    runner: Runner,
    clock: FixedClock,
    resources: Resources,
    failing: _Fails,
    model: ScriptedTextModel,
) -> None:
    await ingest(client, _thing(0))
    await runner.run_pending()
    for number in range(1, 30):
        # Whatever comes does not hurry it.
        await ingest(client, _thing(number))
        await _runs_for(runner, clock, resources, 1)
    # After 0, 1, 3, 7 and 15 quarters.
    assert len(model.asked) == 5
    failing.failure = None
    for _ in range(16):
        await _runs_for(runner, clock, resources, 10)
        if len(await listed(client)) == 30:
            break
    assert len(await listed(client)) == 30
    # What worked once rests no more.
    operation = await ingest(client, "I like water.")
    await ended(client, runner, operation)


async def test_what_may_pass_sets_nothing_aside(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, fails: _Fails
) -> None:
    fails.failure = AWAY
    await ingest(client, event(_thing(1), time="2026-01-14T10:00:00Z"))
    await runner.run_pending()
    fails.failure = None
    second = await ingest(client, event(_thing(2), time="2026-01-13T10:00:00Z"))
    assert await runs_after(runner, clock, minutes=15) == 1
    done: Json = await read(client, second)
    assert done["metadata"]["eventCount"] == 2


async def test_an_outage_of_the_database_is_no_failure_of_a_stream(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    """Else every stream would rest for minutes after it, as if its own events were the cause."""
    operation = await ingest(client, "I like water.")
    async with trigger(database, CUT):
        for _ in range(3):
            assert await runner.run_pending() == 1
            failed = await read(client, operation)
            assert failed["error"]["details"][0]["reason"] == Reason.DATABASE_UNAVAILABLE
            operation = await ingest(client)
    await ended(client, runner, operation)
    assert await listed(client) == ["I like water."]
