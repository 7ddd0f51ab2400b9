"""Searches by meaning, words and signals, which are the default: issue 5, section 1."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.kernel.clock import FixedClock
from tests.support.bank import ENGINE_URL, Json, ok, retrieve, retrieved
from tests.support.operations import USER, create_memories, create_memory, path_of
from tests.support.scripted_models import ScriptedEmbedder


@pytest.fixture
def words_alone(embedder: ScriptedEmbedder) -> None:
    """Let vectors tell no meaning, so that a test sees what the rest does."""
    embedder.lexical_only = True


async def _found(client: httpx.AsyncClient, query: str, top_k: int = 100, **body: Any) -> list[str]:
    search = {"searchQuery": query, "topK": top_k}
    return await retrieved(client, similaritySearchParams=search, **body)


async def _create(client: httpx.AsyncClient, *facts: str, **fields: Any) -> None:
    await create_memories(client, *facts, **fields)


def _said(source: str, position: float, day: str | None = None) -> Json:
    metadata: Json = {"source": {"stringValue": source}, "position": {"doubleValue": position}}
    if day is not None:
        metadata["event_time"] = {"timestampValue": f"{day}T10:00:00Z"}
    return {"metadata": metadata}


async def test_what_shares_meaning_alone_or_words_alone_is_found_before_the_rest(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder
) -> None:
    query = "Which pottery class did I book?"
    embedder.place("Ceramics lessons start soon.", near=query, distance=0.5)
    others = [f"Note {number} on other matters." for number in range(20)]
    await _create(client, *others, "Pottery class booked.", "Ceramics lessons start soon.")
    found = await _found(client, query)
    assert set(found[:2]) == {"Pottery class booked.", "Ceramics lessons start soon."}
    assert set(found[2:]) == set(others)


@pytest.mark.usefixtures("words_alone")
async def test_any_word_of_the_query_is_enough_and_rare_ones_count_more(
    client: httpx.AsyncClient,
) -> None:
    common = [f"The garden has plant number {number}." for number in range(10)]
    await _create(client, *common, "A telescope stands there.")
    found = await _found(client, "garden telescope")
    assert found[0] == "A telescope stands there."
    assert set(found[1:]) == set(common)


@pytest.mark.usefixtures("words_alone")
async def test_words_are_found_in_other_forms_and_stop_words_do_not_count(
    client: httpx.AsyncClient,
) -> None:
    await _create(client, "What about the which and the when?", "He was running marathons.")
    assert (await _found(client, "the marathon runs", 1)) == ["He was running marathons."]


@pytest.mark.usefixtures("words_alone")
@pytest.mark.parametrize("query", ["cafe", "café", "cafe\u0301", "CAFÉ"])
@pytest.mark.parametrize("fact", ["Das Café ist zu.", "Das Cafe ist zu.", "Das Cafe\u0301 ist zu."])
async def test_accents_and_case_do_not_matter(
    client: httpx.AsyncClient, query: str, fact: str
) -> None:
    await _create(client, fact, "Das Kino ist zu.", "Das Bad ist zu.")
    assert (await _found(client, query, 1)) == [fact]


@pytest.mark.usefixtures("words_alone")
@pytest.mark.parametrize(
    ("query", "fact"),
    [
        ("Which books did she read about whales?", "She likes reading a book about a whale."),
        ("Welche Häuser hat sie gekauft?", "Sie hat ein Haus mit Garten gekauft."),
        ("¿Qué canciones cantaba mi hermana?", "Mi hermana canta una canción en la playa."),
        ("Где мои книги?", "Моя книга лежит на столе."),
        ("わたし", "わたし"),
    ],
)
async def test_one_scope_may_hold_several_languages(
    client: httpx.AsyncClient, query: str, fact: str
) -> None:
    await _create(
        client,
        "She likes reading a book about a whale.",
        "Sie hat ein Haus mit Garten gekauft.",
        "Mi hermana canta una canción en la playa.",
        "Моя книга лежит на столе.",
        "わたし",
        "Il pleut souvent dans la ville de mon père.",
    )
    assert (await _found(client, query, 1)) == [fact]


@pytest.mark.usefixtures("words_alone")
async def test_the_engine_s_language_decides_how_words_are_reduced(
    client: httpx.AsyncClient,
) -> None:
    # Without a word that tells, texts in these letters are taken for English.
    facts = ("Wohnung", "Garten")
    for user, config in (("before", {}), ("after", {"language": "de"})):
        spec = {"memoryBankConfig": {"similaritySearchConfig": config}}
        ok(await client.patch(ENGINE_URL, json={"contextSpec": spec}))
        for fact in facts:
            await create_memory(client, fact, {"user_id": user})
    # What shares nothing with the query is found by its age.
    assert await _found(client, "Wohnungen", scope={"user_id": "before"}) == ["Garten", "Wohnung"]
    assert await _found(client, "Wohnungen", scope={"user_id": "after"}) == ["Wohnung", "Garten"]


@pytest.mark.usefixtures("words_alone")
async def test_who_the_query_names_comes_before_who_is_only_mentioned(
    client: httpx.AsyncClient,
) -> None:
    await _create(
        client,
        "Ben: The concert with Anna was great.",
        "Anna: The concert was great.",
        "Carl: The concert was great.",
    )
    found = await _found(client, "What did Anna say about the concert?")
    assert found[0] == "Anna: The concert was great."


@pytest.mark.usefixtures("words_alone")
async def test_a_date_in_the_query_finds_what_was_said_or_happened_then(
    client: httpx.AsyncClient,
) -> None:
    for number, day in enumerate(("2023-05-07", "2023-06-20", "2023-08-14")):
        await _create(client, f"We went hiking, tour {number}.", **_said("s", number, day))
    assert (await _found(client, "Who went hiking on 20 June 2023?", 1)) == [
        "We went hiking, tour 1."
    ]


@pytest.mark.usefixtures("words_alone")
async def test_an_answer_comes_before_a_question(client: httpx.AsyncClient) -> None:
    question, answer = "Where did you put the spare key?", "I put the spare key under the mat."
    others = [f"The other thing is number {number}." for number in range(9)]
    await _create(client, question, answer, *others, "A key note.", "A part to spare.")
    assert (await _found(client, "In which place is the spare key?"))[:2] == [answer, question]


@pytest.mark.usefixtures("words_alone")
async def test_what_stands_beside_a_match_in_its_source_comes_before_what_does_not(
    client: httpx.AsyncClient,
) -> None:
    for number in range(8):
        await _create(client, f"Talk of matter {number}.", **_said("other", number))
    await _create(client, "Have you been to the aquarium yet?", **_said("here", 1))
    await _create(client, "Indeed, last week, lovely place.", **_said("here", 2))
    found = await _found(client, "What about the aquarium?", 2)
    assert set(found) == {"Have you been to the aquarium yet?", "Indeed, last week, lovely place."}


@pytest.mark.usefixtures("words_alone")
async def test_places_that_are_no_number_or_no_text_are_no_places(
    client: httpx.AsyncClient,
) -> None:
    odd: Json = {"source": {"doubleValue": 1}, "position": {"stringValue": "first"}}
    await _create(client, "A lighthouse by the sea.", metadata=odd)
    await _create(client, "A second lighthouse.", metadata={"source": {"stringValue": "s"}})
    assert len(await _found(client, "lighthouse")) == 2


@pytest.mark.usefixtures("words_alone")
async def test_what_shares_nothing_with_the_query_comes_last_and_newest_first(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    for fact in ("First note.", "Umbrella at the station.", "Second note.", "Third note."):
        clock.advance(timedelta(minutes=1))
        await create_memory(client, fact)
    expected = ["Umbrella at the station.", "Third note.", "Second note.", "First note."]
    assert await _found(client, "umbrella") == expected
    assert await _found(client, "umbrella", 2) == expected[:2]
    assert await _found(client, "giraffe", 3) == ["Third note.", "Second note.", *expected[:1]]


async def test_as_many_are_found_as_there_are(client: httpx.AsyncClient) -> None:
    facts = [f"Fact number {number}." for number in range(120)]
    await _create(client, *facts)
    for query in ("number", "fact 7", "giraffe", "the", "?!"):
        for top_k, count in ((1, 1), (10, 10), (100, 100)):
            found = await _found(client, query, top_k)
            assert (len(found), len(set(found))) == (count, count)


@pytest.mark.parametrize("lexical_only", [False, True])
async def test_distances_ascend_and_the_same_text_is_at_zero(
    client: httpx.AsyncClient, embedder: ScriptedEmbedder, *, lexical_only: bool
) -> None:
    embedder.lexical_only = lexical_only
    fact = "I drink green tea every morning."
    await _create(client, "Green tea, again?", fact, "I take the train.", "To be or not to be.")
    for query in (fact, "i drink GREEN tea, every morning", "To be or not to be."):
        found = await retrieve(client, similaritySearchParams={"searchQuery": query, "topK": 9})
        distances = [one["distance"] for one in found]
        assert distances == sorted(distances)
        assert distances[0] == 0 < distances[1] <= distances[-1] <= 2
        assert found[0]["memory"]["fact"].lower()[:4] == query.lower()[:4]


@pytest.mark.usefixtures("words_alone")
async def test_filters_leave_out_candidates_not_results(client: httpx.AsyncClient) -> None:
    many = [f"Walrus number {number}." for number in range(130)]
    await _create(client, *many, metadata={"k": {"stringValue": "many"}})
    few: Json = {"metadata": {"k": {"stringValue": "few"}}, "displayName": "x"}
    await _create(client, "A walrus at last.", "Nothing to see.", **few)
    group = {"filters": [{"key": "k", "value": {"stringValue": "few"}}]}
    for body in ({"filterGroups": [group]}, {"filter": 'display_name="x"'}):
        found = await _found(client, "walrus number", 3, **body)
        assert found == ["A walrus at last.", "Nothing to see."]
    assert await _found(client, "walrus", 3, filter='fact=~"Nothing.*"') == ["Nothing to see."]
    assert await _found(client, "walrus", filter='fact="none"') == []


async def test_what_has_expired_or_was_deleted_is_not_found(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _create(client, "A lasting otter.")
    await _create(client, "A passing otter.", ttl="60s")
    deleted = await create_memory(client, "A deleted otter.")
    ok(await client.delete(path_of(deleted["name"])))
    assert sorted(await _found(client, "otter")) == ["A lasting otter.", "A passing otter."]
    clock.advance(timedelta(seconds=60))
    assert await _found(client, "otter") == ["A lasting otter."]


async def test_a_changed_fact_is_found_by_its_new_words(client: httpx.AsyncClient) -> None:
    memory = await create_memory(client, "A red kite.")
    await _create(client, "A grey stone.", "A white wall.")
    ok(await client.patch(path_of(memory["name"]), json={"fact": "A blue balloon."}))
    assert (await _found(client, "balloon", 1)) == ["A blue balloon."]


async def test_only_the_wanted_kinds_of_memory_are_found(client: httpx.AsyncClient) -> None:
    content = {"data": {"a": 1}, "schemaId": "s"}
    profile: Json = {"memoryType": "STRUCTURED_PROFILE", "structuredContent": content}
    await _create(client, "A swan in words.")
    await _create(client, "A swan in a profile.", **profile)
    assert await _found(client, "swan") == ["A swan in words."]
    kinds = ["STRUCTURED_PROFILE"]
    assert await _found(client, "swan", memoryTypes=kinds) == ["A swan in a profile."]


HOSTILE = [
    "'",
    "a'b \\' \\",
    "') | ('x",
    "x & y | !z <-> (w)",
    "otter:* | 'a",
    ":*",
    "!!!",
    "%s %(text)s %%",
    "${1} $1 ::tsquery",
    "\u0001\u200b\ufeff",
    "😀 otter 🦦",
    "a/b/c.txt http://x.y/z?q=1#f u@v.w 1.5e7 -3 v1.2.3 co-op",
    "otter " * 1_600,
    " ".join(f"word{number}" for number in range(1_200)),
    "x" * 10_000,
    "é" * 9_000,
]


@pytest.mark.usefixtures("words_alone")
@pytest.mark.parametrize("query", HOSTILE)
async def test_a_query_is_never_more_than_words(client: httpx.AsyncClient, query: str) -> None:
    facts = ["An otter's den.", query[:9_000], "\\'a\\' & 'b'", "Something else."]
    await _create(client, *facts)
    found = await _found(client, query)
    assert sorted(found) == sorted(facts)
    if "otter" in query:
        assert found.index("An otter's den.") < found.index("Something else.")


async def test_a_nul_in_a_query_is_refused(client: httpx.AsyncClient) -> None:
    body = {"scope": USER, "similaritySearchParams": {"searchQuery": "a\u0000b"}}
    assert (await client.post("/memories:retrieve", json=body)).status_code == 400
