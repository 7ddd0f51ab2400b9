"""Who asked for a change: its revision names the caller, whoever carried it out."""

import json
from pathlib import Path

import httpx
from fastapi import FastAPI
from sqlalchemy import update

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.memory.memories.store.tables import RevisionRow
from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE_URL, Json, history, id_of, ok, roll_back
from tests.support.generation import given, run, start
from tests.support.ingestion import TEA, ingest
from tests.support.keys import client_with, make_key
from tests.support.keys import id_of as key_of
from tests.support.operations import create_memories, create_memory, path_of
from tests.support.person import erase
from tests.support.queue import overwrite
from tests.support.tokens import SUBJECT, claims, publish, sign, token_app
from tests.support.undo import undo

ALL = "/memories/-"


async def _change_in_every_way(client: httpx.AsyncClient, runner: Runner) -> set[str]:
    """Make changes of every kind, by requests and by a worker; return the facts."""
    at_once = await create_memory(client, "At once.")
    labelled = await create_memory(client, "In steps.", revisionLabels={"a": "1"})
    await create_memories(client, "In a batch.")
    line = json.dumps({"fact": "Imported from a@b.example.", "scope": {"user_id": "8"}})
    headers = {"content-type": "application/x-ndjson"}
    ok(await client.post("/memories:import", content=line, headers=headers))
    path = path_of(at_once["name"])
    ok(await client.patch(path, json={"fact": "Updated."}))
    (*_, first) = await history(client, path)
    ok(await roll_back(client, path, id_of(first)))
    deleted = ok(await client.delete(path_of(labelled["name"])))
    await undo(client, runner, deleted["name"])
    ok(await client.post("/memories:purge", json={"filter": 'fact="At once."', "force": True}))
    await run(client, runner, given("I like cocoa."))
    await ingest(client, TEA)
    await runner.run_pending()
    scan = {"action": "MASK", "kinds": ["EMAIL"]}
    ok(await client.post(f"{ENGINE_URL}:scanPrivacy", json=scan))
    await runner.run_pending()
    return {"At once.", "In steps.", "In a batch.", "I like cocoa.", TEA}


async def test_every_change_names_the_key_that_asked_for_it(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, runner: Runner
) -> None:
    await create_memory(client, "By another.", {"user_id": "9"})
    (other,) = await history(client, ALL)
    secret = await make_key(database, clock.now(), "admin")
    async with client_with(app, secret) as own:
        facts = await _change_in_every_way(own, runner)
        revisions = await history(own, ALL, filter='memory!="' + other["name"].split("/")[-3] + '"')
    assert facts <= {one["fact"] for one in revisions}
    assert {one["action"] for one in revisions} == {
        *("CREATED", "UPDATED", "ROLLED_BACK", "DELETED", "REDACTED"),
    }
    assert {one["caller"] for one in revisions} == {key_of(secret)}
    assert other["caller"] != key_of(secret)


async def test_a_retry_names_the_key_that_asked_for_it(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock, runner: Runner
) -> None:
    queued = await start(client, given("I like cocoa."))
    failure = Unavailable("Away.", Reason.MODEL_UNAVAILABLE).as_operation_error()
    await overwrite(
        database, queued.rpartition("/")[2], state="FAILED", error=failure, remove_time=None
    )
    secret = await make_key(database, clock.now(), "admin")
    async with client_with(app, secret) as own:
        ok(await own.post(f"{queued}:retry"))
    await runner.run_pending()
    (revision,) = await history(client, ALL)
    assert revision["caller"] == key_of(secret)


async def test_a_revision_of_an_earlier_release_has_no_caller(
    client: httpx.AsyncClient, database: Database
) -> None:
    await create_memory(client, "x")
    async with database.transaction() as session:
        await session.execute(update(RevisionRow).values(caller=None))
    (revision,) = await history(client, ALL)
    assert "caller" not in revision
    for text, found in (("caller:*", []), ('caller!="x"', [revision])):
        assert await history(client, ALL, filter=text) == found


async def test_an_erasure_takes_a_person_s_name_off_the_history_of_others(
    client: httpx.AsyncClient,
    resources: Resources,
    runner: Runner,
    clock: FixedClock,
    tmp_path: Path,
) -> None:
    app = token_app(resources, publish(tmp_path / "jwks.json"))
    async with client_with(app, sign(claims(clock.now()))) as person:
        await create_memory(person, "Of another.", {"user_id": "8"})
    (before,) = await history(client, ALL)
    assert before["caller"] == f"jwt:{SUBJECT}"
    certificate: Json = await erase(client, runner, {"user_id": SUBJECT})
    assert certificate["pseudonymised"]["memory_revisions"] == 1
    (after,) = await history(client, ALL)
    assert after["caller"].startswith("erased-")
    assert {**after, "caller": before["caller"]} == before
