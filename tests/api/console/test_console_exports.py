"""Downloads of lists: what the filter finds, for whom, as CSV and as NDJSON."""

import csv
import io
import json
from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.api.console.conftest import SignedIn
from tests.support.bank import id_of, ok
from tests.support.cases import in_one_test
from tests.support.console import MEMORIES, Page, page
from tests.support.operations import create_memories, create_memory, path_of
from tests.support.person import CANARY, PERSON, fill

HERE = "/console/e/1"
DAY = "2026-01-15"
_PLACES = {
    "memories": ("/memories", "memories", "Memory"),
    "revisions": ("/memories/-/revisions", "memoryRevisions", "MemoryRevision"),
    "operations": ("/operations", "operations", "Operation"),
    "sessions": ("/sessions", "sessions", "Session"),
    "streams": ("/streams", "streams", "Stream"),
    "audit": ("/auditEvents", "auditEvents", "AuditEvent"),
}
"""The lists of an engine: their paths, and the names of their rows and the schemas of these."""


def _table(answer: httpx.Response) -> list[dict[str, str]]:
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(answer.text[1:], newline="")))


def _lines(answer: httpx.Response) -> list[Any]:
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def _file(answer: httpx.Response) -> str:
    return answer.headers["content-disposition"]


@pytest.fixture
async def filled(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock, runner: Runner
) -> None:
    """Data of two users in every list."""
    await fill(client, app, database, clock, runner)


