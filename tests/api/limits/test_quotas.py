"""Quotas of an engine: memories, sessions, events and bytes."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.limits import Counted
from app.platform.limits.services.quotas import Quotas
from app.platform.operations.services.runner import Runner
from app.process.main import create_app
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import Json, history, id_of, listed, ok, roll_back
from tests.support.engines import API, FIRST, create_engine
from tests.support.generation import given, run, said
from tests.support.ingestion import IDLE, SIX_FACTS, ended, ingest, read, runs_after
from tests.support.keys import client_with
from tests.support.operations import USER, create_memory, path_of
from tests.support.sessions import append, event, new_path
from tests.support.statements import statements_on
from tests.support.totals import held
from tests.support.undo import ask

_SMALL = {
    "engine_max_memories": 3,
    "engine_max_sessions": 2,
    "engine_max_events": 4,
    "engine_max_bytes": 4_000,
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update=_SMALL)


async def _create(client: httpx.AsyncClient, fact: str = "I like tea.") -> httpx.Response:
    return await client.post("/memories", json={"fact": fact, "scope": USER})


async def _open(client: httpx.AsyncClient) -> httpx.Response:
    return await client.post("/sessions", json={"userId": "42"})


async def test_a_stream_is_not_flushed_into_a_full_engine(client: httpx.AsyncClient) -> None:
    await ingest(client, "I like tea.", **IDLE)
    for _ in range(3):
        ok(await _create(client))
    flush = await client.post("/streams:flush", json={"scope": USER})
    assert _refused(flush) == ("memories", 3)


async def _quotas(client: httpx.AsyncClient) -> dict[str, Json]:
    found: dict[str, Json] = ok(await client.get(f"{FIRST}:usage"))["quotas"]
    return found


def _refused(answer: httpx.Response) -> tuple[str, int]:
    """Return the quota that a refusal names, and its limit."""
    assert answer.status_code == 429, answer.text
    error = answer.json()["error"]
    assert error["status"] == "RESOURCE_EXHAUSTED"
    (info,) = error["details"]
    assert info["reason"] == "QUOTA_EXHAUSTED"
    assert "Retry-After" not in answer.headers
    quota, limit = info["metadata"]["quota"], info["metadata"]["limit"]
    assert info["metadata"].keys() == {"quota", "limit"}, "how much it has is not told"
    assert error["message"].endswith(f" has reached its limit of {quota}: {limit}.")
    return quota, int(limit)


async def test_a_memory_more_than_the_quota_is_refused(client: httpx.AsyncClient) -> None:
    for _ in range(3):
        ok(await _create(client))
    assert _refused(await _create(client)) == ("memories", 3)
    assert len(await listed(client)) == 3
    assert (await _quotas(client))["memories"] == {"used": 3, "limit": 3}


async def test_a_session_more_than_the_quota_is_refused(client: httpx.AsyncClient) -> None:
    ok(await _open(client))
    ok(await _open(client))
    assert _refused(await _open(client)) == ("sessions", 2)
    assert (await _quotas(client))["sessions"] == {"used": 2, "limit": 2}


async def test_an_event_more_than_the_quota_is_refused(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    for _ in range(3):
        await append(client, path)
    # Events of streams count with those of sessions.
    await ingest(client, "I like tea.", **IDLE)
    assert _refused(await client.post(f"{path}:appendEvent", json=event())) == ("events", 4)
    body = {"scope": USER, "directContentsSource": {"events": []}}
    assert _refused(await client.post("/memories:ingestEvents", json=body)) == ("events", 4)
    assert (await _quotas(client))["events"] == {"used": 4, "limit": 4}


async def test_events_that_are_memories_do_not_count(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await ended(client, runner, await ingest(client, "I like tea.", "I live in Oslo."))
    assert (await _quotas(client))["events"]["used"] == 0


async def test_bytes_are_refused_once_they_are_used_up(
    client: httpx.AsyncClient, database: Database
) -> None:
    # A memory and its revision have the fact, of which the quota has room for more.
    memory = ok(await _create(client, "x" * 1_900))["response"]
    used = (await held(database))[1]["bytes"]
    assert 3_800 < used < 4_000
    path = await new_path(client)
    # The last that is let in may go beyond, as long as a single request can be.
    await append(client, path, "x" * 500)
    used = (await held(database))[1]["bytes"]
    assert used > 4_000
    refusal = ("bytes", 4_000)
    assert _refused(await _create(client)) == refusal
    assert _refused(await _open(client)) == refusal
    assert _refused(await client.post(f"{path}:appendEvent", json=event())) == refusal
    assert _refused(await client.patch(path, json={"displayName": "a"})) == refusal
    update = await client.patch(path_of(memory["name"]), json={"fact": "y"})
    assert _refused(update) == refusal
    assert (await _quotas(client))["bytes"] == {"used": used, "limit": 4_000}


async def test_at_the_quota_of_bytes_less_one_there_is_room(
    client: httpx.AsyncClient, resources: Resources, database: Database
) -> None:
    ok(await _create(client))
    used = (await held(database))[1]["bytes"]
    for limit, is_refused in ((used - 1, True), (used, True), (used + 1, False)):
        settings = resources.settings.model_copy(update={"engine_max_bytes": limit})
        app = create_app(replace(resources, settings=settings))
        async with client_with(app, ADMIN_KEY) as other:
            answer = await _create(other)
            if is_refused:
                assert _refused(answer) == ("bytes", limit)
            else:
                ok(answer)


async def test_whoever_is_at_the_quota_can_go_back(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    first = await create_memory(client, "I like tea.")
    path = path_of(first["name"])
    ok(await client.patch(path, json={"fact": "I like coffee."}))
    for _ in range(2):
        ok(await _create(client))
    created = (await history(client, path))[-1]
    ok(await roll_back(client, path, id_of(created)))
    ok(await client.get(path))
    deleted = ok(await client.delete(path))
    # There is room for one again, and no more.
    ok(await _create(client))
    _refused(await _create(client))
    # What was deleted comes back all the same.
    ok(await ask(client, deleted["name"]))
    await runner.run_pending()
    assert (await _quotas(client))["memories"] == {"used": 4, "limit": 3}
    ok(await client.post("/memories:purge", json={"filter": 'scope.user_id="42"', "force": True}))
    ok(await _create(client))


async def test_what_was_deleted_needs_room_to_be_brought_back_by_its_name(
    client: httpx.AsyncClient,
) -> None:
    paths = [path_of(ok(await _create(client))["response"]["name"]) for _ in range(3)]
    ok(await client.delete(paths[0]))
    ok(await _create(client))
    assert _refused(await client.post(f"{paths[0]}:undelete")) == ("memories", 3)
    ok(await client.delete(paths[1]))
    ok(await client.post(f"{paths[0]}:undelete"))
    ok(await client.delete(paths[0]))
    await append(client, await new_path(client), "x" * 4_000)
    assert _refused(await client.post(f"{paths[0]}:undelete")) == ("bytes", 4_000)


async def test_what_is_deleted_makes_room(client: httpx.AsyncClient) -> None:
    paths = [path_of(ok(await _open(client))["response"]["name"]) for _ in range(2)]
    _refused(await _open(client))
    ok(await client.delete(paths[0]))
    ok(await _open(client))
    _refused(await _open(client))


async def test_a_generation_that_was_let_in_writes_all_that_it_finds(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    for _ in range(2):
        ok(await _create(client))
    await run(client, runner, given("I live in Oslo.", "I work as a nurse."))
    assert (await _quotas(client))["memories"] == {"used": 4, "limit": 3}
    answer = await client.post("/memories:generate", json={"scope": USER, **said("I like jam.")})
    assert _refused(answer) == ("memories", 3)


async def test_events_of_a_full_engine_wait_until_there_is_room(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, resources: Resources
) -> None:
    operation = await ingest(client, *SIX_FACTS[:2], **IDLE)
    memories = [ok(await _create(client, f"I like thing {n}.")) for n in range(3)]
    assert await runs_after(runner, clock, minutes=6) == 1
    waiting = await read(client, operation)
    assert not waiting["done"]
    assert "error" not in waiting
    pause = resources.settings.tuning.ingestion_retry_seconds
    assert waiting["metadata"]["postponedUntil"] == _in(clock, pause)
    # More is not taken, also not by a flush.
    body = {"scope": USER, "forceFlush": True}
    assert _refused(await client.post("/memories:ingestEvents", json=body))[0] == "memories"
    assert await runs_after(runner, clock, seconds=pause) == 1
    assert (await _quotas(client))["events"]["used"] == 2
    ok(await client.delete(path_of(memories[0]["response"]["name"])))
    assert await runs_after(runner, clock, seconds=pause - 1) == 0
    assert await runs_after(runner, clock, seconds=1) == 1
    assert (await read(client, operation))["done"]
    assert set(SIX_FACTS[:2]) <= set(await listed(client))
    assert (await _quotas(client))["events"]["used"] == 0


def _in(clock: FixedClock, seconds: float) -> str:
    return f"{clock.now() + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


async def test_the_quotas_of_engines_are_their_own(client: httpx.AsyncClient) -> None:
    for _ in range(3):
        ok(await _create(client))
    other = f"{API}/{(await create_engine(client))['name']}"
    ok(await client.post(f"{other}/memories", json={"fact": "tea", "scope": USER}))
    used = ok(await client.get(f"{other}:usage"))["quotas"]
    assert used["memories"] == {"used": 1, "limit": 3}
    _refused(await _create(client))


async def test_requests_that_add_nothing_are_not_refused(client: httpx.AsyncClient) -> None:
    for _ in range(3):
        ok(await _create(client))
    await listed(client)
    ok(await client.post("/memories:retrieve", json={"scope": USER}))
    # A session is something else.
    ok(await _open(client))


class _Unbounded:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        bounds = [*_SMALL, "engine_max_artifact_bytes"]
        return settings.model_copy(update=dict.fromkeys(bounds))


class TestWithoutBounds(_Unbounded):
    async def test_nothing_is_refused(self, client: httpx.AsyncClient) -> None:
        for _ in range(5):
            ok(await _create(client))
        quotas = await _quotas(client)
        assert quotas["memories"] == {"used": 5}
        assert all("limit" not in one for one in quotas.values())


class TestFarBelow:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        far: dict[str, Any] = {
            "engine_max_memories": 1_000,
            "engine_max_bytes": None,
            # One generation adds so many at most, so that nine are far enough from the quota.
            "generation_max_candidates": 100,
        }
        return settings.model_copy(update=far)

    async def test_a_reading_is_good_for_a_second(
        self, client: httpx.AsyncClient, resources: Resources, clock: FixedClock
    ) -> None:
        quotas = Quotas(resources.db, clock, resources.settings)
        await quotas.check(1, Counted.MEMORIES)
        ok(await _create(client))
        clock.advance(timedelta(milliseconds=999))
        await quotas.check(1, Counted.MEMORIES)
        assert quotas._readings[1].totals[Counted.MEMORIES] == 0
        clock.advance(timedelta(milliseconds=1))
        await quotas.check(1, Counted.MEMORIES)
        assert quotas._readings[1].totals[Counted.MEMORIES] == 1
        # A clock that is set back tells nothing.
        ok(await _create(client))
        clock.advance(-timedelta(seconds=1))
        await quotas.check(1, Counted.MEMORIES)
        assert quotas._readings[1].totals[Counted.MEMORIES] == 2

    async def test_a_reading_is_good_for_what_fits_before_the_quota_is_near(
        self, resources: Resources, clock: FixedClock
    ) -> None:
        quotas = Quotas(resources.db, clock, resources.settings)
        readings = set()
        for _ in range(9):
            await quotas.check(1, Counted.MEMORIES)
            readings.add(id(quotas._readings[1]))
            assert len(readings) == 1
        first = quotas._readings[1]
        await quotas.check(1, Counted.MEMORIES)
        assert quotas._readings[1] is not first

    async def test_near_the_quota_every_request_is_counted(
        self, client: httpx.AsyncClient, resources: Resources, clock: FixedClock
    ) -> None:
        settings = resources.settings.model_copy(update={"engine_max_memories": 110})
        quotas = Quotas(resources.db, clock, settings)
        for count in range(3):
            await quotas.check(1, Counted.MEMORIES)
            assert quotas._readings[1].totals[Counted.MEMORIES] == count
            ok(await _create(client))

    async def test_requests_at_one_moment_share_a_reading(
        self, resources: Resources, clock: FixedClock
    ) -> None:
        quotas = Quotas(resources.db, clock, resources.settings)
        with statements_on(resources.db, "engine_totals") as sent:
            await asyncio.gather(*(quotas.check(1, Counted.MEMORIES) for _ in range(5)))
        assert len(sent) == 1
        assert quotas._readings[1].admitted == 5

    async def test_near_the_quota_no_request_takes_a_reading_from_before_it(
        self, resources: Resources, clock: FixedClock
    ) -> None:
        settings = resources.settings.model_copy(update={"engine_max_memories": 110})
        quotas = Quotas(resources.db, clock, settings)
        with statements_on(resources.db, "engine_totals") as sent:
            first = asyncio.create_task(quotas.check(1, Counted.MEMORIES))
            await asyncio.sleep(0)
            clock.advance(timedelta(milliseconds=1))
            await asyncio.gather(first, quotas.check(1, Counted.MEMORIES))
        assert len(sent) == 2
