"""Filters and pages of lists: spans, orders, sizes, the way back; deeds on what is ticked."""

import re
from datetime import timedelta
from urllib.parse import urljoin

import httpx
import pytest

from app.kernel.clock import FixedClock
from tests.api.console.conftest import SignedIn
from tests.support.bank import history, id_of, listed, ok
from tests.support.console import MEMORIES, Page, page
from tests.support.operations import create_memories, create_memory, path_of
from tests.support.sessions import create_session

HERE = "/console/e/1"
LABELLING = f"{HERE}/labelling"
RECOVERY = f"{HERE}/recovery"


def _facts(shown: Page) -> list[str]:
    return re.findall(r"fact \d\d", shown.text)


@pytest.fixture
async def viewer(
    client: httpx.AsyncClient, clock: FixedClock, signed_in: SignedIn
) -> httpx.AsyncClient:
    """A viewer of ten memories, a minute apart, of which the first was changed last."""
    first = await create_memory(client, "fact 00")
    for number in range(1, 10):
        clock.advance(timedelta(minutes=1))
        await create_memory(client, f"fact {number:02}")
    clock.advance(timedelta(minutes=1))
    ok(await client.patch(path_of(first["name"]), json={"displayName": "changed"}))
    return await signed_in("viewer")


async def test_lists_have_the_orders_of_the_api(
    viewer: httpx.AsyncClient, client: httpx.AsyncClient, clock: FixedClock
) -> None:
    by_age = [f"fact {number:02}" for number in range(10)]
    for query, found in (
        ("", by_age[::-1]),
        ("?order=create_time", by_age),
        ("?order=update_time+desc", [by_age[0], *by_age[:0:-1]]),
        ("?order=update_time", [*by_age[1:], by_age[0]]),
        ("?order=fact", by_age[::-1]),
    ):
        assert _facts(await page(viewer, f"{MEMORIES}{query}")) == found, query
    for name in ("b", "a"):
        await create_session(client, name)
        clock.advance(timedelta(seconds=1))
    shown = await page(viewer, f"{HERE}/sessions?order=create_time")
    order = [link[-1] for link in shown.links if re.fullmatch(f"{HERE}/sessions/[ab]", link)]
    assert order == ["b", "a"]
    for memory in ok(await client.get("/memories", params={"pageSize": "2"}))["memories"]:
        ok(await client.delete(path_of(memory["name"])))
        clock.advance(timedelta(seconds=1))
    shown = await page(viewer, f"{HERE}/deleted?order=delete_time")
    assert _facts(shown) == ["fact 09", "fact 08"]
    assert "Earliest deletion first" in shown.text


async def test_spans_set_the_time_and_more_counts_what_it_holds(
    client: httpx.AsyncClient, clock: FixedClock, signed_in: SignedIn
) -> None:
    await create_memory(client, "fact 01")
    clock.advance(timedelta(hours=3))
    await create_memory(client, "fact 02")
    viewer = await signed_in("viewer")
    shown = await page(viewer, f"{MEMORIES}?scope=user_id%3D42")
    assert "More (" not in shown.text
    spans = [link for link in shown.links if "changed_after=" in link]
    found = [_facts(await page(viewer, span)) for span in spans]
    assert found == [["fact 02"], ["fact 02", "fact 01"], ["fact 02", "fact 01"]]
    assert all("scope=user_id%3D42" in span for span in spans)
    shown = await page(viewer, f"{spans[0]}&topic=x&order=update_time")
    assert "More (3)" in shown.text
    # Another span takes the place of the one that is set.
    assert all(link.count("changed_after=") == 1 for link in shown.links if "after=" in link)
    for name in ("revisions", "operations", "deleted", "sessions", "audit"):
        browser = await signed_in("admin")
        links = (await page(browser, f"{HERE}/{name}")).links
        assert len([link for link in links if "after=" in link]) == 3, name


