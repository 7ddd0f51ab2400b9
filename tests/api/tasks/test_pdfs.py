"""PDFs in task memory: read by a worker, cited by page, and told where they cannot be read."""

import asyncio
import sys
import time
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE_URL, Json, ok
from tests.support.errors import BAD_FIELD, refusal, violations
from tests.support.keys import client_with, make_key
from tests.support.pdfs import PDF, encrypted, of_pages, scanned
from tests.support.readers import FACT, query, summarize
from tests.support.tasks import AGENT, ARTIFACT, NAMESPACE, store, text_output, upload

FILLER = "The road is long and the tea is warm. "
FILE = of_pages("Prices", *["\n".join([FILLER * 2] * 40)] * 3, f"{FACT}\nAnd no more.", "")
UNREADABLE = (400, "INVALID_ARGUMENT", Reason.NO_READABLE_ARTIFACTS)
NOT_READY = (409, "ABORTED", Reason.NOT_READY)


async def page(client: httpx.AsyncClient, number: int) -> Json:
    return ok(await client.get(f"{ARTIFACT}:text", params={"page": number}))


@pytest.mark.parametrize("media_type", [PDF, "application/octet-stream"])
async def test_a_citation_names_the_page_and_is_found_on_it(
    client: httpx.AsyncClient, runner: Runner, media_type: str
) -> None:
    sent = ok(await upload(client, FILE, media_type=media_type))
    assert (sent["state"], sent["readableWith"]) == ("indexing", ["query", "summarize"])
    assert refusal(await client.get(f"{ARTIFACT}:text")) == NOT_READY
    await runner.run_pending()
    assert ok(await client.get(ARTIFACT))["state"] == "ready"
    found = ok(await query(client, model="builtin"))
    assert found["answer"] == FACT
    (cited,) = found["citations"]
    assert cited["page"] == 5
    shown = await page(client, cited["page"])
    inside = shown["text"][cited["start"] - shown["start"] : cited["end"] - shown["start"]]
    assert FACT in inside
    assert "Prices" in ok(await summarize(client, model="builtin"))["summary"]


async def test_the_pages_of_its_text_are_its_own(client: httpx.AsyncClient, runner: Runner) -> None:
    ok(await upload(client, FILE, media_type=PDF))
    await runner.run_pending()
    shown = [await page(client, number) for number in range(1, 7)]
    assert [(one["page"], one["pages"]) for one in shown] == [(n, 6) for n in range(1, 7)]
    assert shown[0]["text"].strip() == "Prices"
    assert shown[4]["text"].strip() == f"{FACT}\nAnd no more."
    assert shown[5]["text"].strip() == ""
    ends = [0, *(one["end"] for one in shown)]
    assert [one["start"] for one in shown] == ends[:-1]
    assert all(len(one["text"]) == one["end"] - one["start"] for one in shown)
    after = await client.get(f"{ARTIFACT}:text", params={"page": 7})
    assert violations(after) == {"page": "must be from 1 to 6; got 7."}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (encrypted(FILE, "secret"), "encrypted"),
        (scanned(), "no text"),
        (FILE[:600], "damaged"),
    ],
    ids=["encrypted", "scanned", "damaged"],
)
async def test_a_file_that_cannot_be_read_is_told_in_words(
    client: httpx.AsyncClient, runner: Runner, content: bytes, words: str
) -> None:
    ok(await store(client, text_output("Some text.", name="b")))
    ok(await upload(client, content, media_type=PDF))
    await runner.run_pending()
    artifact = ok(await client.get(ARTIFACT))
    assert (artifact["state"], artifact["readableWith"]) == ("ready", [])
    for _ in range(2):
        refused = await client.get(f"{ARTIFACT}:text")
        assert refusal(refused) == UNREADABLE
        assert words in refused.json()["error"]["message"]
        coverage = ok(await query(client, model="builtin"))["coverage"]
        (unreadable,) = coverage["unreadable"]
        assert unreadable["artifact"] == "a"
        assert words in unreadable["reason"]
    assert (await client.get(f"{ARTIFACT}/content")).content == content


