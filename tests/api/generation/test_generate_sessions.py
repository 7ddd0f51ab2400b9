"""Generating from a stored session: wire specification, section 8.1."""

from datetime import timedelta

import httpx
import pytest

from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from tests.support.bank import ENGINE, GONE, Json, field_of, listed, ok, refusal
from tests.support.cases import in_one_test
from tests.support.errors import violations
from tests.support.generation import actions, run
from tests.support.scripted import fact, facts, written_by
from tests.support.scripted_models import Reply, ScriptedTextModel
from tests.support.sessions import append, create_session, new_path

TEA, HOME = "I like tea.", "I live in Oslo."
DAY = timedelta(days=1)


def source(path: str, **fields: str) -> Json:
    """Return a session as a source, by its path."""
    return {"vertexSessionSource": {"session": f"{ENGINE}{path}", **fields}}


async def _generate(client: httpx.AsyncClient, body: Json) -> httpx.Response:
    return await client.post("/memories:generate", json=body)


def at(hour: int) -> str:
    return f"2026-01-15T{hour:02}:00:00Z"


@pytest.fixture
async def path(client: httpx.AsyncClient) -> str:
    """A session of the user 42: tea at ten, home at eleven, a boat at noon."""
    found = await new_path(client)
    # Not in the order in which they were said.
    for hour, text in ((11, HOME), (10, TEA), (12, "I own a boat.")):
        await append(client, found, text, timestamp=at(hour))
    return found


async def test_the_scope_is_that_of_the_user(
    client: httpx.AsyncClient, runner: Runner, path: str
) -> None:
    operation = await run(client, runner, source(path), scope=None)
    assert len(operation["response"]["generatedMemories"]) == 3
    memories = ok(await client.get("/memories"))["memories"]
    assert {one["fact"] for one in memories} == {TEA, HOME, "I own a boat."}
    assert [one["scope"] for one in memories] == [{"user_id": "42"}] * 3


async def test_the_scope_of_the_request_goes_first(
    client: httpx.AsyncClient, runner: Runner, path: str
) -> None:
    await run(client, runner, source(path), scope={"team": "x"})
    memories = ok(await client.get("/memories"))["memories"]
    assert [one["scope"] for one in memories] == [{"team": "x"}] * 3


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ({}, [TEA, "I own a boat.", HOME]),
        ({"startTime": at(11)}, ["I own a boat.", HOME]),
        ({"endTime": at(11)}, [TEA]),
        ({"start_time": at(11), "end_time": at(12)}, [HOME]),
        ({"startTime": at(13)}, []),
    ],
)
async def test_the_start_counts_and_the_end_does_not(
    client: httpx.AsyncClient, runner: Runner, path: str, window: Json, expected: list[str]
) -> None:
    await run(client, runner, source(path, **window))
    assert sorted(await listed(client)) == sorted(expected)


@pytest.mark.parametrize("form", ["{engine}{path}", "reasoningEngines/1{path}"])
async def test_a_session_is_named_in_full_or_without_project(
    client: httpx.AsyncClient, runner: Runner, path: str, form: str
) -> None:
    name = form.format(engine=ENGINE, path=path)
    assert len(await actions(client, runner, {"vertexSessionSource": {"session": name}})) == 3


async def test_what_is_not_there_is_404(
    client: httpx.AsyncClient, clock: FixedClock, path: str
) -> None:
    assert refusal(await _generate(client, source("/sessions/none"))) == GONE
    ok(await client.delete(path))
    assert refusal(await _generate(client, source(path))) == GONE
    short = await new_path(client, ttl="86400s")
    ok(await _generate(client, source(short)))
    clock.advance(DAY)
    assert refusal(await _generate(client, source(short))) == GONE


async def test_a_session_that_ends_before_the_work_fails_it(
    client: httpx.AsyncClient, runner: Runner, path: str
) -> None:
    started = ok(await _generate(client, source(path)))
    ok(await client.delete(path))
    await runner.run_pending()
    operation = ok(await client.get(started["name"].partition(ENGINE)[2]))
    assert operation["error"]["code"] == 5
    assert await listed(client) == []


@in_one_test("name", ["sessions/s", "projects/p/sessions/s", "s", "x/y", ""])
async def test_a_session_without_its_engine_is_told_the_accepted_form(
    client: httpx.AsyncClient, name: str
) -> None:
    answer = await _generate(client, {"vertexSessionSource": {"session": name}})
    form = "projects/{project}/locations/{location}/reasoningEngines/{engine}/sessions/{session}"
    assert violations(answer) == {"vertexSessionSource.session": f"must have the form {form}."}


async def test_a_user_who_makes_no_scope_needs_one(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    session = await create_session(client, userId="a*b")
    body = {"vertexSessionSource": {"session": session["name"]}}
    assert field_of(await _generate(client, body)) == "scope"
    await run(client, runner, body, scope={"user_id": "ab"})


async def test_a_second_generate_by_the_rules_reads_nothing(
    client: httpx.AsyncClient, runner: Runner, path: str
) -> None:
    await run(client, runner, source(path))
    operation = await run(client, runner, source(path))
    assert "generatedMemories" not in operation["response"]
    assert operation["metadata"]["knownEventCount"] == 3
    assert len(await listed(client)) == 3


async def test_a_second_generate_by_a_model_asks_nothing(
    client: httpx.AsyncClient,
    resources: Resources,
    script: list[Reply],
    model: ScriptedTextModel,
    path: str,
) -> None:
    told = facts(TEA, fact(HOME, line=1), fact("I own a boat.", line=2))
    script.append(told)
    runner = make_runner(written_by(resources, model))
    assert await actions(client, runner, source(path)) == ["CREATED"] * 3
    assert model.prompts[0].text.splitlines()[1:] == [
        f"0 U 2026-01-15 Thu: {TEA}",
        f"1 U 2026-01-15 Thu: {HOME}",
        "2 U 2026-01-15 Thu: I own a boat.",
    ]
    operation = await run(client, runner, source(path))
    assert operation["metadata"]["modelCallCount"] == 0
    assert operation["metadata"]["knownEventCount"] == 3
    assert len(await listed(client)) == 3


async def test_only_what_users_said_in_words_counts(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await new_path(client)
    call = {"functionCall": {"name": "f", "args": {"like": "I like rum."}}}
    response = {"functionResponse": {"name": "f", "response": {"x": "I like rum."}}}
    for content in (
        {"role": "model", "parts": [call]},
        {"role": "user", "parts": [response]},
        {"role": "model", "parts": [{"text": "I like rum."}]},
    ):
        await append(client, path, content=content)
    await append(client, path, author="agent", content={"parts": [{"text": "I like rum."}]})
    await append(client, path, author="agent", content=None)
    operation = await run(client, runner, source(path))
    assert operation["response"].keys() == {"@type"}
    await append(client, path, content={"parts": [{"text": TEA}]})
    await run(client, runner, source(path))
    assert await listed(client) == [TEA]


async def test_dates_are_counted_from_when_it_was_said(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await new_path(client)
    await append(client, path, "I went to Rome yesterday.", timestamp="2026-01-10T23:30:00Z")
    await run(client, runner, source(path), timeZone="Europe/Berlin")
    assert await listed(client) == ["I went to Rome yesterday (2026-01-10)."]


async def test_a_preview_reads_sessions_too(
    client: httpx.AsyncClient, runner: Runner, path: str
) -> None:
    operation = await run(client, runner, source(path), validateOnly=True)
    assert [one["action"] for one in operation["response"]["plannedChanges"]] == ["CREATED"] * 3
    assert await listed(client) == []