async def test_pages_have_a_size_and_lead_back_one_by_one(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await create_memories(client, *(f"fact {number:02}" for number in range(100)))
    viewer, url, seen, urls = await signed_in("viewer"), f"{MEMORIES}?rows=25&text=fact", [], []
    for _ in range(4):
        answer = await viewer.get(url)
        seen.append(_facts(Page(answer)))
        urls.append(url)
        url = _link(answer, "next")
    assert url == ""
    assert sorted(fact for part in seen for fact in part) == [f"fact {n:02}" for n in range(100)]
    assert [len(part) for part in seen] == [25] * 4
    answer, back = await viewer.get(urls[-1]), []
    while url := _link(answer, "prev"):
        answer = await viewer.get(url)
        back.append(_facts(Page(answer)))
    assert back == seen[2::-1]
    for size in (50, 100):
        [link] = [one for one in Page(answer).links if f"rows={size}" in one]
        assert len(_facts(await page(viewer, link))) == size
    assert len(_facts(await page(viewer, f"{MEMORIES}?rows=1000"))) == 50
    # The page that a deletion looks at is the page that was shown.
    editor = await signed_in("editor")
    form = (await page(editor, urls[2])).forms[f"{HERE}/deletion"]
    answer = await editor.get(f"{HERE}/deletion", params={**form, "which": "page"})
    assert sorted(_facts(Page(answer))) == sorted(seen[2][:20])
    assert "Memories to delete: 25" in Page(answer).text


def _link(answer: httpx.Response, rel: str) -> str:
    found = re.search(rf'href="([^"]+)" rel="{rel}"', answer.text)
    return urljoin(str(answer.url), found[1].replace("&amp;", "&")) if found else ""


async def test_an_order_or_a_size_is_no_filter_that_all_match(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await create_memories(client, "fact 01")
    admin = await signed_in("admin")
    assert "Delete all that match" not in (await page(admin, f"{MEMORIES}?order=update_time")).text
    url = f"{HERE}/deletion?which=filter&order=update_time&rows=25"
    assert "choose one first" in (await page(admin, url, 400)).text


async def test_ticked_memories_get_a_label_that_the_rest_of_their_metadata_survives(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    own = {"own": {"doubleValue": 1.5}}
    one = await create_memory(client, "fact 01", metadata=own)
    two = await create_memory(client, "fact 02")
    editor = await signed_in("editor")
    chosen = f"{LABELLING}?memory={id_of(one)}&memory={id_of(two)}&text=fact"
    shown = await page(editor, chosen)
    assert "Memories to label: 2" in shown.text
    action = f"{LABELLING}?text=fact"
    ticked = [f"{each['etag']} {id_of(each)}" for each in (one, two)]
    form = {**shown.forms[LABELLING], "memory": ticked, "key": "team", "value": "<red>"}
    assert (await editor.post(action, data={**form, "token": "x"})).status_code == 403
    for _ in range(2):
        answer = await editor.post(action, data=form)
        assert answer.headers["location"] == f"{MEMORIES}?text=fact"
    red = {"team": {"stringValue": "<red>"}}
    assert (await _metadata(client, one), await _metadata(client, two)) == (
        {**own, **red},
        red,
    )
    assert len(await history(client, path_of(two["name"]))) == 2
    assert _facts(await page(editor, f"{MEMORIES}?metadata=team%3D<red>")) == ["fact 02", "fact 01"]
    # What changed meanwhile is told and stays; without a value, the key goes.
    shown = await page(editor, chosen)
    new = [ok(await client.get(path_of(each["name"]))) for each in (one, two)]
    form = {**shown.forms[LABELLING], "key": "team", "value": ""}
    form["memory"] = [f"{each['etag']} {id_of(each)}" for each in new]
    ok(await client.patch(path_of(two["name"]), json={"displayName": "changed"}))
    answer = await editor.post(action, data=form)
    assert (answer.status_code, f"{MEMORIES}/{id_of(two)}" in answer.text) == (409, True)
    assert f"{MEMORIES}/{id_of(one)}" not in Page(answer).links
    assert (await _metadata(client, one), await _metadata(client, two)) == (own, red)


async def _metadata(client: httpx.AsyncClient, memory: dict[str, str]) -> object:
    return ok(await client.get(path_of(memory["name"])))["metadata"]


async def test_who_may_not_change_is_offered_no_deed(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    memory = await create_memory(client, "fact 01")
    theirs = await create_memory(client, "fact 07", {"user_id": "7"})
    gone = await create_memory(client, "fact 03", {"user_id": "7"})
    ok(await client.delete(path_of(gone["name"])))
    viewer = await signed_in("viewer")
    for url, words in ((MEMORIES, "Label the chosen"), (f"{HERE}/deleted", "Bring back")):
        assert words not in (await page(viewer, url)).text
        assert words in (await page(await signed_in("editor"), url)).text
    bound = await signed_in("editor", scope_conditions={"user_id": ["42"]})
    for url in (LABELLING, f"{HERE}/deletion", RECOVERY):
        for one in (theirs, gone):
            shown = await page(bound, f"{url}?memory={id_of(one)}")
            assert "None of them is there" in shown.text
    form = (await page(bound, f"{LABELLING}?memory={id_of(memory)}")).forms[LABELLING]
    sent = {**form, "key": "k", "value": "v", "memory": f"{theirs['etag']} {id_of(theirs)}"}
    assert (await bound.post(LABELLING, data=sent)).status_code == 409
    assert "metadata" not in ok(await client.get(path_of(theirs["name"])))
    sent = {**form, "memory": f"{gone['etag']} {id_of(gone)}"}
    assert (await bound.post(RECOVERY, data=sent)).status_code == 409
    assert sorted(await listed(client)) == ["fact 01", "fact 07"]