@pytest.mark.usefixtures("filled")
async def test_each_list_is_downloaded_with_all_its_fields(
    app: FastAPI, client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    schemas = app.openapi()["components"]["schemas"]
    admin = await signed_in("admin")
    for name, (path, rows, schema) in _PLACES.items():
        answer = await admin.get(f"{HERE}/{name}?export=ndjson")
        listed = ok(await client.get(path, params={"pageSize": "1000"}))[rows]
        assert _lines(answer) == listed, name
        assert len(listed) > 1, name
        assert f'"engine-1-{name}-{DAY}.ndjson"' in _file(answer)
        answer = await admin.get(f"{HERE}/{name}?export=csv")
        table = _table(answer)
        assert len(table) == len(listed), name
        assert set(table[0]) == set(schemas[schema]["properties"]), name
        assert f'"engine-1-{name}-{DAY}.csv"' in _file(answer)
    deleted = _table(await admin.get(f"{HERE}/deleted?export=csv"))
    assert {row["fact"] for row in deleted} == {f"I forget {w}." for w in (CANARY, "Harmless")}
    assert set(deleted[0]) == set(schemas["Memory"]["properties"])
    keys = await admin.get("/console/keys?export=csv")
    assert f'"keys-{DAY}.csv"' in _file(keys)
    assert set(_table(keys)[0]) == set(schemas["ApiKey"]["properties"]) - {"secret"}
    everything = await admin.get("/console/audit?export=ndjson")
    assert f'"audit-{DAY}.ndjson"' in _file(everything)
    assert _lines(everything)


async def test_all_pages_of_a_filter_are_in_the_file_in_their_order(
    client: httpx.AsyncClient, clock: FixedClock, signed_in: SignedIn
) -> None:
    viewer = await signed_in("viewer")
    facts = [f"fact {number:03}" for number in range(260)]
    for part in range(0, 260, 20):
        await create_memories(client, *facts[part : part + 20])
        clock.advance(timedelta(seconds=1))
    await create_memory(client, "fact of seven", {"user_id": "7"})
    query = "scope=user_id%3D42&text=fact&order=create_time&rows=25"
    found = [row["fact"] for row in _table(await viewer.get(f"{MEMORIES}?{query}&export=csv"))]
    assert sorted(found) == facts
    assert found[0] in facts[:20]
    assert found[-1] in facts[-20:]
    # Neither the address of a page nor its size cuts a download that its link offers.
    [link] = [one for one in (await page(viewer, f"{MEMORIES}?{query}")).links if "=csv" in one]
    assert [row["fact"] for row in _table(await viewer.get(link))] == found


async def test_no_cell_is_computed_and_every_text_is_whole(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    viewer = await signed_in("viewer")
    facts = ["=1+1", "+1", "-1", "@x", "\t=1", "\uff1d1", 'a "b",\r\nc;d', "漢字 🙂 \u202ex", "- 1"]
    await create_memories(client, *facts)
    table = _table(await viewer.get(f"{MEMORIES}?export=csv"))
    cells = [row["fact"] for row in table]
    assert set(cells) == {fact if fact[0] in "a漢" else f"'{fact}" for fact in facts}
    assert json.loads(table[0]["scope"]) == {"user_id": "42"}
    lines = _lines(await viewer.get(f"{MEMORIES}?export=ndjson"))
    assert {line["fact"] for line in lines} == set(facts)


@pytest.mark.usefixtures("filled")
async def test_a_bound_key_downloads_nothing_of_another(
    signed_in: SignedIn, client: httpx.AsyncClient
) -> None:
    bound = await signed_in("viewer", scope_conditions={"user_id": ["other-8"]})
    whole = await signed_in("viewer")
    for name in ("memories", "revisions", "operations", "deleted", "sessions", "streams"):
        for query in ("", f"scope=user_id%3D{PERSON}&", f"user={PERSON}&", "showDeleted=true&"):
            for kind in ("csv", "ndjson"):
                url = f"{HERE}/{name}?{query}export={kind}"
                answer = await bound.get(url)
                assert answer.status_code == 200, url
                for word in (CANARY, PERSON):
                    assert word not in answer.text, url
        assert "other-8" in (await bound.get(f"{HERE}/{name}?export=csv")).text, name
        assert PERSON in (await whole.get(f"{HERE}/{name}?export=csv")).text, name
    memories = ok(await client.get("/memories"))["memories"]
    ids = "".join(f"&memory={id_of(one)}" for one in memories)
    chosen = await bound.get(f"{MEMORIES}?export=ndjson-chosen{ids}")
    assert (chosen.status_code, "content-disposition" in chosen.headers) == (400, False)
    assert CANARY not in chosen.text
    for url in (
        f"{HERE}/audit?export=csv",
        "/console/audit?export=csv",
        "/console/keys?export=csv",
    ):
        answer = await bound.get(url)
        assert (answer.status_code, "content-disposition" in answer.headers) == (403, False), url
    blind = await signed_in(permissions=["memories.list"])
    for name in ("revisions", "operations", "deleted", "sessions", "streams", "audit"):
        assert "No permission" in (await page(blind, f"{HERE}/{name}?export=csv", 403)).text, name


@in_one_test(
    ("url", "status"),
    [
        (f"{HERE}/revisions?after=soon&export=csv", 400),
        (f"{HERE}/memories?changed_after=soon&export=ndjson", 400),
        (f"{HERE}/memories?page=x&export=csv", 400),
        (f"{HERE}/memories?export=csv-chosen", 400),
        (f"{HERE}/memories?export=csv-chosen&memory=gone", 400),
        ("/console/e/77/memories?export=csv", 404),
        (f"{HERE}/memories?export=exe", 200),
    ],
)
async def test_an_error_is_a_page_and_no_file(signed_in: SignedIn, url: str, status: int) -> None:
    viewer = await signed_in("viewer")
    answer = await viewer.get(url)
    assert (answer.status_code, "content-disposition" in answer.headers) == (status, False)
    assert answer.headers["content-type"].startswith("text/html")


async def test_the_ticked_rows_of_a_page_are_downloaded(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    viewer = await signed_in("viewer")
    memories = await create_memories(client, *(f"fact {number:02}" for number in range(60)))
    shown = Page(await viewer.get(f"{MEMORIES}?rows=25"))
    ids = [id_of(one) for one in memories if f"{MEMORIES}/{id_of(one)}" in shown.links]
    assert len(ids) == 25
    url = f"{MEMORIES}?rows=25&export=ndjson-chosen&memory={ids[3]}&memory={ids[24]}"
    assert {id_of(one) for one in _lines(await viewer.get(url))} == {ids[3], ids[24]}
    moved = await viewer.get(f"{url}&memory=x")
    assert (moved.status_code, "no longer on this page" in moved.text) == (400, True)
    gone = memories[0]
    ok(await client.delete(path_of(gone["name"])))
    url = f"{HERE}/deleted?export=csv-chosen&memory={id_of(gone)}"
    assert [row["name"] for row in _table(await viewer.get(url))] == [gone["name"]]
