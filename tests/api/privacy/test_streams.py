"""Values of which no single text shows that they are sensitive, and ids of events."""

import httpx

from app.adapters.db.session import Database
from app.platform.operations.services.runner import Runner
from tests.support.bank import configure, listed, ok
from tests.support.generation import run, said
from tests.support.ingestion import IDLE, ended, event, events_of, ingest
from tests.support.rows import rows_with
from tests.support.sessions import append, new_path

LABEL, VALUE = "I live in Oslo. My password is", "swordfish-99, and I like tea."
SESSION = "vertexSessionSource"


async def test_a_label_and_its_value_in_two_requests_are_seen_when_the_stream_runs(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    await ingest(client, LABEL, **IDLE)
    operation = await ingest(client, VALUE, forceFlush=True)
    done = await ended(client, runner, operation)
    assert done["metadata"]["maskedCounts"] == {"CREDENTIAL": 1}
    assert not [fact for fact in await listed(client) if "swordfish" in fact]
    assert [fact for fact in await listed(client) if "tea" in fact]
    assert await rows_with(database, "swordfish") == {}


async def test_a_label_and_its_value_in_two_events_are_seen_in_every_source(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await new_path(client)
    await append(client, path, LABEL)
    await append(client, path, VALUE)
    name = ok(await client.get(path))["name"]
    for source in (said(LABEL, VALUE), {SESSION: {"session": name}}):
        done = await run(client, runner, source)
        assert done["metadata"]["maskedCounts"] == {"CREDENTIAL": 1}
    assert not [fact for fact in await listed(client) if "swordfish" in fact]


async def test_masked_ids_of_events_stay_distinct(
    client: httpx.AsyncClient, database: Database
) -> None:
    """A stream takes an event of the same id once; two addresses are two ids."""
    await configure(client, privacyConfig={"rules": [{"kind": "EMAIL", "action": "MASK"}]})
    for address in ("anna.k@example.com", "bob.k@example.com", "anna.k@example.com"):
        await ingest(client, event(f"I like tea, {address[:3]}.", address), **IDLE)
    ids = [row.event_id or "" for row in await events_of(database)]
    assert len(set(ids)) == 2
    assert all(one.startswith("[EMAIL]-") for one in ids)
    assert await rows_with(database, ".k@example.com") == {}


async def test_an_id_that_is_refused_is_named(client: httpx.AsyncClient) -> None:
    await configure(client, privacyConfig={"rules": [{"kind": "EMAIL", "action": "REJECT"}]})
    body = {
        "scope": {"user_id": "42"},
        "directContentsSource": {"events": [event("I like tea.", "anna.k@example.com")]},
    }
    answer = await client.post("/memories:ingestEvents", json=body)
    assert answer.status_code == 400
    assert "directContentsSource.events[0].eventId" in answer.text
    assert "anna" not in answer.text
    ok(await client.get(""))
