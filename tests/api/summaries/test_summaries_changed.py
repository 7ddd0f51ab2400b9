"""Summaries of what is erased, cleared or to be made again."""

import asyncio

import httpx
import pytest

from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.bank import GONE, Json, field_of, ok, refusal
from tests.support.operations import path_of
from tests.support.scripted import written_by
from tests.support.summaries import (
    BY_THREE,
    SlowSummariser,
    Summariser,
    context,
    covers,
    events_of,
    lines,
    session_with,
    summaries,
    talk,
    verbatim,
)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Work that is tried but once: retries have tests of their own."""
    return settings.model_copy(update={"worker_max_attempts": 1})


@pytest.fixture
def model() -> Summariser:
    return Summariser()


@pytest.fixture
def resources(resources: Resources, model: Summariser) -> Resources:
    return written_by(resources, model)


async def erase(client: httpx.AsyncClient, path: str, seq: int) -> None:
    """Erase an event by its number."""
    found = (await events_of(client, path))[seq - 1]
    ok(await client.delete(path_of(found["name"])))


async def texts(client: httpx.AsyncClient, path: str, **params: object) -> list[str | None]:
    """Return what summaries say."""
    return [one.get("text") for one in await summaries(client, path, **params)]


async def test_an_erased_event_takes_the_text_of_its_summary_and_it_is_made_again(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, *range(1, 10))
    await runner.run_pending()
    await erase(client, path, 8)
    (stale,) = await summaries(client, path, state="stale")
    assert stale["covers"] == {"firstSeq": 7, "lastSeq": 12}
    assert "text" not in stale
    assert len(await summaries(client, path)) == 2
    await runner.run_pending()
    assert sorted(await covers(client, path)) == [(1, 6), (7, 12), (13, 18)]
    assert len(model.asked) == 4
    assert "question 4" in model.texts[3]
    assert "answer 4" not in model.texts[3]
    (again,) = [one for one in await summaries(client, path) if one["covers"]["firstSeq"] == 7]
    assert again["version"] == 2
    found = await context(client, path)
    assert len(found["coverage"]["summarised"]) == 3
    assert found["coverage"]["omitted"] == []


async def test_until_then_the_events_after_the_gap_are_shown_or_covered_once(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, *range(1, 10))
    await runner.run_pending()
    await erase(client, path, 8)
    found = (await context(client, path))["coverage"]
    covered = [(one["firstSeq"], one["lastSeq"]) for one in found["summarised"]]
    assert (7, 12) not in covered
    told = await verbatim(client, path)
    seen = told + [seq for first, last in covered for seq in range(first, last + 1)]
    assert sorted(seen) == [seq for seq in range(1, 19) if seq != 8]


async def test_all_versions_of_a_cell_that_cover_the_event_lose_their_text(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, strategy="fully_abstracted", cap=2)
    await talk(client, path, *range(1, 7))
    await runner.run_pending()
    assert len(model.asked) == 3
    await erase(client, path, 6)
    states = [one["state"] for one in await summaries(client, path, state=None)]
    assert states == ["superseded", "stale", "stale"]
    assert await texts(client, path, state=None) == ["summary 1", None, None]
    await runner.run_pending()
    assert await covers(client, path) == [(1, 12)]
    assert all("answer 3" not in text for text in model.texts[3:])


async def test_an_event_erased_while_the_model_writes_is_in_no_summary(
    client: httpx.AsyncClient, runner: Runner, resources: Resources
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    slow = SlowSummariser()
    object.__setattr__(resources.models, "default", slow)
    work = asyncio.create_task(runner.run_pending())
    await slow.is_asked.wait()
    await erase(client, path, 2)
    slow.may_answer.set()
    await work
    (stale,) = await summaries(client, path, state="stale")
    assert "text" not in stale
    (made,) = await summaries(client, path)
    assert made["text"] == "summary 2"
    assert "answer 1" not in slow.texts[1]
    assert ok(await client.get(f"{path}/usage"))["total"]["callCount"] == 2


async def test_a_cleared_session_begins_anew(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3, 4)
    await runner.run_pending()
    ok(await client.post(f"{path}:clear"))
    cleared = await context(client, path, pendingMessage="hello")
    nothing = await context(client, path, pendingMessage="hello", policy={"strategy": "none"})
    assert cleared["messages"] == nothing["messages"]
    assert cleared["coverage"] == nothing["coverage"]
    assert await summaries(client, path) == []
    assert len(await events_of(client, path)) == 8
    await talk(client, path, 5, 6)
    await runner.run_pending()
    assert len(model.asked) == 1
    await talk(client, path, 7)
    await runner.run_pending()
    assert len(model.asked) == 2
    assert await covers(client, path) == [(9, 14)]
    assert model.texts[1].endswith(lines(5, 6, 7))


async def test_clearing_gives_up_what_has_failed(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **BY_THREE)
    model.is_down = True
    await talk(client, path, 1, 2, 3)
    await runner.run_pending()
    ok(await client.post(f"{path}:clear"))
    (failed,) = await summaries(client, path, state="failed")
    assert "retryTime" not in failed
    assert (await context(client, path))["summaryState"] == "current"


async def test_a_repeated_clear_clears_once(client: httpx.AsyncClient) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1)
    ok(await client.post(f"{path}:clear", params={"requestId": "r"}))
    await talk(client, path, 2)
    ok(await client.post(f"{path}:clear", params={"requestId": "r"}))
    assert await verbatim(client, path) == [3, 4]


async def test_a_summary_is_made_again_of_the_same_events(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    await runner.run_pending()
    await talk(client, path, 4, 5, 6)
    await runner.run_pending()
    first, second = await summaries(client, path)
    answer = ok(await client.post(f"{path_of(first['name'])}:regenerate"))
    assert "RegenerateSummary" in answer["metadata"]["@type"]
    await runner.run_pending()
    assert ok(await client.get(path_of(answer["name"])))["metadata"]["summaryCount"] == 1
    assert model.texts[2] == model.texts[0]
    found = {one["covers"]["firstSeq"]: one for one in await summaries(client, path)}
    assert found[1]["version"] == 2
    assert found[1]["text"] == "summary 3"
    assert found[7]["name"] == second["name"]
    old = ok(await client.get(path_of(first["name"])))
    assert (old["state"], old["text"]) == ("superseded", "summary 1")
    before = await context(client, path, asOfSeq=6)
    assert before["coverage"]["summarised"][0]["summary"].endswith(first["name"][-18:])


async def test_a_cell_is_made_again_of_the_summary_before_and_its_events(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, strategy="fully_abstracted", cap=2)
    await talk(client, path, *range(1, 5))
    await runner.run_pending()
    (cell,) = await summaries(client, path)
    ok(await client.post(f"{path_of(cell['name'])}:regenerate"))
    await runner.run_pending()
    assert model.texts[2] == model.texts[1]
    (again,) = await summaries(client, path)
    assert (again["version"], again["covers"]) == (3, cell["covers"])
    await talk(client, path, 5, 6)
    await runner.run_pending()
    (grown,) = await summaries(client, path)
    assert grown["previousSummaries"] == [again["name"]]


async def _failed_regeneration(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> tuple[str, Json, str]:
    """Return a session, its summary, and the operation that failed to make that anew."""
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    await runner.run_pending()
    (first,) = await summaries(client, path)
    model.is_down = True
    name = ok(await client.post(f"{path_of(first['name'])}:regenerate"))["name"]
    await runner.run_pending()
    return path, first, name


async def test_a_failing_regeneration_leaves_the_summary_in_force(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path, first, name = await _failed_regeneration(client, runner, model)
    assert ok(await client.get(path_of(name)))["error"]["code"] == 14
    assert await summaries(client, path) == [first]
    (failed,) = await summaries(client, path, state="failed")
    assert "retryTime" not in failed
    assert (await context(client, path))["summaryState"] == "current"
    assert ok(await client.get(f"{path}/usage"))["total"]["callCount"] == 2


async def test_a_failed_regeneration_runs_again_by_its_retry(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path, first, failed = await _failed_regeneration(client, runner, model)
    model.is_down = False
    retried = ok(await client.post(f"{path_of(failed)}:retry"))
    assert retried["metadata"]["retriedOperation"] == failed
    await runner.run_pending()
    assert ok(await client.get(path_of(retried["name"])))["metadata"]["summaryCount"] == 1
    (again,) = await summaries(client, path)
    assert (again["text"], again["covers"]) == ("summary 3", first["covers"])
    assert ok(await client.get(path_of(first["name"])))["state"] == "superseded"


async def test_only_an_active_summary_is_made_again(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    await runner.run_pending()
    (first,) = await summaries(client, path)
    ok(await client.post(f"{path}:clear"))
    answer = await client.post(f"{path_of(first['name'])}:regenerate")
    assert refusal(answer) == (400, "FAILED_PRECONDITION")
    assert answer.json()["error"]["details"][0]["reason"] == "SUMMARY_NOT_ACTIVE"


async def test_a_regeneration_asked_for_in_time_and_overtaken_says_so(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, 1, 2, 3)
    await runner.run_pending()
    (first,) = await summaries(client, path)
    name = ok(await client.post(f"{path_of(first['name'])}:regenerate"))["name"]
    ok(await client.post(f"{path}:clear"))
    await runner.run_pending()
    assert ok(await client.get(path_of(name)))["error"]["code"] == 9
    assert len(model.asked) == 1


async def test_summaries_are_listed_by_pages_states_and_policies(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await session_with(client, **BY_THREE)
    await talk(client, path, *range(1, 10))
    await runner.run_pending()
    everything = await summaries(client, path)
    page = ok(await client.get(f"{path}/summaries", params={"pageSize": 2}))
    assert page["summaries"] == everything[:2]
    params = {"pageSize": 2, "pageToken": page["nextPageToken"]}
    rest = ok(await client.get(f"{path}/summaries", params=params))
    assert rest == {"summaries": everything[2:]}
    key = everything[0]["policyKey"]
    assert await summaries(client, path, policyKey=key) == everything
    assert await summaries(client, path, policyKey="another") == []
    assert await summaries(client, path, state="stale") == []
    answer = await client.get(f"{path}/summaries", params={"state": "strange"})
    assert field_of(answer) == "state"


async def test_what_is_not_there_is_not_found(client: httpx.AsyncClient) -> None:
    path = await session_with(client, **BY_THREE)
    assert refusal(await client.get(f"{path}/summaries/1")) == GONE
    assert refusal(await client.post(f"{path}/summaries/1:regenerate")) == GONE
    for place in ("summaries", "usage"):
        assert refusal(await client.get(f"/sessions/none/{place}")) == GONE
    assert refusal(await client.post("/sessions/none:clear")) == GONE
