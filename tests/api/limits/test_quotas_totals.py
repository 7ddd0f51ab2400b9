"""What an engine holds is counted exactly, whatever is done, by whom, and at the same time."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.db.spread import RowSearch
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.limits import store as totals
from app.platform.operations.services.runner import Runner
from app.platform.upkeep.service import UpkeepService
from tests.support.bank import Json, ok
from tests.support.engines import API, COLLECTION, FIRST, create_engine
from tests.support.generation import run, said
from tests.support.locks import until_waiting
from tests.support.operations import USER, create_memory
from tests.support.sessions import append, event, new_path
from tests.support.sweeping import batch
from tests.support.totals import held, recounted, waiting

_STEPS = 100
_DAY = timedelta(days=1)
_TEXTS = ("I like tea.", "I live in Oslo.", "I like ünïcode ☕ very much.", "My dog is called Rex.")


class _Caller:
    """Somebody who does anything that can be done, by chance."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        runner: Runner,
        retention: UpkeepService,
        clock: FixedClock,
        seed: int,
    ) -> None:
        self._client = client
        self._runner = runner
        self._retention = retention
        self._clock = clock
        self._chance = random.Random(seed)
        self._engine = FIRST
        self.done: set[str] = set()

    async def act(self) -> None:
        steps: list[Callable[[], Awaitable[object]]] = [
            *[self.create] * 3,
            *[self.update, self.roll_back, self.append, self.ingest, self.generate, self.work] * 2,
            *[self.delete, self.refused, self.purge, self.undo, self.open_session],
            *[self.update_session, self.delete_session, self.wait, self.sweep, self.change_engine],
        ]
        step = self._chance.choice(steps)
        await step()
        self.done.add(step.__name__)

    async def create(self) -> None:
        fields: Json = {"metadata": {"n": {"doubleValue": self._chance.random()}}}
        if self._chance.random() < 0.5:
            fields |= {"revisionLabels": {"a": "1"}, "ttl": "90000s", "displayName": "a"}
        if self._chance.random() < 0.2:
            fields |= {"structuredContent": {"data": {"a": [1, 2.5]}, "schemaId": "s"}}
        await self._post("/memories", {"fact": self._text(), "scope": self._scope(), **fields})

    async def refused(self) -> None:
        """Let a transaction roll back that has written already."""
        body = {"fact": self._text(), "scope": self._scope()}
        params = {"memoryId": "chosen"}
        await self._client.post(f"{self._engine}/memories", params=params, json=body)
        found = await self._client.post(f"{self._engine}/memories", params=params, json=body)
        assert found.status_code in {404, 409}

    async def update(self) -> None:
        if (name := await self._any("memories")) is not None:
            body: Json = {"fact": self._text() * self._chance.randint(1, 30)}
            if self._chance.random() < 0.3:
                body = {"metadata": {}, "disableMemoryRevisions": True}
            ok(await self._client.patch(f"{API}/{name}", json=body))

    async def delete(self) -> None:
        if (name := await self._any("memories")) is not None:
            permanent = {"permanent": self._chance.choice(["true", "false"])}
            ok(await self._client.delete(f"{API}/{name}", params=permanent))

    async def roll_back(self) -> None:
        listed = await self._get("/memories/-/revisions")
        for revision in listed.get("memoryRevisions", [])[:1]:
            memory, _, target = revision["name"].partition("/revisions/")
            body = {"targetRevisionId": target}
            await self._client.post(f"{API}/{memory}:rollback", json=body)

    async def purge(self) -> None:
        user = self._chance.choice("12")
        body = {"filter": f'scope.user_id="{user}"', "force": self._chance.random() < 0.7}
        await self._post("/memories:purge", {**body, "permanent": self._chance.random() < 0.5})

    async def generate(self) -> None:
        events = [{"content": {"role": "user", "parts": [{"text": self._text()}]}}]
        source = {"directContentsSource": {"events": events}}
        await self._post("/memories:generate", {"scope": self._scope(), **source})

    async def ingest(self) -> None:
        said = {"role": "user", "parts": [{"text": self._text()}]}
        events: list[Json] = [{"content": said} for _ in range(self._chance.randint(0, 3))]
        for one in events[:1]:
            one["eventId"] = str(self._chance.randint(1, 9))
        rule = {"eventCount": 3, "overlapEventCount": 1}
        body: Json = {"scope": self._scope(), "directContentsSource": {"events": events}}
        if self._chance.random() < 0.6:
            body["generationTriggerConfig"] = {"generationRule": rule}
        await self._post("/memories:ingestEvents", body)

    async def undo(self) -> None:
        listed = await self._get("/operations")
        names = [one["name"] for one in listed["operations"] if one["done"]]
        if names:
            await self._client.post(f"{API}/{self._chance.choice(names)}:undo")

    async def open_session(self) -> None:
        state = {self._key(): self._chance.randint(0, 999), "temp:t": 1}
        fields = {"sessionState": state, "labels": {"a": "b"}}
        await self._post("/sessions", {"userId": self._chance.choice("12"), **fields})

    async def update_session(self) -> None:
        if (name := await self._any("sessions")) is not None:
            body: Json = {"displayName": self._text(), "sessionState": {self._key(): "b" * 50}}
            body["sessionState"] |= {self._key(): None}
            ok(await self._client.patch(f"{API}/{name}", json=body))

    async def append(self) -> None:
        if (name := await self._any("sessions")) is not None:
            actions: Json = {"stateDelta": {self._key(): self._text()}}
            body = event(self._text(), actions=self._chance.choice([actions, {}]))
            ok(await self._client.post(f"{API}/{name}:appendEvent", json=body))

    def _key(self) -> str:
        """Return a key of a session's state, of its user's or of the engine's."""
        return self._chance.choice(["", "user:", "app:"]) + self._chance.choice("abc")

    async def delete_session(self) -> None:
        """Its events go by the cascade of the foreign key."""
        if (name := await self._any("sessions")) is not None:
            ok(await self._client.delete(f"{API}/{name}"))

    async def work(self) -> None:
        await self._runner.run_pending()

    async def wait(self) -> None:
        self._clock.advance(
            self._chance.choice([_DAY / 24, _DAY, 3 * _DAY, 100 * _DAY, 366 * _DAY])
        )

    async def sweep(self) -> None:
        await self._retention.sweep()

    async def change_engine(self) -> None:
        """Go on in another engine; delete the last, but for the first."""
        if self._engine != FIRST and self._chance.random() < 0.5:
            ok(await self._client.delete(self._engine, params={"force": "true"}))
        engine = await create_engine(self._client)
        self._engine = self._chance.choice([FIRST, f"{API}/{engine['name']}"])

    async def _post(self, path: str, body: Json) -> None:
        ok(await self._client.post(f"{self._engine}{path}", json=body))

    async def _get(self, path: str) -> Json:
        return ok(await self._client.get(f"{self._engine}{path}"))

    async def _any(self, collection: str) -> str | None:
        found = (await self._get(f"/{collection}"))[collection]
        return self._chance.choice(found)["name"] if found else None

    def _text(self) -> str:
        return self._chance.choice(_TEXTS)

    def _scope(self) -> dict[str, str]:
        return {"user_id": self._chance.choice("12")}


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_is_done_the_totals_are_those_of_a_recount(
    client: httpx.AsyncClient,
    runner: Runner,
    resources: Resources,
    clock: FixedClock,
    database: Database,
    seed: int,
) -> None:
    caller = _Caller(client, runner, UpkeepService(resources), clock, seed)
    for step in range(_STEPS):
        await caller.act()
        assert await held(database) == await recounted(database), (step, sorted(caller.done))
        await waiting(database)
    assert len(caller.done) >= 15


