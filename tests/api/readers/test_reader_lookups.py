"""Pieces of texts are found by the words of a question, or come in the order of the texts."""

import httpx
from sqlalchemy import update

from app.adapters.db.session import Database, Session
from app.artifacts.readers import store as lookups
from app.artifacts.readers.store import Texts
from app.artifacts.tasks.store.tables import ChunkRow
from app.kernel.clock import FixedClock
from app.kernel.names import NamespaceName
from app.language.bm25 import MAX_TERMS
from tests.support.bank import ENGINE, ok
from tests.support.cases import in_one_test
from tests.support.tasks import NAMESPACE, store, text_output, upload

_NAME = NamespaceName.parse(f"{ENGINE}{NAMESPACE}")
_FILLING = "The tea was warm, and the road was long. " * 40


async def _texts(session: Session, clock: FixedClock) -> Texts:
    found = await lookups.list_readable(session, _NAME, clock.now())
    return Texts(_NAME, [one.content_id for one in found], clock.now())


async def _best(database: Database, clock: FixedClock, question: str, limit: int = 5) -> list[str]:
    async with database.snapshot() as session:
        texts = await _texts(session, clock)
        found = await lookups.find_best(session, texts, question, limit)
    return [f"{piece.artifact}/{piece.chunk.n}" for piece in found]


async def test_the_rarest_words_count_most(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    fact = "Der Kessel ist grün, und das Café hat ihn. "
    said = f"{_FILLING}The kettle costs 42 coins. {_FILLING}"
    ok(await store(client, text_output(said, name="a"), text_output(fact * 3, name="b")))
    best = await _best(database, clock, "What do kettles cost on a long road?")
    assert len(best) > 1
    assert "kettle" in await _text(database, clock, best[0])
    assert await _best(database, clock, "grüne Kessel") == ["b/0"]
    assert await _best(database, clock, "zebra") == []
    assert await _best(database, clock, "the and of") == []
    assert len(await _best(database, clock, "tea", 2)) == 2


@in_one_test(
    ("name", "said", "question"),
    [
        ("zh", "水壶的价格是四十二元。", "水壶多少钱"),
        ("ja", "やかんの値段は四千円です。", "やかんはいくらですか"),
        ("th", "กาน้ำราคาสี่สิบบาท", "กาน้ำราคาเท่าไร"),
        ("ko", "주전자는 사만 원이다.", "주전자가 얼마야"),
    ],
)
async def test_words_without_blanks_are_found(
    client: httpx.AsyncClient,
    database: Database,
    clock: FixedClock,
    name: str,
    said: str,
    question: str,
) -> None:
    others = [
        "I like green tea.",
        "花园里有一棵树。",
        "庭に木がある。",
        "ในสวนมีต้นไม้",
        "정원에 나무가 있다.",
    ]
    outputs = [text_output(text, name=f"{name}-{n}") for n, text in enumerate([*others, said])]
    ok(await store(client, *outputs))
    assert (await _best(database, clock, question))[0] == f"{name}-{len(others)}/0"
    asked = {"query": question, "model": "builtin"}
    answer = ok(await client.post(f"{NAMESPACE}:query", json=asked))
    assert said.rstrip("。.") in answer["answer"]


@in_one_test("word", ["matcha\ufe0f", "mat\u200bcha", "co\u00adoperative", "می\u200cدوم"])
async def test_a_word_that_a_former_release_stored_is_found_as_it_is_written(
    client: httpx.AsyncClient, database: Database, clock: FixedClock, word: str
) -> None:
    name = f"t{word.encode().hex()}"
    ok(await store(client, text_output(f"The price of {word} is 17.", name=name)))
    async with database.transaction() as session:
        await session.execute(update(ChunkRow).where(ChunkRow.engine_id == 1).values(grams=None))

    assert await _best(database, clock, f"{word}?") == [f"{name}/0"]


async def test_the_first_words_of_a_long_question_are_looked_for(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    ok(await store(client, text_output("The zanzibar tariff is 17.", name="z")))
    ok(await store(client, text_output("The aardvark tariff is 19.", name="y")))
    # By the alphabet, it is the other way about.
    others = " ".join(f"h{n}h" for n in range(MAX_TERMS - 1))
    assert await _best(database, clock, f"zanzibar {others} aardvark") == ["z/0"]
    answers = [
        ok(await client.post(f"{NAMESPACE}:query", json={"query": query, "model": "builtin"}))
        for query in (f"zanzibar {others} aardvark", f"aardvark {others} zanzibar")
    ]
    assert [one["answer"] for one in answers] == [
        "The zanzibar tariff is 17.",
        "The aardvark tariff is 19.",
    ]


async def _text(database: Database, clock: FixedClock, place: str) -> str:
    artifact, _, number = place.partition("/")
    async with database.snapshot() as session:
        found = await lookups.list_pieces(session, await _texts(session, clock), None, 100)
    return next(
        one.chunk.text for one in found if one.artifact == artifact and one.chunk.n == int(number)
    )


async def test_all_come_in_the_order_of_the_texts(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    ok(await store(client, text_output(_FILLING, name="z"), text_output("tea", name="a")))
    found: list[tuple[int, int]] = []
    async with database.snapshot() as session:
        texts = await _texts(session, clock)
        while batch := await lookups.list_pieces(session, texts, found[-1] if found else None, 1):
            found += [(piece.ordinal, piece.chunk.n) for piece in batch]
    assert found == [(1, 0), (1, 1), (2, 0)]


async def test_artifacts_without_text_are_counted(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    ok(await store(client, text_output(_FILLING), text_output("tea")))
    ok(await upload(client, b"\x89PNG\r\n\x1a\n\x00\x01"))
    async with database.snapshot() as session:
        found = await lookups.measure(session, _NAME, clock.now())
    assert found == (1, ())
