"""The list of memories: filters, scopes, pages, and what stands where there is nothing."""

import re
from datetime import timedelta
from urllib.parse import quote_plus

import httpx
import pytest

from app.kernel.clock import FixedClock
from tests.api.console.conftest import SignedIn
from tests.support.bank import ok
from tests.support.cases import in_one_test
from tests.support.console import MEMORIES, Page, page
from tests.support.operations import create_memories, create_memory

FACTS = ("I like tea.", "I like (tea).", "She likes tea.")
_HOSTILE = "<script>alert(1)</script> \u202eevil\u0085 {{ 'ev' ~ 'aluated' }} ' \" &amp; x-CANARY"


async def test_an_empty_engine_says_what_would_be_there(signed_in: SignedIn) -> None:
    viewer = await signed_in("viewer")
    assert "There are no memories here yet" in (await page(viewer, MEMORIES)).text
    assert "No memory matches" in (await page(viewer, f"{MEMORIES}?text=x")).text


async def test_engines_are_shown_with_their_use_to_those_who_may_see_it(
    signed_in: SignedIn, client: httpx.AsyncClient
) -> None:
    await create_memories(client, "a", "b")
    shown = await page(await signed_in("viewer"), "/console")
    assert "2 of 10 M" in shown.text
    assert "/console/e/1" in shown.links
    bound = await page(await signed_in("viewer", scope_conditions={"user_id": ["42"]}), "/console")
    assert "/console/e/1" in bound.links
    assert "10 M" not in bound.text
    none = await page(await signed_in("viewer", engines=["77"]), "/console")
    assert "reaches no engine" in none.text


