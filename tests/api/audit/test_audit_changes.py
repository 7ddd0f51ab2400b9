"""Every change leaves one event, in the transaction that makes it."""

import json
from collections.abc import Awaitable, Callable

import httpx
import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import MemoryRow
from app.platform.access.store.tables import ApiKeyRow
from app.platform.operations.services.runner import Runner
from app.process.features import demands
from app.web.routing import AdmittedRoute
from tests.support.audit import all_events, events, results, stored
from tests.support.bank import ENGINE, ENGINE_URL, Json, count, history, id_of, ok
from tests.support.engines import COLLECTION, create_engine
from tests.support.faults import RAISE, trigger
from tests.support.generation import given, start
from tests.support.ingestion import event as ingested
from tests.support.keys import client_with, make_key
from tests.support.operations import USER, create_memory, path_of
from tests.support.restores import GZIP, archive_of, zipped
from tests.support.sessions import create_session, event, new_path
from tests.support.tasks import ARTIFACT, NAMESPACE, process, store, text_output, upload
from tests.support.tasks import MEMORY as TASK_MEMORY

TEA = "I like tea."
UNSERVED = {"compactSession"}
"""Refused whoever asks, so that they change nothing."""
ELSEWHERE = {"exportNamespace", "retryOperation"}
"""Need a folder and a model that fails: see test_exports.py, and test_retry.py."""
_KEYS = "http://test/v1/keys"
_KEY = {"displayName": "an agent's", "roles": ["viewer"]}

_Ask = Callable[[httpx.AsyncClient, Runner], Awaitable[httpx.Response]]
_ASKED: dict[str, _Ask] = {}


def _asks(method: str) -> Callable[[_Ask], _Ask]:
    """Let a function ask for a method, with all that it needs."""

    def note(ask: _Ask) -> _Ask:
        _ASKED[method] = ask
        return ask

    return note


async def _key(client: httpx.AsyncClient) -> str:
    return id_of(ok(await client.post(_KEYS, json=_KEY)))


async def _memory(client: httpx.AsyncClient) -> str:
    return path_of((await create_memory(client, TEA))["name"])


