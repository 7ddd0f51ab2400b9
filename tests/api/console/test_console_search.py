"""Search: what is found and why, both rankings side by side, and what a bound key reaches."""

import re
from datetime import timedelta
from urllib.parse import quote

import httpx
import pytest

from app.kernel.clock import FixedClock
from app.kernel.wire.base import camel_name
from app.memory.retrieval.logic.ranking import SIGNALS
from app.surfaces.console.texts import TEXTS
from tests.api.console.conftest import SignedIn
from tests.support.bank import ok
from tests.support.console import MEMORIES, page
from tests.support.operations import create_memories, create_memory

SEARCH = "/console/e/1/search"
_ASKED = f"{SEARCH}?scope=user_id%3D42&question=Which+tea+do+I+like"
_HOSTILE = "<script>alert(1)</script> tea \u202eevil"


def test_each_signal_has_words_on_the_page() -> None:
    assert list(TEXTS.signals) == [camel_name(name) for name in SIGNALS]


async def test_each_memory_comes_with_the_reasons_for_its_place(
    client: httpx.AsyncClient, clock: FixedClock, signed_in: SignedIn
) -> None:
    await create_memories(client, "I like green tea.", "I own a red bicycle.")
    clock.advance(timedelta(minutes=1))
    hostile = await create_memory(client, _HOSTILE)
    viewer = await signed_in("viewer")
    assert SEARCH in (await page(viewer, MEMORIES)).links
    assert "ask a question" in (await page(viewer, SEARCH)).text
    answer = await viewer.get(_ASKED)
    shown = await page(viewer, _ASKED)
    for words in ("shares the words", "newest about this", "Distance", "Lexical score", "Tokens"):
        assert words in shown.text, words
    assert shown.text.count("newest about this") == 1
    assert shown.text.index("green tea") < shown.text.index("bicycle")
    assert "<rect" in answer.text
    assert "<script>alert" not in answer.text
    assert "[U+202E]evil" in shown.text
    assert f"{MEMORIES}/{hostile['name'].rpartition('/')[2]}" in shown.links
    assert "-X POST" in shown.text
    assert "memories:retrieve" in shown.text
    one = await page(viewer, f"{_ASKED}&topK=1")
    assert "bicycle" not in one.text
    assert f"{SEARCH}?question=Which+tea+do+I+like&topK=1" in one.links, "without the scope"
    assert "Nothing of this scope" in (await page(viewer, _ASKED.replace("42", "43"))).text


async def test_both_rankings_stand_side_by_side(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await create_memories(client, "I like green tea.", "I own a red bicycle.")
    viewer = await signed_in("viewer")
    both = (await viewer.get(f"{_ASKED}&ranking=both")).text
    assert (both.count(' aria-labelledby="column-'), both.count("<rect") > 0) == (2, True)
    assert both.count("memories:retrieve") == 2
    vector = (await viewer.get(f"{_ASKED}&ranking=vector")).text
    assert "Vector distance" in vector


async def test_the_nearer_a_memory_is_the_fuller_is_its_bar(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    facts = ("I like green tea.", "I own a red bicycle.", "Tea is what I drink.")
    await create_memories(client, *facts)
    viewer = await signed_in("viewer")
    for ranking in ("hybrid", "vector"):
        shown = (await viewer.get(f"{_ASKED}&ranking={ranking}")).text
        assert "The nearer a memory is, the fuller is its bar" in shown
        fills = []
        for hit in shown.split("<li data-row>")[1:]:
            [distance] = re.findall(r"Distance</span> ([0-9.]+)", hit)
            filled = sum(map(float, re.findall(r'<rect x="[0-9.]+" y="0" width="([0-9.]+)"', hit)))
            assert filled == pytest.approx(50 * (2 - float(distance)), abs=0.6), ranking
            fills.append(filled)
        assert fills == sorted(fills, reverse=True)
        assert len(fills) == 3


async def test_near_in_meaning_is_what_the_ranking_counts_as_such(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await create_memories(client, "I like green tea.", "I own a red bicycle.")
    viewer = await signed_in("viewer")
    asked = {"scope": {"user_id": "42"}, "ranking": "hybrid", "explain": True}
    search = {"searchQuery": "Which tea do I like"}
    body = {**asked, "similaritySearchParams": search}
    hits = ok(await client.post("/memories:retrieve", json=body))["retrievedMemories"]
    counts = [hit["explanation"]["signals"]["vector"] > 0 for hit in hits]
    assert sorted(counts) == [False, True]
    shown = (await viewer.get(f"{_ASKED}&ranking=hybrid")).text.split("<li data-row>")[1:]
    assert ["nearer in meaning than the average" in hit for hit in shown] == counts
    assert "nearer in meaning" not in (await page(viewer, f"{_ASKED}&ranking=vector")).text


async def test_what_the_api_says_of_a_search_stands_beside_the_form(signed_in: SignedIn) -> None:
    viewer = await signed_in("viewer")
    for query, words in (
        ("topK=many", "similaritySearchParams.topK"),
        (f"topK={'9' * 5_000}", "similaritySearchParams.topK"),
        ("maxTokens=-5", "maxTokens"),
        ("ranking=best", "ranking"),
    ):
        shown = await page(viewer, f"{_ASKED}&{query}", 400)
        assert words in shown.text, query
        assert shown.forms[SEARCH]["question"] == "Which tea do I like"


async def test_a_bound_key_searches_its_own_scope_whatever_it_asks_for(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await create_memory(client, "My tea is green.")
    other = await create_memory(client, "CANARY tea of seven", {"user_id": "7"})
    bound = await signed_in("viewer", scope_conditions={"user_id": ["42"]})
    shown = await page(bound, f"{SEARCH}?question=tea")
    assert "My tea is green" in shown.text
    assert "user_id=42" in shown.text
    two = await signed_in("viewer", scope_conditions={"user_id": ["42", "43"]})
    for reader in (bound, two):
        for scope in ("user_id=7", "user_id=42", "user_id = 7"):
            text = (await reader.get(f"{SEARCH}?question=tea&scope={quote(scope)}")).text
            assert "CANARY" not in text
            assert other["name"].rpartition("/")[2] not in text


async def test_who_may_not_retrieve_is_told_so(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await create_memory(client, "CANARY")
    lister = await signed_in(permissions=["memories.list"])
    assert SEARCH not in (await page(lister, MEMORIES)).links
    shown = await page(lister, _ASKED, 403)
    assert "No permission" in shown.text
    assert "CANARY" not in shown.text