async def _add_up(resources: Resources, limit: int) -> int:
    _, counts = await batch(resources, totals.find_addable, totals.add_up, limit)
    return sum(counts)


async def _rows(database: Database) -> list[tuple[int, int]]:
    async with database.snapshot() as session:
        statement = "select engine_id, backend from engine_totals order by engine_id, backend"
        return [(row[0], row[1]) for row in await session.execute(text(statement))]


async def test_the_sweep_adds_the_rows_of_connections_together(
    client: httpx.AsyncClient, resources: Resources, database: Database
) -> None:
    await asyncio.gather(*(create_memory(client, f"fact {n}") for n in range(8)))
    before = await held(database)
    assert before == await recounted(database)
    assert before[1]["memories"] == 8
    assert all(backend > 0 for _, backend in await _rows(database))
    await UpkeepService(resources).sweep()
    assert await _rows(database) == [(1, 0)]
    assert await held(database) == before
    # It is added to what was added before.
    await create_memory(client, "another")
    await UpkeepService(resources).sweep()
    assert await _rows(database) == [(1, 0)]
    assert await held(database) == await recounted(database)


async def test_the_sweep_works_in_batches_of_all_engines(
    client: httpx.AsyncClient, resources: Resources, database: Database
) -> None:
    for _ in range(3):
        name = (await create_engine(client))["name"]
        ok(await client.post(f"{API}/{name}/memories", json={"fact": "tea", "scope": USER}))
    before = await held(database)
    rows = len(await _rows(database))
    assert await _add_up(resources, 2) == 2
    assert await held(database) == before
    assert await _add_up(resources, 100) == rows - 2
    assert [backend for _, backend in await _rows(database)] == [0, 0, 0]
    assert await held(database) == before


async def test_the_sweep_removes_the_totals_of_an_engine_that_is_gone(
    client: httpx.AsyncClient, runner: Runner, resources: Resources, database: Database
) -> None:
    await create_memory(client, "tea")
    name = (await create_engine(client))["name"]
    ok(await client.post(f"{API}/{name}/memories", json={"fact": "tea", "scope": USER}))
    ok(await client.delete(f"{API}/{name}", params={"force": "true"}))
    await runner.run_pending()
    assert len({engine for engine, _ in await _rows(database)}) == 2
    await UpkeepService(resources).sweep()
    assert await _rows(database) == [(1, 0)]


