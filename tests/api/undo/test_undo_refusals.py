"""What cannot be undone, and what is said then: issue, section 6."""

from datetime import timedelta

import httpx

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.platform.operations.services.runner import Runner
from app.platform.upkeep.service import UpkeepService
from tests.support import generation
from tests.support.bank import (
    ENGINE,
    ENGINE_URL,
    GONE,
    TAKEN,
    configure,
    field_of,
    history,
    id_of,
    listed,
    ok,
    refusal,
)
from tests.support.engines import create_engine
from tests.support.operations import USER, create_memory, path_of
from tests.support.queue import stored
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.undo import ask, undo

TEA = "I like tea."
PRECONDITION = (400, "FAILED_PRECONDITION")
DAY = timedelta(days=1)


async def _why(client: httpx.AsyncClient, operation: str) -> str:
    """Return what is said of an operation that left nothing to undo, after its name."""
    answer = await ask(client, operation)
    assert refusal(answer) == PRECONDITION, answer.text
    error = answer.json()["error"]
    assert error["details"][0]["reason"] == Reason.NOTHING_TO_UNDO
    message: str = error["message"]
    assert message.startswith(operation)
    return message.removeprefix(operation).strip()


async def test_what_has_not_ended_cannot_be_undone(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await generation.start(client, generation.given(TEA))
    answer = await ask(client, ENGINE + path)
    assert refusal(answer) == PRECONDITION
    assert answer.json()["error"]["details"][0]["reason"] == Reason.OPERATION_RUNNING
    await runner.run_pending()
    ok(await ask(client, ENGINE + path))


async def test_an_unknown_operation_is_not_found(client: httpx.AsyncClient) -> None:
    for name in ("1", "176847840000012345", "x", "%20"):
        assert refusal(await ask(client, f"{ENGINE}/operations/{name}")) == GONE
    memory = ok(await client.post("/memories", json={"fact": "x", "scope": USER}))
    elsewhere = memory["name"].replace("projects/default", "projects/other")
    assert refusal(await client.post(f"http://test/v1/{elsewhere}:undo")) == GONE
    other = await create_engine(client)
    url = f"http://test/v1/{other['name']}/operations/{id_of(memory)}:undo"
    assert refusal(await client.post(url)) == GONE


async def test_what_changed_no_memory_has_nothing_to_undo(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await create_memory(client, TEA)
    counted = ok(await client.post("/memories:purge", json={"filter": 'fact=~".*"'}))
    empty = await generation.run(client, runner, generation.said("Hello!"))
    dry = await generation.run(client, runner, generation.given("I am 40."), validateOnly=True)
    engine = ok(await client.patch(ENGINE_URL, json={"displayName": "x"}))
    for operation in (counted, empty, dry, engine):
        said = await _why(client, operation["name"])
        assert said == "changed no memory, or its revisions are no longer kept."


async def test_what_failed_or_was_cancelled_did_nothing(
    client: httpx.AsyncClient, runner: Runner, embedder: ScriptedEmbedder
) -> None:
    cancelled = await generation.start(client, generation.given(TEA))
    ok(await client.post(f"{cancelled}:cancel"))
    assert await _why(client, ENGINE + cancelled) == "was cancelled before it changed anything."
    failed = await generation.start(client, generation.given(TEA))
    embedder.failure = RuntimeError("broken")
    await runner.run_pending()
    assert await _why(client, ENGINE + failed) == "failed, so it changed nothing."


async def test_what_kept_no_revisions_cannot_be_undone(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    kept = path_of((await create_memory(client, TEA))["name"])
    body = {"description": "d", "disableMemoryRevisions": True}
    operations = [ok(await client.patch(kept, json=body))]
    fields = {"disableMemoryRevisions": True}
    operations.append(await generation.run(client, runner, generation.given("I am 40."), **fields))
    await configure(client, disableMemoryRevisions=True)
    operations.append(ok(await client.post("/memories", json={"fact": "x", "scope": USER})))
    purge = {"filter": 'fact=~".*"', "force": True}
    operations.append(ok(await client.post("/memories:purge", json=purge)))
    for operation in operations:
        said = await _why(client, operation["name"])
        assert said == "kept no revisions, so its changes are not known."


async def test_what_was_erased_cannot_be_undone(client: httpx.AsyncClient) -> None:
    path = path_of((await create_memory(client, TEA))["name"])
    await create_memory(client, "I am 40.")
    erased = ok(await client.delete(path, params={"permanent": True}))
    purge = {"filter": 'fact=~".*"', "force": True, "permanent": True}
    purged = ok(await client.post("/memories:purge", json=purge))
    for operation in (erased, purged):
        said = await _why(client, operation["name"])
        assert said == "erased memories for good, so they cannot be restored."


async def test_what_was_swept_away_leaves_nothing_to_undo(
    client: httpx.AsyncClient, clock: FixedClock, resources: Resources
) -> None:
    path = path_of((await create_memory(client, TEA))["name"])
    deleted = ok(await client.delete(path))
    clock.advance(2 * DAY)
    await UpkeepService(resources).sweep()
    said = await _why(client, deleted["name"])
    assert said == "changed no memory, or its revisions are no longer kept."


async def test_it_can_be_undone_as_long_as_it_is_kept(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, resources: Resources
) -> None:
    path = path_of((await create_memory(client, TEA))["name"])
    first = ok(await client.patch(path, json={"fact": "x"}))["name"]
    clock.advance(7 * DAY - timedelta(seconds=1))
    await UpkeepService(resources).sweep()
    await undo(client, runner, first)
    assert await listed(client) == [TEA]
    clock.advance(timedelta(seconds=1))
    await UpkeepService(resources).sweep()
    assert refusal(await ask(client, first)) == GONE


async def test_an_operation_of_an_engine_that_is_gone_is_not_found(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    memory = ok(await client.post("/memories", json={"fact": TEA, "scope": USER}))
    queued = ok(await ask(client, memory["name"]))
    ok(await client.delete(ENGINE_URL, params={"force": True}))
    assert refusal(await ask(client, memory["name"])) == GONE
    await runner.run_pending()
    found = ok(await client.get(path_of(queued["name"])))
    assert found["error"]["code"] == 5


async def test_fields_are_checked(client: httpx.AsyncClient) -> None:
    name = ok(await client.post("/memories", json={"fact": TEA, "scope": USER}))["name"]
    for body, field in (
        ({"revisionLabels": {"a": 1}}, "revisionLabels.a"),
        ({"revision_labels": {"": "x"}}, "revisionLabels"),
        ({"validateOnly": "maybe"}, "validateOnly"),
        ({"force": True}, "force"),
        ({"operation": "1"}, "operation"),
    ):
        answer = await client.post(f"{path_of(name)}:undo", json=body)
        assert (body, field_of(answer)) == (body, field)
    assert refusal(await client.get(f"{path_of(name)}:undo"))[0] in {404, 405}


async def test_a_request_id_undoes_once(client: httpx.AsyncClient, runner: Runner) -> None:
    path = path_of((await create_memory(client, TEA))["name"])
    updated = ok(await client.patch(path, json={"fact": "x"}))
    url, once = f"{path_of(updated['name'])}:undo", {"requestId": "once"}
    first = ok(await client.post(url, params=once))
    assert ok(await client.post(url, params=once)) == first
    await runner.run_pending()
    assert ok(await client.post(url, params=once))["done"]
    assert len(await history(client, path)) == 3
    other = await client.post(url, params=once, json={"validateOnly": True})
    assert refusal(other) == TAKEN


async def test_no_text_is_kept_in_the_operation(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    path = path_of((await create_memory(client, TEA))["name"])
    deleted = ok(await client.delete(path))
    done = await undo(client, runner, deleted["name"])
    row = await stored(database, id_of(done))
    assert row.request is None
    assert TEA not in f"{row.response} {row.details}"
