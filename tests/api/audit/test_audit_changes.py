"""Every change leaves one event, in the transaction that makes it."""

import httpx
import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import MemoryRow
from app.platform.access.store import ApiKeyRow
from app.platform.operations.services.runner import Runner
from app.process.features import demands
from app.web.routing import AdmittedRoute
from tests.support.audit import all_events, events, results, stored
from tests.support.bank import ENGINE, Json, count, id_of, ok
from tests.support.changes import CHANGES, ELSEWHERE, TEA, UNSERVED
from tests.support.engines import create_engine
from tests.support.faults import RAISE, trigger
from tests.support.ingestion import event as ingested
from tests.support.keys import client_with, make_key
from tests.support.operations import USER, create_memory
from tests.support.sessions import create_session, event


def test_every_change_is_asked_for(app: FastAPI) -> None:
    """A method that changes something fails this until it has a request above."""
    served = {route.method for route in app.state.routes if isinstance(route, AdmittedRoute)}
    changes = {name for name, demand in demands().items() if demand.is_change}
    assert changes <= served
    assert changes - UNSERVED - ELSEWHERE == CHANGES.keys()


@pytest.mark.parametrize("method", CHANGES)
async def test_a_change_leaves_one_event(
    client: httpx.AsyncClient, runner: Runner, database: Database, method: str
) -> None:
    answer = await client.send(await CHANGES[method](client, runner))
    body = ok(answer)
    (found,) = await all_events(client, f"method={method}")
    async with database.snapshot() as session:
        key = await session.get(ApiKeyRow, found["caller"])
    assert key is not None
    assert key.display_name == "configured"
    assert found["result"] == "OK"
    assert "reason" not in found
    assert found["address"] == "127.0.0.1"
    assert found["requestId"] == answer.headers["x-request-id"]
    assert found["createTime"] == "2026-01-15T12:00:00Z"
    is_operation = "genericMetadata" in body.get("metadata", {})
    assert found.get("operation") == (body["name"] if is_operation else body.get("operation"))
    if is_operation:
        # Every kind is registered, else a filter could not name it.
        made = body["metadata"]
        parent = body["name"].partition("/operations/")[0].partition("/memories/")[0]
        params = {"filter": f'kind="{made["kind"]}" AND caller="{found["caller"]}"'}
        page = ok(await client.get(f"http://test/v1/{parent}/operations", params=params))
        assert body["name"] in [one["name"] for one in page["operations"]]
        assert made["caller"] == found["caller"]
    of_engine = "auditEvents/" + found["name"].rpartition("/")[2]
    of_service = method.endswith("Key")
    assert found["name"].removesuffix(of_engine).rpartition("/reasoningEngines/")[0] == (
        "" if of_service else "projects/default/locations/local"
    )
    assert found["resource"].startswith("keys/" if of_service else f"{ENGINE[:-1]}")


@pytest.mark.parametrize(
    "prefix",
    ["/v1beta1/projects/default/locations/local/reasoningEngines/1", "/v1/memoryBanks/1"],
)
async def test_a_resource_has_one_name_however_a_path_spells_it(
    client: httpx.AsyncClient, prefix: str
) -> None:
    url = f"http://test{prefix}"
    memory = ok(await client.post(f"{url}/memories", json={"fact": TEA, "scope": USER}))
    name = memory["response"]["name"]
    ok(await client.patch(f"{url}/memories/{id_of(memory['response'])}", json={"fact": "I do."}))
    session = await create_session(client, "s")
    ok(await client.post(f"{url}/sessions/s:appendEvent", json=event()))
    found = [(one["method"], one["resource"]) for one in await events(client)]
    assert found[::-1] == [
        ("createMemory", name),
        ("updateMemory", name),
        ("createSession", session["name"]),
        ("appendEvent", session["name"]),
    ]


async def test_the_creation_of_an_engine_is_in_its_own_log(client: httpx.AsyncClient) -> None:
    name = (await create_engine(client))["name"]
    page = ok(await client.get(f"http://test/v1/{name}/auditEvents"))
    (found,) = page["auditEvents"]
    assert (found["method"], found["resource"]) == ("createReasoningEngine", name)
    assert found["name"].startswith(f"{name}/auditEvents/")
    assert await all_events(client) == [found]


async def test_a_key_is_named_by_its_id(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), "user")
    async with client_with(app, secret) as users:
        await create_memory(users, TEA)
    (found,) = await events(client)
    assert found["caller"]
    assert found["caller"] in secret
    assert secret not in str(found)


async def test_a_request_that_is_repeated_is_a_request_of_its_own(
    client: httpx.AsyncClient, database: Database
) -> None:
    async def ask() -> Json:
        body = {"fact": TEA, "scope": USER}
        return ok(await client.post("/memories?requestId=once", json=body))

    assert await ask() == await ask()
    assert await count(database, MemoryRow) == (1,)
    second, first = await events(client)
    assert second["replayed"]
    assert "replayed" not in first
    assert first["method"] == second["method"] == "createMemory"
    assert first["operation"] == second["operation"]
    assert first["requestId"] != second["requestId"]


async def test_events_that_are_added_name_the_operation_that_is_to_process_them(
    client: httpx.AsyncClient,
) -> None:
    body = {"scope": USER, "directContentsSource": {"events": [ingested(TEA)]}}
    operation = ok(await client.post("/memories:ingestEvents", json=body))["name"]
    body["directContentsSource"] = {"events": [ingested("I live in Oslo.")]}
    assert ok(await client.post("/memories:ingestEvents", json=body))["name"] == operation
    assert [one["operation"] for one in await events(client)] == [operation, operation]


@pytest.mark.plain_postgres("a cluster does not tell why a node has not committed")
async def test_a_change_whose_commit_fails_leaves_no_event_of_success(
    client: httpx.AsyncClient, database: Database
) -> None:
    async with trigger(database, RAISE.format(state="P0001")):
        answer = await client.post("/memories", json={"fact": TEA, "scope": USER})
    assert answer.status_code == 500
    assert await count(database, MemoryRow) == (0,)
    assert await results(database) == [("createMemory", "INTERNAL", "INTERNAL")]


@pytest.mark.plain_postgres("a cluster does not tell why a node has not committed")
async def test_a_change_that_cannot_be_told_of_is_not_made(
    client: httpx.AsyncClient, database: Database
) -> None:
    with capture_logs() as lines:
        async with trigger(database, RAISE.format(state="P0001"), table="audit_events"):
            answer = await client.post("/memories", json={"fact": TEA, "scope": USER})
    assert answer.status_code == 500
    assert await count(database, MemoryRow) == (0,)
    assert await stored(database) == []
    assert [line["event"] for line in lines].count("audit.not_recorded") == 1
    assert TEA not in str(lines)