async def test_many_writers_and_sweeps_at_once_lose_nothing(
    client: httpx.AsyncClient, resources: Resources, database: Database
) -> None:
    urls = [FIRST, *[f"{API}/{(await create_engine(client))['name']}" for _ in range(2)]]

    async def write(number: int) -> None:
        body = {"fact": f"I like thing {number}.", "scope": USER}
        ok(await client.post(f"{urls[number % 3]}/memories", json=body))

    async def sweep() -> None:
        for _ in range(10):
            await _add_up(resources, 5)

    await asyncio.gather(*(write(number) for number in range(45)), *(sweep() for _ in range(3)))
    found = await held(database)
    assert [one["memories"] for one in found.values()] == [15, 15, 15]
    assert found == await recounted(database)


async def test_neither_writers_nor_the_sweep_wait_for_a_transaction_under_way(
    client: httpx.AsyncClient, resources: Resources, database: Database
) -> None:
    await create_memory(client, "tea")
    insert = text(
        "insert into sessions (engine_id, session_id, user_id, version, create_time, update_time,"
        " shown_update_time, expire_time)"
        " values (1, 'a', '42', 1, now(), now(), now(), now() + interval '1 day')"
    )
    async with asyncio.timeout(5), database.engine.begin() as other:
        await other.execute(insert)
        await create_memory(client, "coffee")
        await UpkeepService(resources).sweep()
        assert (await held(database))[1]["sessions"] == 0
        assert (await held(database))[1]["memories"] == 2
    assert await held(database) == await recounted(database)
    assert (await held(database))[1]["sessions"] == 1


async def test_a_writer_that_meets_the_sweep_goes_on_where_it_ends(database: Database) -> None:
    """The sweep has taken the row to which the connection is about to add."""
    async with database.engine.connect() as writer:
        session = "insert into sessions (engine_id, session_id, user_id, version, create_time,"
        session += " update_time, shown_update_time, expire_time)"
        session += " values (1, '{}', '42', 1, now(), now(), now(), now())"
        await writer.execute(text(session.format("a")))
        await writer.commit()
        async with database.transaction() as sweep:
            keys = await totals.find_addable(sweep, RowSearch(10))
            assert await totals.add_up(sweep, 1, keys) == 1
            writing = asyncio.create_task(writer.execute(text(session.format("b"))))
            await until_waiting(database)
        await writing
        await writer.commit()
    assert (await held(database))[1]["sessions"] == 2
    assert await held(database) == await recounted(database)


async def test_events_that_go_with_their_session_are_counted(
    client: httpx.AsyncClient, database: Database
) -> None:
    paths = [await new_path(client) for _ in range(2)]
    for path in paths:
        for n in range(3):
            await append(client, path, f"text {n}", actions={"stateDelta": {"n": "a" * n}})
    async with database.engine.begin() as connection:
        # Several parents in one statement, whose cascades are statements of their own.
        await connection.execute(text("delete from sessions where engine_id = 1"))
    assert await held(database) == {}


async def test_quotes_that_an_erasure_takes_from_others_are_counted(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    generated = await run(client, runner, said("I like tea. I live in Oslo."))
    first, _ = generated["response"]["generatedMemories"]
    (quoted,) = await _quotes(database, first["memory"]["name"])
    assert quoted > len("[]")
    url = f"{API}/{first['memory']['name']}"
    ok(await client.delete(url, params={"permanent": "true"}))
    assert await _quotes(database, first["memory"]["name"]) == [len("[]")]
    assert await held(database) == await recounted(database)


async def _quotes(database: Database, name: str) -> list[int]:
    """Return how much the revisions of other memories quote."""
    statement = """
        select octet_length(extracted_memories::text) from memory_revisions
        where engine_id = 1 and memory_id <> :memory_id
    """
    async with database.snapshot() as session:
        found = await session.execute(text(statement), {"memory_id": name.rpartition("/")[2]})
        return list(found.scalars())


async def test_what_is_deleted_for_a_while_keeps_its_bytes(
    client: httpx.AsyncClient, database: Database
) -> None:
    memory = await create_memory(client, "I like tea.")
    before = (await held(database))[1]
    ok(await client.delete(f"{API}/{memory['name']}"))
    after = (await held(database))[1]
    assert (before["memories"], after["memories"]) == (1, 0)
    assert after["bytes"] > before["bytes"]
    ok(await client.delete(f"{API}/{memory['name']}", params={"permanent": "true"}))
    assert await held(database) == {}


async def test_the_totals_of_each_engine_are_its_own(
    client: httpx.AsyncClient, database: Database
) -> None:
    name: Any = (await create_engine(client))["name"]
    ok(await client.post(f"{API}/{name}/memories", json={"fact": "tea", "scope": USER}))
    assert 1 not in await held(database)
    await create_memory(client, "tea")
    both = await held(database)
    assert [one["memories"] for one in both.values()] == [1, 1]
    assert f"{COLLECTION}/{next(key for key in both if key != 1)}".endswith(name)
