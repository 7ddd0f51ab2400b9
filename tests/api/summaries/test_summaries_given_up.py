"""What a failure leaves behind, once the session is cleared, or its policy is another."""

from datetime import timedelta

import httpx
import pytest

from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import configure, ok
from tests.support.operations import path_of
from tests.support.scripted import written_by
from tests.support.sessions import new_path
from tests.support.summaries import (
    BY_THREE,
    Summariser,
    context,
    covers,
    session_with,
    summaries,
    talk,
)

LATER = timedelta(hours=2)


@pytest.fixture
def model() -> Summariser:
    return Summariser()


@pytest.fixture
def resources(resources: Resources, model: Summariser) -> Resources:
    return written_by(resources, model)


async def fail_once(
    client: httpx.AsyncClient, runner: Runner, model: Summariser, path: str
) -> None:
    """Append three exchanges of which the summary fails; the summariser is back then."""
    model.is_down = True
    await talk(client, path, 1, 2, 3)
    await runner.run_pending()
    model.is_down = False
    assert len(model.asked) == 1


async def test_after_clearing_nothing_waits_for_the_retry_of_what_was_given_up(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **BY_THREE)
    await fail_once(client, runner, model, path)
    ok(await client.post(f"{path}:clear"))
    await talk(client, path, 4, 5, 6)
    # The clock stands still: nothing is due for its time.
    await runner.run_pending()
    assert await covers(client, path) == [(7, 12)]
    assert (await context(client, path))["summaryState"] == "current"


@pytest.mark.parametrize("is_engines", [False, True])
async def test_once_its_policy_is_switched_off_nothing_more_is_paid_for(
    client: httpx.AsyncClient,
    runner: Runner,
    model: Summariser,
    clock: FixedClock,
    *,
    is_engines: bool,
) -> None:
    other = {"strategy": "inclusive"}
    if is_engines:
        await configure(client, memoryPolicy=BY_THREE)
        path = await new_path(client)
    else:
        path = await session_with(client, **BY_THREE)
    await fail_once(client, runner, model, path)
    if is_engines:
        await configure(client, memoryPolicy=other)
    else:
        params = {"updateMask": "memoryPolicy"}
        ok(await client.patch(path, params=params, json={"memoryPolicy": other}))
    clock.advance(LATER)
    await runner.run_pending()
    assert len(model.asked) == 1
    (failed,) = await summaries(client, path, state=None)
    assert (failed["state"], failed.get("retryTime")) == ("failed", None)
    listed = ok(await client.get("/operations"))["operations"]
    (operation,) = [one for one in listed if "Summarize" in one["metadata"]["@type"]]
    assert operation["done"]


async def test_what_a_request_asks_for_by_a_policy_of_its_own_is_tried_again(
    client: httpx.AsyncClient, runner: Runner, model: Summariser, clock: FixedClock
) -> None:
    path = await session_with(client, strategy="inclusive")
    await talk(client, path, 1, 2, 3)
    model.is_down = True
    await context(client, path, policy=BY_THREE)
    await runner.run_pending()
    model.is_down = False
    clock.advance(LATER)
    await runner.run_pending()
    assert await covers(client, path) == [(1, 6)]


async def test_a_past_context_has_what_was_made_last_though_it_had_failed_before(
    client: httpx.AsyncClient, runner: Runner, model: Summariser, clock: FixedClock
) -> None:
    path = await session_with(client, strategy="fully_abstracted", cap=3)
    await talk(client, path, 1, 2, 3)
    await runner.run_pending()
    (first,) = await summaries(client, path)
    model.is_down = True
    await talk(client, path, 4, 5, 6)
    await runner.run_pending()
    model.is_down = False
    clock.advance(timedelta(milliseconds=1))
    ok(await client.post(f"{path_of(first['name'])}:regenerate"))
    await runner.run_pending()
    assert await covers(client, path) == [(1, 6)]
    clock.advance(LATER)
    await runner.run_pending()
    found = await context(client, path, asOfSeq=12)
    (summarised,) = found["coverage"]["summarised"]
    assert (summarised["firstSeq"], summarised["lastSeq"]) == (1, 12)
