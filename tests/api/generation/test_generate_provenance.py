"""Where generated memories come from: set by the service, kept in revisions, told by `explain`."""

from datetime import datetime
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import MemoryRow, RevisionRow
from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE, Json, field_of, history, id_of, ok, retrieve, roll_back, wire
from tests.support.generation import given, run, said
from tests.support.ingestion import ended, event, ingest, rule
from tests.support.operations import USER, create_memory, path_of
from tests.support.scripted import fact, facts, verdict, verdicts, written_by
from tests.support.scripted_models import Reply, ScriptedTextModel
from tests.support.sessions import append, new_path

TEA, OSLO, DOG = "I like tea.", "I live in Oslo.", "My dog is called Rex."
MAY, JUNE = "2023-05-08T13:56:00Z", "2023-06-01T09:00:00Z"
METADATA = {
    "source": {"stringValue": "mail"},
    "position": {"doubleValue": 4.5},
    "event_time": {"timestampValue": MAY},
}
NAMED = ("mail", 4.5, MAY)
_Place = tuple[str | None, float | None, str | None]


def talk(*told: tuple[str, str | None]) -> Json:
    """Return a conversation of what a user said, and when."""
    return {"directContentsSource": {"events": [event(text, time=time) for text, time in told]}}


def _told(row: Any) -> _Place:
    moment: datetime | None = row.event_time
    return row.source, row.position, None if moment is None else wire(moment)


async def places(database: Database) -> dict[str, _Place]:
    """Return the columns of every memory, by its fact."""
    async with database.snapshot() as session:
        rows = (await session.execute(select(MemoryRow))).scalars().all()
    return {str(row.fact): _told(row) for row in rows}


async def past_places(database: Database) -> list[_Place]:
    """Return the columns of every revision, oldest first."""
    async with database.snapshot() as session:
        statement = select(RevisionRow).order_by(RevisionRow.revision_id)
        return [_told(row) for row in (await session.execute(statement)).scalars()]


async def the_place(database: Database) -> _Place:
    """Return those of the only memory."""
    (found,) = (await places(database)).values()
    return found


async def test_a_conversation_is_the_source_and_its_lines_tell_the_rest(
    client: httpx.AsyncClient, runner: Runner, database: Database, clock: FixedClock
) -> None:
    await run(client, runner, talk((TEA, MAY), ("Hello.", JUNE), (OSLO, None)))
    found = await places(database)
    assert found[TEA][1:] == (1.0, MAY)
    assert found[OSLO][1:] == (3.0, wire(clock.now()))
    (source,) = {one[0] for one in found.values()}
    assert source
    assert "tea" not in source
    assert sorted(await past_places(database)) == sorted(found.values())
    memories = ok(await client.get("/memories"))["memories"]
    assert all("metadata" not in one for one in memories)


