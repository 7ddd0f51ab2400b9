"""A request for each method that changes something, and what must exist before."""

import json
from collections.abc import Awaitable, Callable

import httpx

from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE_URL, history, id_of, ok
from tests.support.engines import COLLECTION, create_engine
from tests.support.generation import given, start
from tests.support.ingestion import event as ingested
from tests.support.operations import USER, create_memory, path_of
from tests.support.restores import GZIP, archive_of, zipped
from tests.support.sessions import event, new_path
from tests.support.tasks import ARTIFACT, NAMESPACE, text_output
from tests.support.tasks import MEMORY as TASK_MEMORY

TEA = "I like tea."
UNSERVED = {"compactSession"}
"""Refused for every caller, so they change nothing."""
ELSEWHERE = {"exportNamespace", "loadFiles", "retryOperation"}
"""Need folders and a model that fails: see test_exports.py, test_loads.py, and test_retry.py."""
_KEYS = "http://test/v1/keys"
_BYTES = {"Content-Type": "application/octet-stream"}
_KEY = {"displayName": "an agent's", "roles": ["viewer"]}

_Prepare = Callable[[httpx.AsyncClient, Runner], Awaitable[httpx.Request]]
CHANGES: dict[str, _Prepare] = {}
"""For each method, the function that prepares its request: what it needs exists then."""


def _changes(method: str) -> Callable[[_Prepare], _Prepare]:
    def note(prepare: _Prepare) -> _Prepare:
        CHANGES[method] = prepare
        return prepare

    return note


async def _key(client: httpx.AsyncClient) -> str:
    return id_of(ok(await client.post(_KEYS, json=_KEY)))


async def _memory(client: httpx.AsyncClient) -> str:
    return path_of((await create_memory(client, TEA))["name"])


