"""Words of scripts without blanks are found, by each way a search can take."""

import json
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Text, cast, func, select, update

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.text import without_format
from app.language.grams import indexed
from app.memory.memories.store.tables import MemoryRow
from app.platform.upkeep.service import UpkeepService
from tests.support.bank import history, ok, retrieve, retrieved
from tests.support.cases import in_one_test
from tests.support.copies import Copies
from tests.support.operations import create_memory, path_of
from tests.support.scripted_models import ScriptedEmbedder

SCRIPTS = json.loads(Path(__file__).with_name("unspaced_words.json").read_text("utf-8"))
"""For each language eight facts, each with three questions that share a word with it."""
MIXED = "我在Google用Python写代码。"


async def _fill(client: httpx.AsyncClient) -> None:
    for language, rows in SCRIPTS.items():
        for row in rows:
            await create_memory(client, row["fact"], {"user_id": language})


@pytest.fixture
async def filled(
    client: httpx.AsyncClient, resources: Resources, embedder: ScriptedEmbedder, copies: Copies
) -> httpx.AsyncClient:
    embedder.lexical_only = True
    await copies.fill(resources.db, "unspaced words", lambda: _fill(client))
    return client


async def _first(client: httpx.AsyncClient, question: str, **body: object) -> str:
    search = {"searchQuery": question, "topK": 1}
    return (await retrieved(client, similaritySearchParams=search, **body))[0]


@pytest.mark.parametrize("body", [{}, {"filter": "metadata.k!=1"}], ids=["fast", "filtered"])
async def test_a_shared_word_finds_the_fact(
    filled: httpx.AsyncClient, body: dict[str, object]
) -> None:
    asked = [
        (language, row["fact"], row["questions"])
        for language, rows in SCRIPTS.items()
        for row in rows
    ]
    missed: list[list[str]] = []
    for number in range(3):
        missed.append([])
        for language, fact, questions in asked:
            scope = {"user_id": language}
            if await _first(filled, questions[number], scope=scope, **body) != fact:
                missed[-1].append(questions[number])
    assert len(missed[0]) <= 2, missed
    assert sum(map(len, missed)) <= 6, missed


@in_one_test("question", ["Python", "谁用Python", "Google里的人", "写代码"])
async def test_a_word_of_another_script_is_found_where_it_touches(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder, question: str
) -> None:
    embedder.lexical_only = True
    await create_memory(client, MIXED)
    await create_memory(client, "我喜欢喝茶。")
    search = {"searchQuery": question}
    found = await retrieve(client, similaritySearchParams=search, explain=True)
    assert found[0]["memory"]["fact"] == MIXED
    assert found[0]["explanation"]["lexicalScore"] > 0


async def _grams(database: Database) -> dict[str, str | None]:
    statement = select(MemoryRow.fact, cast(MemoryRow.grams, Text))
    async with database.snapshot() as session:
        return {str(fact): grams for fact, grams in await session.execute(statement)}


async def _as_stored(database: Database, facts: list[str]) -> dict[str, str | None]:
    async with database.snapshot() as session:
        return {
            fact: (await session.execute(select(cast(func.tsvector(indexed(fact)), Text)))).scalar()
            for fact in facts
        }


@pytest.mark.parametrize("body", [{}, {"filter": "metadata.k!=1"}], ids=["fast", "filtered"])
@pytest.mark.parametrize(
    ("plain", "variant"),
    [
        ("葛城", "葛\U000e0100城"),
        ("matcha", "matcha\ufe0f"),
        ("matcha", "mat\u200bcha"),
        ("ကော်ဖီ", "က\ufe00ော်ဖီ"),
    ],
)
async def test_a_word_is_found_with_a_variation_selector_and_without(
    client: httpx.AsyncClient,
    embedder: ScriptedEmbedder,
    plain: str,
    variant: str,
    body: dict[str, object],
) -> None:
    embedder.lexical_only = True
    for number, word in enumerate((plain, variant)):
        scope = {"user_id": str(number)}
        await create_memory(client, f"I like {word} most.", scope)
        await create_memory(client, "I have a dog.", scope)

        for asked in (plain, variant):
            assert await _first(client, f"{asked}?", scope=scope, **body) == f"I like {word} most."


_STORED_WITH_FORMAT = ["matcha\ufe0f", "mat\u200bcha", "co\u00adoperative", "می\u200cدوم"]


@pytest.mark.parametrize("body", [{}, {"filter": "metadata.k!=1"}], ids=["fast", "filtered"])
@in_one_test("word", _STORED_WITH_FORMAT)
async def test_a_word_that_a_former_release_stored_is_found_as_it_is_written(
    client: httpx.AsyncClient,
    database: Database,
    embedder: ScriptedEmbedder,
    word: str,
    body: dict[str, object],
) -> None:
    embedder.lexical_only = True
    scope = {"user_id": word.encode().hex()}
    await create_memory(client, f"I like {word} most.", scope)
    await create_memory(client, "I have a dog.", scope)
    async with database.transaction() as session:
        await session.execute(update(MemoryRow).where(MemoryRow.engine_id == 1).values(grams=None))

    assert await _first(client, f"{word}?", scope=scope, **body) == f"I like {word} most."


@in_one_test("word", _STORED_WITH_FORMAT)
async def test_the_other_form_of_a_word_lowers_no_score(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder, word: str
) -> None:
    embedder.lexical_only = True
    plain = without_format(word)
    scope = {"user_id": word.encode().hex()}
    await create_memory(client, f"I like {plain} most.", scope)
    await create_memory(client, "I have a dog.", scope)
    explained = []
    for asked in (plain, word):
        search = {"searchQuery": f"{asked}?", "topK": 1}
        found = await retrieve(client, similaritySearchParams=search, scope=scope, explain=True)
        explained.append(found[0]["explanation"]["lexicalScore"])

    assert explained[0] == pytest.approx(explained[1])


async def test_a_fact_has_its_grams_by_each_write(
    client: httpx.AsyncClient, database: Database
) -> None:
    memory = await create_memory(client, "我喜欢绿茶")
    await create_memory(client, "I like tea.")
    assert await _grams(database) == await _as_stored(database, ["我喜欢绿茶", "I like tea."])
    assert (await _grams(database))["I like tea."] is None
    for fact in ("我喜欢咖啡", "คุณชอบกาแฟ", "I like coffee.", "커피를 마신다"):
        body = {"fact": fact}
        ok(await client.patch(path_of(memory["name"]), json=body))
        assert (await _grams(database))[fact] == (await _as_stored(database, [fact]))[fact]


async def test_the_sweep_makes_the_grams_of_what_former_processes_wrote(
    filled: httpx.AsyncClient, resources: Resources, database: Database
) -> None:
    written = await _grams(database)
    assert all(written.values())
    async with database.transaction() as session:
        statement = update(MemoryRow).where(MemoryRow.engine_id == 1)
        await session.execute(statement.values(grams=None))
    await UpkeepService(resources).sweep()
    assert await _grams(database) == written
    memories = ok(await filled.get("/memories", params={"pageSize": 1}))["memories"]
    assert len(await history(filled, path_of(memories[0]["name"]))) == 1
    # It finds nothing any more.
    async with database.transaction() as session:
        await session.execute(
            update(MemoryRow).where(MemoryRow.engine_id == 1).values(cues=["kept"])
        )
    await UpkeepService(resources).sweep()
    async with database.snapshot() as session:
        cues = (await session.execute(select(MemoryRow.cues).distinct())).scalars().all()
    assert cues == [["kept"]]