async def test_another_conversation_is_another_source(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    await run(client, runner, said(TEA))
    await run(client, runner, said(OSLO))
    await run(client, runner, said(TEA, DOG))
    found = await places(database)
    assert len({source for source, *_ in found.values()}) == 2
    # What is said again comes from where it was said last.
    assert found[TEA][0] == found[DOG][0] != found[OSLO][0]


async def test_a_session_is_the_source_by_its_name(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    path = await new_path(client)
    for text, time in ((OSLO, JUNE), (TEA, MAY), ("Hello.", MAY)):
        await append(client, path, text, timestamp=time)
    source = {"vertexSessionSource": {"session": f"{ENGINE}{path}"}}
    await run(client, runner, source)
    name = f"{ENGINE}{path}"
    # Numbered as they came, wherever the window of the request begins.
    assert await places(database) == {OSLO: (name, 1.0, JUNE), TEA: (name, 2.0, MAY)}
    await append(client, path, DOG, timestamp=JUNE)
    source["vertexSessionSource"]["startTime"] = JUNE
    await run(client, runner, source)
    assert (await places(database))[DOG] == (name, 4.0, JUNE)


async def test_given_facts_have_the_time_of_the_request_alone(
    client: httpx.AsyncClient, runner: Runner, database: Database, clock: FixedClock
) -> None:
    await run(client, runner, given(TEA))
    assert await the_place(database) == (None, None, wire(clock.now()))


async def test_a_stream_is_one_source_however_often_it_is_read(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    overlapping = rule(event_count=3, overlap_event_count=2)
    for text, time in ((TEA, MAY), (OSLO, None), (DOG, JUNE)):
        operation = await ingest(client, event(text, time=time), forceFlush=True, **overlapping)
        await ended(client, runner, operation)
    found = await places(database)
    assert {text: one[1] for text, one in found.items()} == {TEA: 1.0, OSLO: 2.0, DOG: 3.0}
    assert (found[TEA][2], found[DOG][2]) == (MAY, JUNE)
    assert len({source for source, *_ in found.values()}) == 1
    other = await ingest(client, "I own a boat.", streamId="other")
    await ended(client, runner, other)
    found = await places(database)
    assert found["I own a boat."][0] != found[TEA][0]


async def test_what_the_metadata_name_comes_first(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    await run(client, runner, talk((TEA, JUNE)), metadata=METADATA)
    assert await the_place(database) == NAMED
    assert await past_places(database) == [NAMED]


async def test_one_of_them_is_enough(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    await run(client, runner, talk((TEA, JUNE)), metadata={"source": METADATA["source"]})
    assert await the_place(database) == ("mail", 1.0, JUNE)


async def test_metadata_of_a_memory_name_them_and_take_them_away(
    client: httpx.AsyncClient, database: Database
) -> None:
    memory = await create_memory(client, TEA, metadata=METADATA)
    assert await the_place(database) == NAMED
    path = path_of(memory["name"])
    other = {"metadata": {"source": {"stringValue": "call"}}}
    ok(await client.patch(path, params={"updateMask": "metadata"}, json=other))
    assert await the_place(database) == ("call", None, None)
    ok(await client.patch(path, params={"updateMask": "fact"}, json={"fact": OSLO}))
    assert await the_place(database) == ("call", None, None)
    ok(await client.patch(path, params={"updateMask": "metadata"}, json={}))
    assert await the_place(database) == (None, None, None)


async def test_an_edit_by_hand_keeps_where_a_memory_comes_from(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    await run(client, runner, talk((TEA, MAY)))
    before = await the_place(database)
    (memory,) = ok(await client.get("/memories"))["memories"]
    edit = {"fact": "I like green tea.", "metadata": {"a": {"stringValue": "b"}}}
    mask = {"updateMask": "fact,metadata"}
    ok(await client.patch(path_of(memory["name"]), params=mask, json=edit))
    assert await the_place(database) == before
    assert await past_places(database) == [before, before]


class TestMerging:
    """A model merges what is new into a memory."""

    @pytest.fixture
    def script(self) -> list[Reply]:
        both = "I like tea and coffee."
        return [
            facts(TEA),
            facts(fact("I like coffee.", line=1)),
            verdicts(verdict("merge", "m1", both)),
        ]

    @pytest.fixture
    def resources(self, resources: Resources, script: list[Reply]) -> Resources:
        return written_by(resources, ScriptedTextModel(script))

    async def test_the_newest_line_counts_and_each_way_back_restores_the_older_one(
        self, client: httpx.AsyncClient, runner: Runner, database: Database
    ) -> None:
        await run(client, runner, talk((TEA, MAY)))
        old = await the_place(database)
        merged = await run(client, runner, talk(("Hello.", MAY), ("I like coffee.", JUNE)))
        new = await the_place(database)
        assert new[0] != old[0]
        assert new[1:] == (2.0, JUNE)
        assert await past_places(database) == [old, new]

        ok(await client.post(f"{path_of(merged['name'])}:undo", json={}))
        await runner.run_pending()
        assert await the_place(database) == old

        (memory,) = ok(await client.get("/memories"))["memories"]
        path = path_of(memory["name"])
        _, second, first = await history(client, path)
        ok(await roll_back(client, path, id_of(second)))
        assert await the_place(database) == new

        ok(await client.delete(path))
        ok(await roll_back(client, path, id_of(first)))
        assert await the_place(database) == old


async def test_they_are_told_with_explain_alone(client: httpx.AsyncClient, runner: Runner) -> None:
    await run(client, runner, talk((TEA, MAY)))
    search: Json = {"similaritySearchParams": {"searchQuery": TEA, "topK": 1}}
    # The first asks the usual way, the others by the hot statements.
    for body in (search, search, {}):
        (plain,) = await retrieve(client, **body)
        assert "explanation" not in plain
        assert plain["memory"].keys().isdisjoint({"source", "position", "sourceEvent"})
        assert plain["memory"]["eventTime"] == MAY
        (told,) = await retrieve(client, explain=True, **body)
        assert told["memory"] == plain["memory"]
        assert told["explanation"]["eventTime"] == MAY
        assert told["explanation"]["sourceEvent"].keys() == {"source", "position"}
        assert told["explanation"]["sourceEvent"]["position"] == 1
    (revision,) = await history(client, "/memories/-")
    assert revision.keys().isdisjoint({"source", "position", "eventTime", "sourceEvent"})


async def test_what_comes_from_nowhere_tells_nothing(client: httpx.AsyncClient) -> None:
    await create_memory(client, TEA)
    (told,) = await retrieve(client, explain=True)
    assert told["explanation"].keys() == {"tokens"}


async def test_nobody_names_them_but_by_metadata(client: httpx.AsyncClient) -> None:
    for field in ("source", "position"):
        body = {"fact": TEA, "scope": USER, field: "1"}
        assert field_of(await client.post("/memories", json=body)) == field


@pytest.mark.parametrize("is_purge", [False, True])
async def test_the_source_goes_with_what_is_erased(
    client: httpx.AsyncClient, runner: Runner, database: Database, *, is_purge: bool
) -> None:
    path = await new_path(client)
    await append(client, path, TEA, timestamp=MAY)
    await run(client, runner, {"vertexSessionSource": {"session": f"{ENGINE}{path}"}})
    (memory,) = ok(await client.get("/memories"))["memories"]
    params = {"permanent": "true"}
    if is_purge:
        ask = {"filter": f'scope.user_id="{USER["user_id"]}"', "force": True, **params}
        ok(await client.post("/memories:purge", json=ask))
        await runner.run_pending()
    else:
        ok(await client.delete(path_of(memory["name"]), params=params))
    assert (await places(database), await past_places(database)) == ({}, [])
