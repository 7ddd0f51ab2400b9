"""Memories from before searches asked for traits get theirs by the sweep."""

import httpx
import pytest
from sqlalchemy import Text, cast, select, update

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.memory.memories.store.tables import MemoryRow
from app.platform.upkeep.service import UpkeepService
from app.settings.settings import Settings
from tests.support.bank import ENGINE_URL, history, ok, retrieved
from tests.support.operations import create_memory, path_of
from tests.support.scripted_models import ScriptedEmbedder

FACTS = ["Die Wohnungen sind teuer.", "My flats are cheap.", "Anna: What a day!"]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    # More than one batch.
    return settings.model_copy(update={"sweep_batch_rows": 2})


async def _traits(database: Database) -> dict[str, tuple[str, list[str] | None]]:
    statement = select(MemoryRow.fact, cast(MemoryRow.language, Text), MemoryRow.cues)
    async with database.snapshot() as session:
        rows = await session.execute(statement)
        return {str(fact): (str(language), cues) for fact, language, cues in rows}


async def _forget_traits(database: Database) -> None:
    async with database.transaction() as session:
        statement = update(MemoryRow).where(MemoryRow.engine_id == 1)
        await session.execute(statement.values(language="simple", cues=None))


async def test_the_sweep_learns_traits_and_changes_no_memory(
    client: httpx.AsyncClient,
    resources: Resources,
    database: Database,
    embedder: ScriptedEmbedder,
) -> None:
    embedder.lexical_only = True
    made = [await create_memory(client, fact) for fact in FACTS]
    written = await _traits(database)
    await _forget_traits(database)
    search = {"similaritySearchParams": {"searchQuery": "Was kostet meine Wohnung?", "topK": 1}}
    assert await retrieved(client, **search) != FACTS[:1]
    await UpkeepService(resources).sweep()
    assert await _traits(database) == written
    assert {language for language, _ in written.values()} == {"german", "english"}
    assert all(cues for _, cues in written.values())
    assert await retrieved(client, **search) == FACTS[:1]
    for memory in made:
        assert ok(await client.get(path_of(memory["name"]))) == memory
        assert len(await history(client, path_of(memory["name"]))) == 1


async def test_the_sweep_keeps_to_the_language_of_the_engine(
    client: httpx.AsyncClient, resources: Resources, database: Database
) -> None:
    config = {"similaritySearchConfig": {"language": "nl"}}
    ok(await client.patch(ENGINE_URL, json={"contextSpec": {"memoryBankConfig": config}}))
    await create_memory(client, FACTS[0])
    await _forget_traits(database)
    await UpkeepService(resources).sweep()
    ((language, cues),) = (await _traits(database)).values()
    assert (language, bool(cues)) == ("dutch", True)