async def test_a_page_of_engines_takes_at_most_twelve_calls(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    for number in range(11):
        engine = {"displayName": f"engine {number:02}"}
        ok(await client.post("http://test/v1beta1/reasoningEngines", json=engine))
    viewer, url, seen = await signed_in("viewer"), "/console", ""
    for calls in (11, 3):
        shown = await page(viewer, url)
        assert shown.text.count("curl -H") == calls
        seen += shown.text
        url = shown.next
    assert [number for number in range(11) if f"engine {number:02}" not in seen] == []
    assert url == ""


@pytest.fixture
async def filled(
    client: httpx.AsyncClient, clock: FixedClock, signed_in: SignedIn
) -> httpx.AsyncClient:
    """A viewer of an engine with three memories."""
    preference = {"managedMemoryTopic": "USER_PREFERENCES"}
    chat = {"source": {"stringValue": "chat"}}
    await create_memory(client, FACTS[0], topics=[preference], metadata=chat)
    clock.advance(timedelta(minutes=1))
    own = {"customMemoryTopicLabel": 'my "label"'}
    await create_memory(client, FACTS[1], topics=[own], ttl="3600s")
    clock.advance(timedelta(minutes=1))
    await create_memory(client, FACTS[2], {"user_id": "7", "app": "x"})
    return await signed_in("viewer")


@in_one_test(
    ("query", "found"),
    [
        ("", FACTS),
        ("text=LIKE+TEA", FACTS[:1]),
        ("text=(tea).", FACTS[1:2]),
        ("scope=user_id%3D7", FACTS[2:]),
        ("scope=+user_id+%3D+7+", FACTS[2:]),
        ("scope=user_id", FACTS),
        ("scope=user_id%3D7&scope=app%3Dx", FACTS[2:]),
        ("scope=user_id%3D7&scope=app%3Dy", ()),
        ("topic=USER_PREFERENCES", FACTS[:1]),
        ("topic=my+%22label%22", FACTS[1:2]),
        ("metadata=source%3Dchat", FACTS[:1]),
        ("type=NATURAL_LANGUAGE_COLLECTION", FACTS),
        ("type=STRUCTURED_PROFILE", ()),
        ("changed_after=2026-01-15T12:02", FACTS[2:]),
        ("changed_before=2026-01-15T12:02:00", FACTS[:2]),
        ("changed_after=2026-01-15T07:02:00-05:00", FACTS[2:]),
        ("changed_after=2026-01-15", FACTS),
        ("expires_before=2026-01-16T12:00:00Z", FACTS[1:2]),
    ],
)
async def test_the_filter_row_narrows_the_list(
    filled: httpx.AsyncClient, query: str, found: tuple[str, ...]
) -> None:
    shown = await page(filled, f"{MEMORIES}?{query}")
    assert tuple(fact for fact in FACTS if fact in shown.text) == found


async def test_what_the_api_says_of_a_filter_stands_beside_it(filled: httpx.AsyncClient) -> None:
    shown = await page(filled, f"{MEMORIES}?changed_after=soon&text=tea", 400)
    assert "must be" in shown.text
    assert shown.forms[MEMORIES]["changed_after"] == "soon"
    shown = await page(filled, f"{MEMORIES}?page=nonsense", 400)
    assert "PAGE_TOKEN_INVALID" in shown.text


async def test_a_chosen_scope_can_be_removed(filled: httpx.AsyncClient) -> None:
    chosen = f"{MEMORIES}?scope=user_id%3D7"
    shown = await page(filled, f"{chosen}&scope=app%3Dx&topic=a")
    assert f"{chosen}&topic=a" in shown.links
    assert "curl -H" in shown.text


async def test_every_memory_is_on_one_page(client: httpx.AsyncClient, signed_in: SignedIn) -> None:
    facts = [f"fact {number:03}" for number in range(120)]
    await create_memories(client, *facts)
    viewer = await signed_in("viewer")
    first = f"{MEMORIES}?scope=user_id%3D42&text=fact"
    url, seen = first, []
    for _ in range(3):
        answer = await viewer.get(url)
        assert len(answer.content) < 500_000
        shown = Page(answer)
        seen += [fact for fact in facts if fact in shown.text]
        assert (first in shown.links) == ("page=" in url)
        url = shown.next
    assert (sorted(seen), url) == (facts, "")


async def test_texts_stay_texts(client: httpx.AsyncClient, signed_in: SignedIn) -> None:
    memory = await create_memory(
        client,
        _HOSTILE,
        {"user_id": _HOSTILE},
        displayName=_HOSTILE,
        description=_HOSTILE,
        topics=[{"customMemoryTopicLabel": _HOSTILE}],
        metadata={_HOSTILE: {"stringValue": _HOSTILE}},
        revisionLabels={"k": "x"},
    )
    one = f"{MEMORIES}/{memory['name'].rpartition('/')[2]}"
    editor = await signed_in("editor")
    for url in (MEMORIES, one, f"{one}/edit"):
        answer = await editor.get(url)
        assert "<script>alert" not in answer.text
        assert "evaluated" not in Page(answer).text
        assert ("\u202e" in answer.text) == url.endswith("/edit"), "in a field it is what it is"
        assert ("[U+202E]evil[U+0085]" in answer.text) != url.endswith("/edit")
    assert (await page(editor, f"{one}/edit")).forms[f"{one}/edit"]["fact"] == _HOSTILE


async def test_a_long_fact_ends_in_a_link_to_all_of_it(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    memory = await create_memory(client, "long " * 1_000 + "END")
    one = f"{MEMORIES}/{memory['name'].rpartition('/')[2]}"
    viewer = await signed_in("viewer")
    shown = await page(viewer, one)
    assert "END" not in shown.text
    assert f"{one}?all=1" in shown.links
    assert "END" in (await page(viewer, f"{one}?all=1")).text


async def test_why_a_part_is_refused_is_shown_in_place_of_the_page(signed_in: SignedIn) -> None:
    """The page of an error has no part that could stand in the place of the one asked for."""
    viewer = await signed_in("viewer")
    url = "/console/e/77/memories"
    part = await viewer.get(url, headers={"HX-Request": "true"})
    assert (part.status_code, part.headers["hx-retarget"]) == (404, "main")
    assert part.headers["hx-reselect"] == "main"
    assert "<main" in part.text
    assert "hx-retarget" not in (await viewer.get(url)).headers


async def test_a_key_of_a_scope_may_hold_an_equals_sign(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await create_memory(client, FACTS[0], {"a=b": "c"})
    await create_memory(client, FACTS[2], {"a": "b=c"})
    viewer = await signed_in("viewer")
    shown = await page(viewer, MEMORIES)
    for pair, path, fact in (
        ('"a=b"=c', "a%253Db=c", FACTS[0]),
        ("a=b=c", "a=b%253Dc", FACTS[2]),
    ):
        assert f"/console/e/1/users/{path}" in shown.links
        link = f"{MEMORIES}?scope={quote_plus(pair)}"
        found = (await page(viewer, link)).text
        assert [each for each in FACTS if each in found] == [fact]
    bound = await signed_in("viewer", scope_conditions={"a=b": ["c"]})
    for url in (MEMORIES, "/console/e/1/search?question=tea", "/console/e/1/deleted"):
        found = (await page(bound, url)).text
        assert '"a=b"=c' in found
        assert (FACTS[0] in found) == ("deleted" not in url)
        assert FACTS[2] not in found


async def test_a_character_that_nothing_holds_is_refused_on_a_page(
    signed_in: SignedIn, visitor: httpx.AsyncClient
) -> None:
    viewer = await signed_in("viewer")
    for client in (viewer, visitor):
        for url, status in (
            (f"{MEMORIES}?text=a%00", 400),
            (f"{MEMORIES}/a%00b", 404),
            ("/console/sign-in?x=%00", 400),
        ):
            answer = await client.get(url)
            assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (
                *(status, "text/html"),
            ), url
            assert answer.headers["x-request-id"] in answer.text


async def test_scopes_are_suggested_beyond_the_first_hundred(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    for number in range(120):
        await create_memory(client, "I like tea.", {"user_id": f"u(.{number:03}", "app": "x"})
    viewer = await signed_in("viewer")

    async def suggested(query: str) -> set[str]:
        answer = await viewer.get(f"/console/e/1/scopes?{query}")
        return set(re.findall(r'value="(.*?)"', answer.text))

    assert len(await suggested("scope=")) == 101
    assert await suggested("scope=user_id%3DU(.11") == {f"user_id=u(.11{n}" for n in range(10)}
    assert await suggested("scope=AP") == {"app=x"}
    assert await suggested("scope=user_id%3Du(.007&scope=user") == {"user_id=u(.007"}
    assert await suggested("scope=app%3Dy&scope=u") == set()
    bound = await signed_in("viewer", scope_conditions={"user_id": ["u(.007"]})
    assert "u(.008" not in (await bound.get("/console/e/1/scopes?scope=user_id%3D")).text
    blind = await signed_in(permissions=["operations.list"])
    assert "<option" not in (await blind.get("/console/e/1/scopes?scope=user")).text
    for screen in ("memories", "deleted", "revisions", "operations", "streams", "search"):
        assert 'hx-get="/console/e/1/scopes"' in (await viewer.get(f"/console/e/1/{screen}")).text
