"""Revisions of all memories: found by label, grouped, downloaded, and kept from other keys."""

import json
from datetime import timedelta

import httpx
import pytest

from app.kernel.clock import FixedClock
from tests.api.console.conftest import SignedIn
from tests.support.bank import id_of, ok
from tests.support.cases import in_one_test
from tests.support.console import MEMORIES, Page, page
from tests.support.operations import create_memories, create_memory, path_of

REVISIONS = "/console/e/1/revisions"
_LABELLED, _CHANGED, _OTHERS = "I like tea.", "I like coffee.", "a secret of seven"
_TEXTS = (_LABELLED, _CHANGED, _OTHERS)
_HOSTILE = "<b>x</b> \u202e {{ 6 + 7 }} '\" &amp;"


@pytest.fixture
async def filled(
    client: httpx.AsyncClient, clock: FixedClock, signed_in: SignedIn
) -> httpx.AsyncClient:
    """A viewer of an engine with three revisions, a minute apart."""
    labels = {"data_source": "321", "import": "a"}
    memory = await create_memory(client, _LABELLED, revisionLabels=labels)
    clock.advance(timedelta(minutes=1))
    ok(await client.patch(path_of(memory["name"]), json={"fact": _CHANGED}))
    clock.advance(timedelta(minutes=1))
    other = {"data_source": "7"}
    await create_memory(client, _OTHERS, {"user_id": "7"}, revisionLabels=other)
    return await signed_in("viewer")


@in_one_test(
    ("query", "found"),
    [
        ("", _TEXTS),
        ("label=data_source%3D321", _TEXTS[:1]),
        ("label=data_source", (_LABELLED, _OTHERS)),
        ("label=data_source%3D321&label=import%3Da", _TEXTS[:1]),
        ("label=data_source%3D321&label=import%3Db", ()),
        ("scope=user_id%3D7", _TEXTS[2:]),
        ("action=UPDATED", _TEXTS[1:2]),
        ("after=2026-01-15T12:01&before=2026-01-15T12:02", _TEXTS[1:2]),
        ("caller=nobody", ()),
        ("author=nobody", ()),
        ("operation=1", ()),
        ("memory=1", ()),
    ],
)
async def test_each_filter_narrows_the_list_and_its_download(
    filled: httpx.AsyncClient, client: httpx.AsyncClient, query: str, found: tuple[str, ...]
) -> None:
    shown = await page(filled, f"{REVISIONS}?{query}")
    assert tuple(text for text in _TEXTS if text in shown.text) == found
    answer = await filled.get(f"{REVISIONS}?{query}&export=ndjson")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert tuple(line["fact"] for line in lines) == found[::-1]
    if not query:
        listed = ok(await client.get("/memories/-/revisions"))["memoryRevisions"]
        assert lines == listed


async def test_a_label_is_a_link_that_narrows_and_can_be_removed(
    filled: httpx.AsyncClient,
) -> None:
    narrowed = f"{REVISIONS}?label=data_source%3D321&action=CREATED"
    shown = await page(filled, f"{REVISIONS}?action=CREATED")
    assert f"{REVISIONS}?action=CREATED&label=data_source%3D321" in shown.links
    shown = await page(filled, narrowed)
    assert f"{REVISIONS}?action=CREATED" in shown.links
    assert (_LABELLED in shown.text, _OTHERS in shown.text) == (True, False)
    assert shown.forms[REVISIONS]["label"] == ""


async def test_labels_in_use_are_suggested(filled: httpx.AsyncClient) -> None:
    for query, suggested in (
        ("label=", ["data_source=", "import="]),
        ("label=im", ["import="]),
        ("label=data_source=", ["data_source=321", "data_source=7"]),
        ("label=import=a&label=data_source=3", ["data_source=321"]),
        ("label=nothing", []),
    ):
        answer = await filled.get(f"{REVISIONS}/labels?{query}")
        options = [line.split('"')[1] for line in answer.text.splitlines() if "option" in line]
        assert options == suggested, query
    long = await filled.get(f"{REVISIONS}/labels?label={'k' * 65}")
    assert (long.status_code, long.text.strip()) == (200, "")


async def test_on_demand_what_one_operation_did_stands_together(
    filled: httpx.AsyncClient, client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await create_memories(client, "one of a batch", "two of a batch")
    batch = ok(await client.get("/operations"))["operations"][0]
    grouped = f"{REVISIONS}?group=operation"
    assert grouped in (await page(filled, REVISIONS)).links
    shown = await page(filled, grouped)
    assert shown.text.count(f"Operation {id_of(batch)} Action") == 1
    assert f"/console/e/1/operations/{id_of(batch)}" in shown.links
    assert not any(link.endswith("/undo") for link in shown.links)
    editor = await page(await signed_in("editor"), grouped)
    assert f"/console/e/1/operations/{id_of(batch)}/undo" in editor.links


async def test_every_revision_is_on_one_page(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    facts = [f"fact {number:03}" for number in range(120)]
    await create_memories(client, *facts, revisionLabels={"a": "b"})
    viewer, seen = await signed_in("viewer"), []
    url = f"{REVISIONS}?label=a%3Db&group=operation"
    for _ in range(3):
        answer = await viewer.get(url)
        assert len(answer.content) < 500_000
        shown = Page(answer)
        seen += [fact for fact in facts if fact in shown.text]
        url = shown.next
    assert (sorted(seen), url) == (facts, "")


async def test_what_is_empty_wrong_or_hostile_is_shown_as_such(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    viewer = await signed_in("viewer")
    assert "Nothing has changed here yet" in (await page(viewer, REVISIONS)).text
    assert "No revision matches" in (await page(viewer, f"{REVISIONS}?author=x")).text
    for query in ("", "&export=csv"):
        assert "must be" in (await page(viewer, f"{REVISIONS}?after=soon{query}", 400)).text
    labels = {"k<i>": _HOSTILE}
    await create_memory(client, _HOSTILE, {"user_id": _HOSTILE}, revisionLabels=labels)
    for query in ("", "?group=operation"):
        answer = await viewer.get(f"{REVISIONS}{query}")
        assert "<b>x" not in answer.text
        assert "<i>" not in answer.text
        assert "\u202e" not in answer.text
        assert "{{ 6 + 7 }}" in Page(answer).text


@pytest.mark.usefixtures("filled")
async def test_a_bound_key_finds_its_own_alone_whatever_the_url(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    theirs = ok(await client.get("/memories/-/revisions"))["memoryRevisions"][0]
    memory = theirs["name"].split("/")[-3]
    bound = await signed_in("viewer", scope_conditions={"user_id": ["42"]})
    shown = await page(bound, REVISIONS)
    assert _LABELLED in shown.text
    assert "This key sees these scopes only: user_id=42" in shown.text
    for file in ("", "&export=ndjson"):
        for query in ("", "scope=user_id%3D7", "label=data_source%3D7", f"memory={memory}"):
            answer = await bound.get(f"{REVISIONS}?{query}{file}")
            assert answer.status_code == 200
            assert _OTHERS not in answer.text
            assert (memory in answer.text) == ("memory=" in query and not file)
    assert '"data_source=7"' not in (await bound.get(f"{REVISIONS}/labels?label=data_source=")).text
    blind = await signed_in(permissions=["memories.list"])
    for url in (REVISIONS, f"{REVISIONS}?export=csv", f"{REVISIONS}/labels"):
        assert "No permission" in (await page(blind, url, 403)).text
    assert REVISIONS not in (await page(blind, MEMORIES)).links