@_changes("createKey")
async def _create_key(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("POST", _KEYS, json=_KEY)


@_changes("revokeKey")
async def _revoke_key(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("POST", f"{_KEYS}/{await _key(client)}:revoke")


@_changes("rotateKey")
async def _rotate_key(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("POST", f"{_KEYS}/{await _key(client)}:rotate")


@_changes("createReasoningEngine")
async def _create_reasoning_engine(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("POST", COLLECTION, json={"displayName": "d"})


@_changes("updateReasoningEngine")
async def _update_reasoning_engine(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("PATCH", ENGINE_URL, json={"displayName": "d"})


@_changes("deleteReasoningEngine")
async def _delete_reasoning_engine(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("DELETE", f"{COLLECTION}/{id_of(await create_engine(client))}")


@_changes("reembedReasoningEngine")
async def _reembed(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("POST", f"{ENGINE_URL}:reembed")


@_changes("batchCreateMemories")
async def _batch_create(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    body = {"requests": [{"memory": {"fact": TEA, "scope": USER}}]}
    return client.build_request("POST", "/memories:batchCreate", json=body)


@_changes("importMemories")
async def _import(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    line = json.dumps({"fact": TEA, "scope": USER})
    headers = {"content-type": "application/x-ndjson"}
    return client.build_request("POST", "/memories:import", content=line, headers=headers)


@_changes("batchRetryOperations")
async def _batch_retry_operations(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("POST", "/operations:batchRetry", json={})


@_changes("cancelOperation")
async def _cancel_operation(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("POST", f"{await start(client, given(TEA))}:cancel")


@_changes("deleteOperation")
async def _delete_operation(client: httpx.AsyncClient, runner: Runner) -> httpx.Request:
    path = await start(client, given(TEA))
    await runner.run_pending()
    return client.build_request("DELETE", path)


@_changes("undoOperation")
async def _undo_operation(client: httpx.AsyncClient, runner: Runner) -> httpx.Request:
    path = await start(client, given(TEA))
    await runner.run_pending()
    return client.build_request("POST", f"{path}:undo")


@_changes("createMemory")
async def _create_memory(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("POST", "/memories", json={"fact": TEA, "scope": USER})


@_changes("updateMemory")
async def _update_memory(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("PATCH", await _memory(client), json={"fact": "I like coffee."})


@_changes("deleteMemory")
async def _delete_memory(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("DELETE", await _memory(client))


@_changes("undeleteMemory")
async def _undelete_memory(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    path = await _memory(client)
    ok(await client.delete(path))
    return client.build_request("POST", f"{path}:undelete")


@_changes("rollbackMemory")
async def _rollback_memory(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    path = await _memory(client)
    target = id_of((await history(client, path))[0])
    return client.build_request("POST", f"{path}:rollback", json={"targetRevisionId": target})


@_changes("generateMemories")
async def _generate_memories(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("POST", "/memories:generate", json={"scope": USER, **given(TEA)})


@_changes("ingestEvents")
async def _ingest_events(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    body = {"scope": USER, "directContentsSource": {"events": [ingested(TEA)]}}
    return client.build_request("POST", "/memories:ingestEvents", json=body)


@_changes("flushStream")
async def _flush_stream(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    ok(await client.post("/memories:ingestEvents", json={"scope": USER}))
    return client.build_request("POST", "/streams:flush", json={"scope": USER})


@_changes("purgeMemories")
async def _purge_memories(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    await _memory(client)
    return client.build_request(
        "POST", "/memories:purge", json={"filter": "fact:tea", "force": True}
    )


@_changes("eraseScope")
async def _erase_scope(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request(
        "POST", f"{ENGINE_URL}:eraseScope", json={"scope": {"user_id": "7"}}
    )


@_changes("scanPrivacy")
async def _scan_privacy(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("POST", f"{ENGINE_URL}:scanPrivacy", json={"action": "MASK"})


@_changes("createSession")
async def _create_session(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("POST", "/sessions", json={"userId": "42"})


@_changes("updateSession")
async def _update_session(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("PATCH", await new_path(client), json={"displayName": "d"})


@_changes("deleteSession")
async def _delete_session(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("DELETE", await new_path(client))


@_changes("appendEvent")
async def _append_event(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("POST", f"{await new_path(client)}:appendEvent", json=event())


@_changes("createExchange")
async def _create_exchange(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    body = {"input": TEA, "output": "Noted."}
    return client.build_request("POST", f"{await new_path(client)}/exchanges", json=body)


@_changes("batchAppendEvents")
async def _batch_append(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    body = {"events": [event(), event()]}
    return client.build_request("POST", f"{await new_path(client)}/events:batch", json=body)


@_changes("deleteEvent")
async def _delete_event(client: httpx.AsyncClient, runner: Runner) -> httpx.Request:
    made = ok(await client.send(await _create_exchange(client, runner)))
    return client.build_request("DELETE", path_of(made["events"][0]["name"]))


@_changes("clearSession")
async def _clear_session(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("POST", f"{await new_path(client)}:clear")


@_changes("regenerateSummary")
async def _regenerate_summary(client: httpx.AsyncClient, runner: Runner) -> httpx.Request:
    path = await new_path(client, memoryPolicy={"strategy": "every_n", "every": 1})
    ok(await client.post(f"{path}/exchanges", json={"input": TEA, "output": "Noted."}))
    await runner.run_pending()
    (summary,) = ok(await client.get(f"{path}/summaries"))["summaries"]
    return client.build_request("POST", f"{path_of(summary['name'])}:regenerate")


@_changes("processOutput")
async def _process_output(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    body = {"tool": "web", "activity": "fetch", "output": text_output(TEA), "offPrompt": True}
    return client.build_request("POST", f"{TASK_MEMORY}:processOutput", json=body)


@_changes("storeArtifacts")
async def _store_artifacts(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    body = {"artifacts": [text_output(TEA, name="a")]}
    return client.build_request("POST", f"{NAMESPACE}:store", json=body)


@_changes("uploadArtifact")
async def _upload_artifact(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("PUT", ARTIFACT, content=TEA.encode(), headers=_BYTES)


@_changes("queryNamespace")
async def _query_namespace(client: httpx.AsyncClient, runner: Runner) -> httpx.Request:
    ok(await client.send(await _store_artifacts(client, runner)))
    return client.build_request("POST", f"{NAMESPACE}:query", json={"query": "Tea?"})


@_changes("summarizeNamespace")
async def _summarize_namespace(client: httpx.AsyncClient, runner: Runner) -> httpx.Request:
    ok(await client.send(await _store_artifacts(client, runner)))
    return client.build_request("POST", f"{NAMESPACE}:summarize", json={"offPrompt": True})


@_changes("extractNamespace")
async def _extract_namespace(client: httpx.AsyncClient, runner: Runner) -> httpx.Request:
    ok(await client.send(await _store_artifacts(client, runner)))
    body = {"schema": {"type": "object", "properties": {"item": {}}}, "offPrompt": True}
    return client.build_request("POST", f"{NAMESPACE}:extract", json=body)


@_changes("updateNamespace")
async def _update_namespace(client: httpx.AsyncClient, runner: Runner) -> httpx.Request:
    ok(await client.send(await _store_artifacts(client, runner)))
    return client.build_request("PATCH", NAMESPACE, json={"sensitive": True})


@_changes("deleteNamespace")
async def _delete_namespace(client: httpx.AsyncClient, runner: Runner) -> httpx.Request:
    ok(await client.send(await _store_artifacts(client, runner)))
    return client.build_request("DELETE", NAMESPACE)


@_changes("deleteArtifact")
async def _delete_artifact(client: httpx.AsyncClient, runner: Runner) -> httpx.Request:
    ok(await client.send(await _store_artifacts(client, runner)))
    return client.build_request("DELETE", ARTIFACT)


@_changes("deleteTaskMemory")
async def _delete_task_memory(client: httpx.AsyncClient, runner: Runner) -> httpx.Request:
    ok(await client.send(await _store_artifacts(client, runner)))
    return client.build_request("DELETE", TASK_MEMORY)


@_changes("updateToolPolicy")
async def _update_tool_policy(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request("PUT", f"{TASK_MEMORY}/toolPolicies/web", json={"offPrompt": True})


@_changes("deleteToolPolicy")
async def _delete_tool_policy(client: httpx.AsyncClient, runner: Runner) -> httpx.Request:
    ok(await client.send(await _update_tool_policy(client, runner)))
    return client.build_request("DELETE", f"{TASK_MEMORY}/toolPolicies/web")


@_changes("restoreReasoningEngine")
async def _restore_engine(client: httpx.AsyncClient, _: Runner) -> httpx.Request:
    return client.build_request(
        "POST", f"{ENGINE_URL}:restore", content=zipped(archive_of(1)), headers=GZIP
    )
