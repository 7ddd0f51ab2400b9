"""Conversations of any length: refused in a request, read in rounds from a session."""

from datetime import timedelta

import httpx
import pytest

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.bank import ENGINE, Json, field_of, listed, ok, refusal
from tests.support.generation import run, said, start
from tests.support.operations import USER
from tests.support.queue import all_stored, claim
from tests.support.sessions import append, new_path

_ROOM = 3_000
_FACTS = [f"I keep {number} bees." for number in range(7)]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"max_generation_chars": _ROOM})


@pytest.fixture
async def path(client: httpx.AsyncClient) -> str:
    """A session whose events fill three rounds and begin a fourth."""
    found = await new_path(client)
    for number, fact in enumerate(_FACTS):
        # All of one time but the last: their order in the session decides.
        time = f"2026-01-15T1{number // 6}:00:00Z"
        await append(client, found, f"{fact}\n{'?' * 1_000}", timestamp=time)
    return found


def _source(path: str, **fields: str) -> Json:
    return {"vertexSessionSource": {"session": f"{ENGINE}{path}", **fields}}


async def test_a_conversation_of_the_greatest_length_is_taken(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    tea = "I like tea.\n"
    longest = tea + "?" * (_ROOM - len(tea))
    await run(client, runner, said(longest[:2_000], longest[2_000:]))
    assert await listed(client) == [tea.strip()]


async def test_a_longer_one_is_refused_by_its_field(client: httpx.AsyncClient) -> None:
    # Its parts count together, those of the model and thoughts among them.
    answer = await client.post(
        "/memories:generate",
        json={"scope": USER, **said("x" * _ROOM, "y", role="model")},
    )
    assert refusal(answer)[:2] == (400, "INVALID_ARGUMENT")
    assert field_of(answer) == "directContentsSource.events"
    assert f"at most {_ROOM} characters" in answer.json()["error"]["message"]
    assert "xx" not in answer.text


async def test_a_session_is_read_in_rounds_of_one_operation(
    client: httpx.AsyncClient, runner: Runner, path: str
) -> None:
    operation = await start(client, _source(path))
    rounds = await runner.run_pending()
    done = ok(await client.get(operation))
    assert rounds == 4
    assert sorted(await listed(client)) == _FACTS
    assert len(done["response"]["generatedMemories"]) == len(_FACTS)
    counts = {name: done["metadata"][name] for name in ("candidateCount", "createdCount")}
    assert counts == dict.fromkeys(counts, len(_FACTS))
    assert "omittedEventCount" not in done["metadata"]


async def test_other_work_comes_between_two_rounds(
    client: httpx.AsyncClient,
    runner: Runner,
    database: Database,
    clock: FixedClock,
    path: str,
) -> None:
    long = await start(client, _source(path))
    short = await start(client, said("I like tea."))
    clock.advance(timedelta(seconds=1))
    assert await runner.run_one(1, long.rpartition("/")[2])
    taken = await claim(database, clock)
    assert taken is not None
    assert taken.owned.operation_id == short.rpartition("/")[2]


async def test_an_operation_between_two_rounds_is_not_done_and_can_be_cancelled(
    client: httpx.AsyncClient, runner: Runner, database: Database, path: str
) -> None:
    operation = await start(client, _source(path))
    await runner.run_one(1, operation.rpartition("/")[2])
    waiting = ok(await client.get(operation))
    assert (waiting.get("done", False), "response" in waiting) == (False, False)
    assert sorted(await listed(client)) == _FACTS[:2]
    await client.post(f"{operation}:cancel")
    await runner.run_pending()
    assert sorted(await listed(client)) == _FACTS[:2]
    # What the rounds keep for each other is gone with the operation's end.
    assert [row.request for row in await all_stored(database) if row.request is not None] == []


async def test_a_preview_reads_the_newest_events_and_counts_the_others(
    client: httpx.AsyncClient, runner: Runner, path: str
) -> None:
    done = await run(client, runner, _source(path), validateOnly=True)
    planned = [change["after"]["fact"] for change in done["response"]["plannedChanges"]]
    assert planned == _FACTS[-2:]
    assert done["metadata"]["omittedEventCount"] == len(_FACTS) - 2


async def test_a_single_event_that_is_longer_is_read_whole(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await new_path(client)
    await append(client, path, "?" * 2 * _ROOM + "\nI like tea.")
    await append(client, path, "I live in Oslo.")
    await run(client, runner, _source(path))
    assert sorted(await listed(client)) == ["I like tea.", "I live in Oslo."]