@_asks("createKey")
async def _create_key(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.post(_KEYS, json=_KEY)


@_asks("revokeKey")
async def _revoke_key(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.post(f"{_KEYS}/{await _key(client)}:revoke")


@_asks("rotateKey")
async def _rotate_key(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.post(f"{_KEYS}/{await _key(client)}:rotate")


@_asks("createReasoningEngine")
async def _create_reasoning_engine(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.post(COLLECTION, json={"displayName": "d"})


@_asks("updateReasoningEngine")
async def _update_reasoning_engine(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.patch(ENGINE_URL, json={"displayName": "d"})


@_asks("deleteReasoningEngine")
async def _delete_reasoning_engine(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.delete(f"{COLLECTION}/{id_of(await create_engine(client))}")


@_asks("reembedReasoningEngine")
async def _reembed(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.post(f"{ENGINE_URL}:reembed")


@_asks("batchCreateMemories")
async def _batch_create(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    body = {"requests": [{"memory": {"fact": TEA, "scope": USER}}]}
    return await client.post("/memories:batchCreate", json=body)


@_asks("importMemories")
async def _import(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    line = json.dumps({"fact": TEA, "scope": USER})
    headers = {"content-type": "application/x-ndjson"}
    return await client.post("/memories:import", content=line, headers=headers)


@_asks("cancelOperation")
async def _cancel_operation(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.post(f"{await start(client, given(TEA))}:cancel")


@_asks("deleteOperation")
async def _delete_operation(client: httpx.AsyncClient, runner: Runner) -> httpx.Response:
    path = await start(client, given(TEA))
    await runner.run_pending()
    return await client.delete(path)


@_asks("undoOperation")
async def _undo_operation(client: httpx.AsyncClient, runner: Runner) -> httpx.Response:
    path = await start(client, given(TEA))
    await runner.run_pending()
    return await client.post(f"{path}:undo")


@_asks("createMemory")
async def _create_memory(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.post("/memories", json={"fact": TEA, "scope": USER})


@_asks("updateMemory")
async def _update_memory(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.patch(await _memory(client), json={"fact": "I like coffee."})


@_asks("deleteMemory")
async def _delete_memory(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.delete(await _memory(client))


@_asks("undeleteMemory")
async def _undelete_memory(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    path = await _memory(client)
    ok(await client.delete(path))
    return await client.post(f"{path}:undelete")


@_asks("rollbackMemory")
async def _rollback_memory(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    path = await _memory(client)
    target = id_of((await history(client, path))[0])
    return await client.post(f"{path}:rollback", json={"targetRevisionId": target})


@_asks("generateMemories")
async def _generate_memories(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.post("/memories:generate", json={"scope": USER, **given(TEA)})


@_asks("ingestEvents")
async def _ingest_events(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    body = {"scope": USER, "directContentsSource": {"events": [ingested(TEA)]}}
    return await client.post("/memories:ingestEvents", json=body)


@_asks("flushStream")
async def _flush_stream(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    ok(await client.post("/memories:ingestEvents", json={"scope": USER}))
    return await client.post("/streams:flush", json={"scope": USER})


@_asks("purgeMemories")
async def _purge_memories(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    await _memory(client)
    return await client.post("/memories:purge", json={"filter": "fact:tea", "force": True})


@_asks("eraseScope")
async def _erase_scope(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.post(f"{ENGINE_URL}:eraseScope", json={"scope": {"user_id": "7"}})


@_asks("scanPrivacy")
async def _scan_privacy(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.post(f"{ENGINE_URL}:scanPrivacy", json={"action": "MASK"})


@_asks("createSession")
async def _create_session(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.post("/sessions", json={"userId": "42"})


@_asks("updateSession")
async def _update_session(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.patch(await new_path(client), json={"displayName": "d"})


@_asks("deleteSession")
async def _delete_session(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.delete(await new_path(client))


@_asks("appendEvent")
async def _append_event(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.post(f"{await new_path(client)}:appendEvent", json=event())


@_asks("createExchange")
async def _create_exchange(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    body = {"input": TEA, "output": "Noted."}
    return await client.post(f"{await new_path(client)}/exchanges", json=body)


@_asks("batchAppendEvents")
async def _batch_append(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    body = {"events": [event(), event()]}
    return await client.post(f"{await new_path(client)}/events:batch", json=body)


@_asks("deleteEvent")
async def _delete_event(client: httpx.AsyncClient, runner: Runner) -> httpx.Response:
    made = ok(await _create_exchange(client, runner))
    return await client.delete(path_of(made["events"][0]["name"]))


@_asks("clearSession")
async def _clear_session(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.post(f"{await new_path(client)}:clear")


@_asks("regenerateSummary")
async def _regenerate_summary(client: httpx.AsyncClient, runner: Runner) -> httpx.Response:
    path = await new_path(client, memoryPolicy={"strategy": "every_n", "every": 1})
    ok(await client.post(f"{path}/exchanges", json={"input": TEA, "output": "Noted."}))
    await runner.run_pending()
    (summary,) = ok(await client.get(f"{path}/summaries"))["summaries"]
    return await client.post(f"{path_of(summary['name'])}:regenerate")


@_asks("processOutput")
async def _process_output(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await process(client, text_output(TEA), offPrompt=True)


@_asks("storeArtifacts")
async def _store_artifacts(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await store(client, text_output(TEA, name="a"))


@_asks("uploadArtifact")
async def _upload_artifact(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await upload(client, TEA.encode())


@_asks("queryNamespace")
async def _query_namespace(client: httpx.AsyncClient, runner: Runner) -> httpx.Response:
    await _store_artifacts(client, runner)
    return await client.post(f"{NAMESPACE}:query", json={"query": "Tea?"})


@_asks("summarizeNamespace")
async def _summarize_namespace(client: httpx.AsyncClient, runner: Runner) -> httpx.Response:
    await _store_artifacts(client, runner)
    return await client.post(f"{NAMESPACE}:summarize", json={"offPrompt": True})


@_asks("updateNamespace")
async def _update_namespace(client: httpx.AsyncClient, runner: Runner) -> httpx.Response:
    await _store_artifacts(client, runner)
    return await client.patch(NAMESPACE, json={"sensitive": True})


@_asks("deleteNamespace")
async def _delete_namespace(client: httpx.AsyncClient, runner: Runner) -> httpx.Response:
    await _store_artifacts(client, runner)
    return await client.delete(NAMESPACE)


@_asks("deleteArtifact")
async def _delete_artifact(client: httpx.AsyncClient, runner: Runner) -> httpx.Response:
    await _store_artifacts(client, runner)
    return await client.delete(ARTIFACT)


@_asks("deleteTaskMemory")
async def _delete_task_memory(client: httpx.AsyncClient, runner: Runner) -> httpx.Response:
    await _store_artifacts(client, runner)
    return await client.delete(TASK_MEMORY)


@_asks("updateToolPolicy")
async def _update_tool_policy(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.put(f"{TASK_MEMORY}/toolPolicies/web", json={"offPrompt": True})


@_asks("deleteToolPolicy")
async def _delete_tool_policy(client: httpx.AsyncClient, runner: Runner) -> httpx.Response:
    await _update_tool_policy(client, runner)
    return await client.delete(f"{TASK_MEMORY}/toolPolicies/web")


@_asks("restoreReasoningEngine")
async def _restore_engine(client: httpx.AsyncClient, _: Runner) -> httpx.Response:
    return await client.post(f"{ENGINE_URL}:restore", content=zipped(archive_of(1)), headers=GZIP)


def test_every_change_is_asked_for(app: FastAPI) -> None:
    """A method that changes something fails this until it has a request above."""
    served = {route.method for route in app.state.routes if isinstance(route, AdmittedRoute)}
    changes = {name for name, demand in demands().items() if demand.is_change}
    assert changes <= served
    assert changes - UNSERVED - ELSEWHERE == _ASKED.keys()


@pytest.mark.parametrize("method", _ASKED)
async def test_a_change_leaves_one_event(
    client: httpx.AsyncClient, runner: Runner, database: Database, method: str
) -> None:
    answer = await _ASKED[method](client, runner)
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