async def test_a_failure_is_told_to_those_alone_who_may_see_the_content(
    client: httpx.AsyncClient, app: FastAPI, runner: Runner, database: Database, clock: FixedClock
) -> None:
    ok(await upload(client, scanned(), media_type=PDF, params={"sensitive": True}))
    await runner.run_pending()
    assert "no text" in (await query(client)).text
    secret = await make_key(database, clock.now(), permissions=AGENT)
    async with client_with(app, secret) as agent:
        answer = await query(agent, offPrompt=True)
    assert refusal(answer) == UNREADABLE
    assert answer.json()["error"]["message"] == "namespaces/n has no readable text."


async def test_a_process_that_does_not_start_is_tried_again(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok(await upload(client, FILE, media_type=PDF))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/nowhere/python")
        await runner.run_pending()
    assert ok(await client.get(ARTIFACT))["state"] == "indexing"
    clock.advance(timedelta(seconds=60))
    await runner.run_pending()
    assert ok(await client.get(ARTIFACT))["state"] == "ready"


def _until_two(folder: Path) -> None:
    while len(list(folder.iterdir())) < 2:
        time.sleep(0.05)


async def test_files_that_wait_for_their_turn_hold_no_place_of_a_worker(
    client: httpx.AsyncClient,
    runner: Runner,
    clock: FixedClock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow, begun = tmp_path / "python", tmp_path / "begun"
    begun.mkdir()
    lines = [f": > {begun}/$$", f"while [ ! -e {tmp_path}/go ]; do /bin/sleep 0.05; done"]
    slow.write_text("\n".join(["#!/bin/sh", *lines, f'exec {sys.executable} "$@"']))
    slow.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(slow))
    paths = [f"{NAMESPACE}/artifacts/{name}" for name in ("first", "second", "third")]
    for path in paths:
        ok(await upload(client, of_pages("One"), path, PDF))
    reading = [asyncio.create_task(runner.run_pending()) for _ in range(2)]
    await asyncio.to_thread(_until_two, begun)
    ok(await upload(client, (FILLER * 10_000).encode(), media_type="text/plain"))
    await runner.run_pending()
    assert ok(await client.get(ARTIFACT))["state"] == "ready"
    (tmp_path / "go").touch()
    await asyncio.gather(*reading)
    states = [ok(await client.get(path))["state"] for path in paths]
    assert states == ["ready", "ready", "indexing"]
    clock.advance(timedelta(seconds=2))
    await runner.run_pending()
    assert ok(await client.get(paths[2]))["state"] == "ready"


async def test_the_rules_of_the_engine_apply_to_the_text(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    rules = [
        *({"kind": kind, "action": "MASK"} for kind in ("EMAIL", "IBAN")),
        {"kind": "PAYMENT_CARD", "action": "REJECT"},
    ]
    masked = "Write to ann@example.com. IBAN DE89 3704 0044", "0532 0130 00. More."
    config = {"contextSpec": {"memoryBankConfig": {"privacyConfig": {"rules": rules}}}}
    ok(await client.patch(ENGINE_URL, json=config))
    ok(await upload(client, of_pages(*masked), media_type=PDF))
    await runner.run_pending()
    shown = [(await page(client, number))["text"].strip() for number in (1, 2)]
    assert shown == ["Write to [EMAIL]. IBAN [IBAN]", "[IBAN]. More."]
    refused = f"{NAMESPACE}/artifacts/b"
    ok(await upload(client, of_pages("Card 4111 1111", "1111 1111."), refused, PDF))
    await runner.run_pending()
    answer = await client.get(f"{refused}:text")
    assert refusal(answer) == UNREADABLE
    assert "sensitive content" in answer.text
    async with database.snapshot() as session:
        found = (await session.execute(text("select text from task_chunks"))).scalars()
        assert "4111" not in "".join(found)


async def test_a_file_that_replaces_another_has_its_own_pages(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    ok(await upload(client, FILE, media_type=PDF))
    await runner.run_pending()
    ok(await upload(client, b"Words.", media_type="text/plain", headers={"If-Match": "*"}))
    assert (await page(client, 1))["pages"] == 1
    ok(await upload(client, of_pages("One", "Two"), media_type=PDF, headers={"If-Match": "*"}))
    await runner.run_pending()
    assert (await page(client, 2))["text"].strip() == "Two"


async def test_a_page_is_a_number(client: httpx.AsyncClient) -> None:
    ok(await store(client, text_output("Words.", name="a")))
    for wrong in ("0", "-1", "x", "2000000"):
        answer = await client.get(f"{ARTIFACT}:text", params={"page": wrong})
        assert refusal(answer) == BAD_FIELD
        assert "page" in violations(answer)
