"""What was said when an erased memory was made is told by no other memory's revisions either."""

import asyncio

import httpx
import pytest
from sqlalchemy import select

from app.adapters.db.session import Database
from app.memory.memories.store.tables import MemoryRow
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, history, id_of, ok
from tests.support.generation import run, said
from tests.support.locks import until_waiting
from tests.support.operations import create_memory, path_of
from tests.support.rows import rows_with
from tests.support.totals import held, recounted

HOME = "I live in Berlin and work at Siemens."
BOAT = "I own a boat."
MOVED = "I live in Paris now, with my cat Minka."


async def _told(client: httpx.AsyncClient) -> str:
    """Return the revisions of all memories, as clients read them."""
    return str(await history(client, "/memories/-"))


async def _moved(client: httpx.AsyncClient, runner: Runner) -> tuple[Json, Json]:
    """Say what changes one memory and makes another; return how it is told of both."""
    await create_memory(client, HOME)
    operation = await run(client, runner, said(MOVED))
    changed, made = operation["response"]["generatedMemories"]
    assert (changed["action"], made["action"]) == ("UPDATED", "CREATED")
    return changed["memory"], made["memory"]


async def _erase(client: httpx.AsyncClient, way: str, memory: Json) -> Json:
    """Erase a memory, and return what the operation counts."""
    path = path_of(memory["name"])
    if way == "delete":
        operation = ok(await client.delete(path, params={"permanent": True}))
    else:
        wanted = ok(await client.get(path))["fact"]
        body = {"filter": f'fact="{wanted}"', "force": True, "permanent": True}
        operation = ok(await client.post("/memories:purge", json=body))
    erased: Json = operation["metadata"]["erased"]
    return erased


@pytest.mark.parametrize("way", ["delete", "purge"])
async def test_erased_for_good_a_memory_is_quoted_nowhere(
    client: httpx.AsyncClient, runner: Runner, way: str
) -> None:
    changed, made = await _moved(client, runner)
    await run(client, runner, said("I like green tea."), scope={"user_id": "7"})
    before = await history(client, path_of(changed["name"]))
    assert "Minka" in str(before)
    erased = await _erase(client, way, made)
    assert erased == {"memories": 1, "vectors": 1, "revisions": 1, "labels": 0}
    told = await _told(client)
    assert "Minka" not in told
    # Nothing else has changed, and what other operations quote stays.
    newest, oldest = await history(client, path_of(changed["name"]))
    quoting = {"extractedMemories", "context"}
    assert newest == {key: before[0][key] for key in before[0] if key not in quoting}
    assert oldest == before[1]
    quote = {"fact": "I like green tea.", "context": "I like green tea."}
    assert f"'extractedMemories': [{quote}]" in told


async def test_a_context_is_gone_wherever_a_later_change_has_copied_it(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    """Contexts that callers have written stay."""
    changed, made = await _moved(client, runner)
    path = path_of(changed["name"])
    quote = ok(await client.get(path))["context"]
    assert "Minka" in quote
    ok(await client.patch(path, json={"displayName": "home"}))
    other = await create_memory(client, "I sing.", context=quote.replace("Minka", "Tom"))
    before = ok(await client.get(path))
    await _erase(client, "delete", made)
    after = ok(await client.get(path))
    assert after == {key: before[key] for key in before if key != "context"}
    assert await rows_with(database, "Minka") == {}
    assert "Tom" in ok(await client.get(path_of(other["name"])))["context"]
    assert await held(database) == await recounted(database)


async def test_what_no_revision_tells_of_is_found_by_its_message(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    source = said("I like tea, and I live in Oslo.", BOAT)
    operation = await run(client, runner, source, disableMemoryRevisions=True)
    by_fact = {
        ok(await client.get(path_of(one["memory"]["name"])))["fact"]: one["memory"]
        for one in operation["response"]["generatedMemories"]
    }
    assert len(by_fact) > 2
    await _erase(client, "delete", next(one for fact, one in by_fact.items() if "Oslo" in fact))
    left = ok(await client.get("/memories"))["memories"]
    assert {one["fact"]: one.get("context") for one in left} == {
        fact: BOAT if fact == BOAT else None for fact in by_fact if "Oslo" not in fact
    }


async def test_an_erasure_waits_for_a_change_of_what_it_takes_quotes_from(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    changed, made = await _moved(client, runner)
    mine = select(MemoryRow.memory_id).where(
        MemoryRow.engine_id == 1, MemoryRow.memory_id == id_of(changed)
    )
    async with database.engine.begin() as other:
        await other.execute(mine.with_for_update())
        erasing = asyncio.create_task(_erase(client, "delete", made))
        await until_waiting(database)
    await erasing
    assert await rows_with(database, "Minka") == {}


async def test_a_deletion_that_can_be_taken_back_takes_no_quote(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    changed, made = await _moved(client, runner)
    before = await history(client, path_of(changed["name"]))
    ok(await client.delete(path_of(made["name"])))
    assert await history(client, path_of(changed["name"])) == before


async def test_memories_of_one_generation_are_erased_side_by_side(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    """Each erasure would write to what the others erase, and to its revisions."""
    facts = [
        "I like tea.",
        "I own a boat.",
        "I live in Oslo.",
        "I work at Initech.",
        "I like jazz.",
    ]
    operation = await run(client, runner, said(" ".join(facts)), disableConsolidation=True)
    ids = [id_of(one["memory"]) for one in operation["response"]["generatedMemories"]]
    assert len(ids) == len(facts)
    query = {"permanent": True}
    body = {"filter": f'fact="{facts[0]}"', "force": True, **query}
    answers = await asyncio.gather(
        client.post("/memories:purge", json=body),
        *(client.delete(f"/memories/{one}", params=query) for one in ids[1:]),
    )
    assert [answer.status_code for answer in answers] == [200] * len(facts)
    assert await _told(client) == "[]"
