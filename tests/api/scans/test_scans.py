"""POST {E}:scanPrivacy: sensitive values in what is stored, counted or masked for good."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import Text, cast, select

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.language.grams import grams
from app.memory.memories.store.tables import MemoryRow, MemoryVectorRow
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import (
    ENGINE,
    ENGINE_URL,
    Json,
    configure,
    count,
    field_of,
    history,
    id_of,
    listed,
    ok,
    retrieved,
    roll_back,
)
from tests.support.keys import client_with, make_key
from tests.support.operations import USER, create_memory, path_of
from tests.support.rows import rows_with
from tests.support.summaries import BY_THREE, session_with, summaries
from tests.support.totals import held, recounted
from tests.support.undo import ask

MAIL = "anna.k@example.com"
OTHER = {"user_id": "another"}


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    """A service whose scans have many batches."""
    return Settings(data_dir=data_dir, admin_key=ADMIN_KEY, sweep_batch_rows=2)


async def scan(client: httpx.AsyncClient, runner: Runner, action: str, **body: Any) -> Json:
    """Run a scan to its end, which must be a success; return its operation."""
    sent = {"action": action, "kinds": ["EMAIL"], **body}
    queued = ok(await client.post(f"{ENGINE_URL}:scanPrivacy", json=sent))
    await runner.run_pending()
    done = ok(await client.get(path_of(queued["name"])))
    assert "error" not in done, done
    assert done["metadata"]["@type"].endswith("ScanPrivacyOperationMetadata")
    assert "progress" not in done["metadata"]
    assert done["response"].pop("@type").endswith("ScanPrivacyResponse")
    return done


async def fill(client: httpx.AsyncClient, runner: Runner) -> str:
    """Store the value in memories, revisions, a tombstone and a summary; return a memory's path.

    That memory had the value in its fact before, and has it in its metadata now.
    """
    await create_memory(client, "I like tea.")
    labels = {"revisionLabels": {"why": MAIL}}
    changed = await create_memory(client, f"My mail is {MAIL}.", **labels)
    path = path_of(changed["name"])
    metadata = {"note": {"stringValue": f"or {MAIL}"}}
    ok(await client.patch(path, json={"fact": "My mail is none.", "metadata": metadata}))
    gone = await create_memory(client, f"Write to {MAIL} soon.")
    ok(await client.delete(path_of(gone["name"])))
    for scope in (USER, OTHER):
        await create_memory(client, f"Ask {MAIL} about Oslo.", scope=scope)
    session = await session_with(client, **BY_THREE)
    for number in range(3):
        said = {"input": f"Remember {MAIL}, number {number}.", "output": "Yes."}
        ok(await client.post(f"{session}/exchanges", json=said))
    await runner.run_pending()
    assert MAIL in (await summaries(client, session))[0]["text"]
    return path


async def test_a_report_counts_by_table_and_changes_nothing(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    await fill(client, runner)
    before = await rows_with(database, MAIL)
    found = (await scan(client, runner, "REPORT"))["response"]
    assert found["action"] == "REPORT"
    assert {table: set(kinds) for table, kinds in found["counts"].items()} == {
        "memories": {"EMAIL"},
        "memory_revisions": {"EMAIL"},
        "session_summaries": {"EMAIL"},
    }
    assert found["counts"]["memories"] == {"EMAIL": 4}
    memories = [name for name in found["names"] if name.startswith(f"{ENGINE}/memories/")]
    sessions = [name for name in found["names"] if name.startswith(f"{ENGINE}/sessions/")]
    assert (len(memories), len(sessions)) == (4, 1)
    assert await rows_with(database, MAIL) == before


async def test_what_is_masked_is_masked_in_every_revision_and_cannot_be_undone(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    """What sessions hold stays as it was said: a scan is for what was made of it."""
    path = await fill(client, runner)
    operation = await scan(client, runner, "MASK")
    assert set(await rows_with(database, MAIL)) == {"session_events"}
    assert sorted(await listed(client)) == sorted(
        ["I like tea.", "My mail is none.", *["Ask [EMAIL] about Oslo."] * 2]
    )
    memory = ok(await client.get(path))
    assert memory["metadata"] == {"note": {"stringValue": "or [EMAIL]"}}
    newest, second, first = await history(client, path)
    assert (newest["action"], "redactTime" in newest) == ("REDACTED", False)
    assert newest["operation"] == operation["name"]
    assert "redactTime" in second
    assert (first["fact"], first["labels"]) == ("My mail is [EMAIL].", {"why": "[EMAIL]"})
    labelled = await history(client, "/memories/-", filter='labels.why="[EMAIL]"')
    assert [id_of(one) for one in labelled] == [id_of(first)]
    answer = await ask(client, operation["name"])
    assert answer.json()["error"]["details"][0]["reason"] == "NOTHING_TO_UNDO"
    ok(await roll_back(client, path, id_of(first)))
    assert ok(await client.get(path))["fact"] == "My mail is [EMAIL]."
    assert await retrieved(client, similaritySearchParams={"searchQuery": "Oslo", "topK": 1}) == [
        "Ask [EMAIL] about Oslo."
    ]
    assert await count(database, MemoryVectorRow) == (4,)
    assert await held(database) == await recounted(database)
    again = await scan(client, runner, "MASK")
    assert again["response"]["counts"].get("memories", {}) == {}


async def test_a_deleted_memory_comes_back_masked(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    memory = await create_memory(client, f"Write to {MAIL} soon.")
    path = path_of(memory["name"])
    [created] = await history(client, path)
    ok(await client.delete(path))
    await scan(client, runner, "MASK")
    assert await listed(client) == []
    ok(await roll_back(client, path, id_of(created)))
    assert await listed(client) == ["Write to [EMAIL] soon."]


@pytest.mark.parametrize(
    ("fact", "masked"),
    [
        (f"邮箱是 {MAIL} 请写信", "邮箱是 [EMAIL] 请写信"),
        (f"メール {MAIL} へ送る", "メール [EMAIL] へ送る"),
        (f"อีเมล {MAIL} ครับ", "อีเมล [EMAIL] ครับ"),
    ],
)
async def test_words_of_what_was_masked_are_indexed_no_more(
    client: httpx.AsyncClient, runner: Runner, database: Database, fact: str, masked: str
) -> None:
    for number in range(2):
        memory = await create_memory(client, fact)
        if number:
            ok(await client.delete(path_of(memory["name"])))
    await scan(client, runner, "MASK")
    statement = select(MemoryRow.fact, cast(MemoryRow.grams, Text), MemoryRow.cues)
    async with database.snapshot() as session:
        rows = {tuple(map(str, row)) for row in await session.execute(statement)}
    assert {fact for fact, _, _ in rows} == {masked}
    # The worker makes those of the deleted one.
    expected = {"None", " ".join(f"'{gram}'" for gram in grams(masked))}
    assert {_in_order(stored) for _, stored, _ in rows} == {_in_order(one) for one in expected}


def _in_order(lexemes: str) -> str:
    return " ".join(sorted(lexemes.split()))


async def test_a_scan_of_a_scope_leaves_the_others(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await fill(client, runner)
    await scan(client, runner, "MASK", scope=OTHER)
    facts = await listed(client)
    assert "Ask [EMAIL] about Oslo." in facts
    assert f"Ask {MAIL} about Oslo." in facts


async def test_a_scan_looks_for_what_the_rules_name_unless_told_otherwise(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    card = "4111 1111 1111 1111"
    await create_memory(client, f"Pay with {card}, for CN-12345678, and tell {MAIL}.")
    found = (await scan(client, runner, "REPORT", kinds=[]))["response"]
    assert found["counts"]["memories"] == {"PAYMENT_CARD": 1}
    patterns = [{"name": "CASE_NUMBER", "pattern": "CN-[0-9]{8}"}]
    rules = [{"kind": "PAYMENT_CARD", "action": "OFF"}, {"kind": "EMAIL", "action": "REJECT"}]
    await configure(client, privacyConfig={"rules": rules, "customPatterns": patterns})
    found = (await scan(client, runner, "REPORT", kinds=None))["response"]
    assert found["counts"]["memories"] == {"CASE_NUMBER": 1, "EMAIL": 1}


async def test_scans_that_cannot_be_run_are_refused(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    url = f"{ENGINE_URL}:scanPrivacy"
    answer = await client.post(url, json={"action": "MASK", "kinds": ["EMAIL", "NAME"]})
    assert field_of(answer) == "kinds[1]"
    assert field_of(await client.post(url, json={"action": "HIDE"})) == "action"
    assert field_of(await client.post(url, json={})) == "action"
    off = [{"kind": kind, "action": "OFF"} for kind in ("CREDENTIAL", "PAYMENT_CARD")]
    await configure(client, privacyConfig={"rules": off})
    assert field_of(await client.post(url, json={"action": "REPORT"})) == "kinds"
    conditions = {"user_id": ["42"]}
    secret = await make_key(database, clock.now(), "admin", scope_conditions=conditions)
    body = {"action": "REPORT", "kinds": ["EMAIL"]}
    async with client_with(app, secret) as bound:
        assert field_of(await bound.post(url, json=body)) == "scope"
        assert (await bound.post(url, json={**body, "scope": OTHER})).status_code == 404
        ok(await bound.post(url, json={**body, "scope": {"user_id": "42"}}))
