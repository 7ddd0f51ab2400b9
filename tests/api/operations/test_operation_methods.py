"""Reading, listing, waiting, cancelling, deleting. Source: wire specification, sections 3 and 4."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.platform.operations.services.runner import Runner
from app.platform.operations.store import leases
from app.settings.settings import Settings
from tests.support.cases import in_one_test
from tests.support.engines import API, FIRST, LOCATION, NOW
from tests.support.errors import BAD_FIELD, NOT_FOUND, refusal, violations
from tests.support.operations import USER, asked, create_memory, path_of
from tests.support.queue import claim

_TYPES = "type.googleapis.com/google.cloud.aiplatform.v1beta1."
_LEASE = timedelta(minutes=1)


async def _generate(client: httpx.AsyncClient, fact: str = "I live in Paris.") -> dict[str, Any]:
    """Queue a generation and return its operation."""
    source = {"directMemories": [{"fact": fact}]}
    body = {"scope": USER, "directMemoriesSource": source}
    answer = await client.post("/memories:generate", json=body)
    assert answer.status_code == 200, answer.text
    operation: dict[str, Any] = answer.json()
    return operation


async def _get(client: httpx.AsyncClient, operation: dict[str, Any]) -> dict[str, Any]:
    answer = await client.get(path_of(operation["name"]))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_an_operation_is_the_same_before_and_after_its_work(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    queued = await _generate(client)
    assert queued == {
        "name": queued["name"],
        "metadata": {
            "@type": _TYPES + "GenerateMemoriesOperationMetadata",
            "author": "builtin-rules/3",
            "modelCallCount": 0,
            "inputTokenCount": 0,
            "outputTokenCount": 0,
            "modelMilliseconds": 0,
            "genericMetadata": {"createTime": NOW, "updateTime": NOW},
            **asked("generation.generate", queued, state="PENDING"),
            "source": {"directMemories": 1},
            "scope": USER,
        },
        "done": False,
    }
    assert queued["name"].startswith(f"{LOCATION}/reasoningEngines/1/operations/")
    assert await _get(client, queued) == queued
    clock.advance(timedelta(seconds=90))
    await runner.run_pending()
    done = await _get(client, queued)
    (generated,) = done["response"]["generatedMemories"]
    times = {"createTime": NOW, "updateTime": "2026-01-15T12:01:30Z"}
    assert done["metadata"]["@type"] == queued["metadata"]["@type"]
    assert done["metadata"]["genericMetadata"] == times
    ran = asked("generation.generate", queued, attemptCount=1)
    assert {key: done["metadata"][key] for key in ran} == ran
    assert done["metadata"]["startTime"] == times["updateTime"]
    assert done["done"] is True
    assert done["response"]["@type"] == _TYPES + "GenerateMemoriesResponse"
    assert generated["action"] == "CREATED"
    assert "error" not in done


@pytest.mark.parametrize("child", ["memories/1", "memories/any-one", "sessions/s"])
async def test_an_operation_is_found_under_the_resource_it_concerns(
    client: httpx.AsyncClient, child: str
) -> None:
    operation = await _generate(client)
    identity = operation["name"].rpartition("/")[2]
    url = f"{FIRST}/{child}/operations/{identity}"
    assert (await client.get(url)).json() == operation
    assert (await client.post(f"{url}:wait", params={"timeout": "0s"})).json() == operation
    assert (await client.post(f"{url}:cancel")).json() == {}
    assert (await client.delete(url)).json() == {}
    assert refusal(await client.get(url)) == NOT_FOUND


async def test_an_operation_of_another_engine_project_or_location_is_not_found(
    client: httpx.AsyncClient,
) -> None:
    identity = (await _generate(client))["name"].rpartition("/")[2]
    for parent in (
        "projects/other/locations/local/reasoningEngines/1",
        "projects/default/locations/other/reasoningEngines/1",
        f"{LOCATION}/reasoningEngines/2",
    ):
        url = f"{API}/{parent}/operations/{identity}"
        for answer in (
            await client.get(url),
            await client.post(f"{url}:wait"),
            await client.post(f"{url}:cancel"),
            await client.delete(url),
            await client.get(f"{API}/{parent}/operations"),
        ):
            assert refusal(answer) == NOT_FOUND
    assert (await client.get(f"http://test/v1/memoryBanks/1/operations/{identity}")).json()


@in_one_test("identity", ["1", "x" * 63, "A", "a" * 500, "%2E%2E"])
async def test_an_operation_that_cannot_be_is_not_found(
    client: httpx.AsyncClient, identity: str
) -> None:
    assert refusal(await client.get(f"/operations/{identity}")) == NOT_FOUND


async def test_operations_are_listed_newest_first_in_pages(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    made = []
    for number in range(5):
        clock.advance(timedelta(seconds=1))
        made.append((await _generate(client, f"I have {number} cats."))["name"])
    found: list[str] = []
    params: dict[str, str | int] = {"pageSize": 2}
    while True:
        page = (await client.get("/operations", params=params)).json()
        found += [operation["name"] for operation in page["operations"]]
        if "nextPageToken" not in page:
            break
        params["pageToken"] = page["nextPageToken"]
    assert found == list(reversed(made))


async def test_the_operations_of_a_deleted_engine_are_listed_while_they_last(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    operation = (await client.delete(FIRST)).json()
    await runner.run_pending()
    listed = (await client.get("/operations")).json()["operations"]
    assert [found["name"] for found in listed] == [operation["name"]]
    assert listed[0]["done"] is True


async def test_a_list_holds_no_text_of_memories(client: httpx.AsyncClient) -> None:
    memory = await create_memory(client, "I like tea.")
    answer = await client.get("/operations")
    (operation,) = answer.json()["operations"]
    assert operation["response"]["name"] == memory["name"]
    assert "tea" not in answer.text


async def test_waiting_for_a_done_operation_answers_at_once(client: httpx.AsyncClient) -> None:
    await create_memory(client, "I like tea.")
    (operation,) = (await client.get("/operations")).json()["operations"]
    answer = await client.post(f"{path_of(operation['name'])}:wait", json={})
    assert answer.json() == await _get(client, operation)
    assert answer.json()["response"]["fact"] == "I like tea."


async def test_waiting_ends_with_the_work(client: httpx.AsyncClient, runner: Runner) -> None:
    operation = await _generate(client)
    path = f"{path_of(operation['name'])}:wait"
    waiting = asyncio.create_task(client.post(path, params={"timeout": "20s"}))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await runner.run_pending()
    assert (await waiting).json()["done"] is True


@pytest.mark.parametrize("longest", ["0s", "0.05s", "-1s"])
async def test_waiting_is_over_when_its_time_is(client: httpx.AsyncClient, longest: str) -> None:
    operation = await _generate(client)
    path = f"{path_of(operation['name'])}:wait"
    assert (await client.post(path, params={"timeout": longest})).json() == operation


async def test_the_time_to_wait_must_be_a_duration(client: httpx.AsyncClient) -> None:
    operation = await _generate(client)
    path = f"{path_of(operation['name'])}:wait"
    answer = await client.post(path, params={"timeout": "10"})
    assert refusal(answer) == BAD_FIELD
    assert list(violations(answer)) == ["timeout"]


async def test_a_waiting_operation_is_cancelled_at_once(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    operation = await _generate(client)
    clock.advance(timedelta(seconds=5))
    assert (await client.post(f"{path_of(operation['name'])}:cancel")).json() == {}
    cancelled = await _get(client, operation)
    assert cancelled["done"] is True
    assert "response" not in cancelled
    assert cancelled["error"]["code"] == 1
    assert cancelled["error"]["details"][0]["reason"] == Reason.OPERATION_CANCELLED
    times = {"createTime": NOW, "updateTime": "2026-01-15T12:00:05Z"}
    assert cancelled["metadata"]["genericMetadata"] == times
    assert await runner.run_pending() == 0
    assert (await client.get("/memories")).json() == {"memories": []}


async def test_a_running_operation_stops_at_its_next_step(
    client: httpx.AsyncClient, runner: Runner, database: Database, clock: FixedClock
) -> None:
    operation = await _generate(client)
    claimed = await claim(database, clock, _LEASE)
    assert claimed is not None
    assert (await client.post(f"{path_of(operation['name'])}:cancel")).json() == {}
    assert (await _get(client, operation))["done"] is False
    async with database.transaction() as session:
        await leases.release(session, claimed.owned, (clock.now(), timedelta(days=1)))
    await runner.run_pending()
    assert (await _get(client, operation))["error"]["code"] == 1
    assert (await client.get("/memories")).json() == {"memories": []}


async def test_cancelling_what_is_done_changes_nothing(client: httpx.AsyncClient) -> None:
    await create_memory(client, "I like tea.")
    (listed,) = (await client.get("/operations")).json()["operations"]
    before = await _get(client, listed)
    assert (await client.post(f"{path_of(listed['name'])}:cancel", json={})).json() == {}
    assert await _get(client, listed) == before


async def test_the_removal_of_an_engine_is_not_cancelled(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    """Its engine is hidden already: what it held would stay for ever."""
    operation = (await client.delete(FIRST)).json()
    assert (await client.post(f"{path_of(operation['name'])}:cancel")).json() == {}
    await runner.run_pending()
    assert "response" in await _get(client, operation)


async def test_an_operation_that_has_not_ended_is_not_deleted(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    operation = await _generate(client)
    expected = (400, "FAILED_PRECONDITION", Reason.OPERATION_RUNNING)
    assert refusal(await client.delete(path_of(operation["name"]))) == expected
    assert await claim(database, clock, _LEASE) is not None
    assert refusal(await client.delete(path_of(operation["name"]))) == expected
    assert await _get(client, operation)


async def test_deleting_an_operation_keeps_what_it_did(client: httpx.AsyncClient) -> None:
    memory = await create_memory(client, "I like tea.")
    (operation,) = (await client.get("/operations")).json()["operations"]
    assert (await client.delete(path_of(operation["name"]))).json() == {}
    assert refusal(await client.get(path_of(operation["name"]))) == NOT_FOUND
    assert (await client.get(path_of(memory["name"]))).json() == memory


async def test_an_operation_is_gone_when_its_time_has_passed(
    client: httpx.AsyncClient, clock: FixedClock, settings: Settings
) -> None:
    """Whether a sweep has come by or not."""
    body = {"fact": "I like tea.", "scope": USER}
    made = await client.post("/memories", json=body, params={"requestId": "r"})
    waiting = await _generate(client)
    path = path_of(made.json()["name"])
    clock.advance(settings.operation_retention - timedelta(seconds=1))
    assert (await client.get(path)).status_code == 200
    clock.advance(timedelta(seconds=1))
    for answer in (
        await client.get(path),
        await client.post(f"{path}:wait"),
        await client.post(f"{path}:cancel"),
        await client.post(f"{path}:undo"),
        await client.delete(path),
    ):
        assert refusal(answer) == NOT_FOUND
    # What has not ended stays.
    assert (await client.get("/operations")).json() == {"operations": [waiting]}


async def test_a_request_that_is_repeated_too_late_finds_no_operation(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    """A preview goes sooner than the request id that asked for it."""
    source = {"directMemories": [{"fact": "I live in Paris."}]}
    body = {"scope": USER, "directMemoriesSource": source, "validateOnly": True}

    async def ask() -> httpx.Response:
        return await client.post("/memories:generate", json=body, params={"requestId": "r"})

    first = (await ask()).json()
    await runner.run_pending()
    assert (await ask()).json()["name"] == first["name"]
    clock.advance(timedelta(hours=1))
    assert refusal(await ask()) == NOT_FOUND


async def test_cancel_and_delete_are_done_once_for_a_request_id(client: httpx.AsyncClient) -> None:
    path = path_of((await _generate(client))["name"])
    for _ in range(2):
        answer = await client.post(f"{path}:cancel", params={"requestId": "c"})
        assert (answer.status_code, answer.json()) == (200, {})
    for _ in range(2):
        answer = await client.delete(path, params={"requestId": "d"})
        assert (answer.status_code, answer.json()) == (200, {})
    assert refusal(await client.delete(path)) == NOT_FOUND
    assert (await client.delete(path, params={"requestId": "c"})).status_code == 409


async def test_a_request_is_not_done_again_because_its_operation_was_deleted(
    client: httpx.AsyncClient,
) -> None:
    body = {"fact": "I like tea.", "scope": USER}
    first = (await client.post("/memories", params={"requestId": "r"}, json=body)).json()
    assert (await client.delete(path_of(first["name"]))).status_code == 200
    again = await client.post("/memories", params={"requestId": "r"}, json=body)
    assert refusal(again) == NOT_FOUND
    assert again.json()["error"]["message"] == (
        f"requestId: this request was done before; its operation {first['name']} is no longer kept."
    )
    assert len((await client.get("/memories")).json()["memories"]) == 1


async def test_an_ingestion_is_not_done_again_either(client: httpx.AsyncClient) -> None:
    ask: dict[str, Any] = {"params": {"requestId": "r"}, "json": {"scope": USER}}
    first = (await client.post("/memories:ingestEvents", **ask)).json()
    assert first["done"]
    # Nothing waited: it tells all the same who would have written, and that it cost nothing.
    assert first["metadata"]["author"] == "builtin-rules/3"
    assert first["metadata"]["modelCallCount"] == 0
    assert (await client.delete(path_of(first["name"]))).status_code == 200
    again = await client.post("/memories:ingestEvents", **ask)
    assert refusal(again) == NOT_FOUND
    assert first["name"] in again.json()["error"]["message"]


async def test_a_failed_operation_says_why(client: httpx.AsyncClient, runner: Runner) -> None:
    """Its engine is deleted before the work is done."""
    operation = await _generate(client)
    await client.delete(FIRST)
    await runner.run_pending()
    failed = await _get(client, operation)
    assert failed["done"] is True
    assert "response" not in failed
    error = failed["error"]
    assert (error["code"], error["details"][0]["reason"]) == (5, Reason.RESOURCE_NOT_FOUND)
    assert "reasoningEngines/1 does not exist" in error["message"]


async def test_operations_of_an_engine_that_never_was_are_not_found(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    assert (await client.get(f"{FIRST}/operations")).json() == {"operations": []}
    for url in (f"{FIRST}7", f"{API}/projects/other/locations/local/reasoningEngines/1"):
        assert refusal(await client.get(f"{url}/operations")) == NOT_FOUND
    deleted = (await client.delete(FIRST)).json()
    await runner.run_pending()
    (found,) = (await client.get(f"{FIRST}/operations")).json()["operations"]
    assert found["name"] == deleted["name"]
    await client.delete(f"{API}/{deleted['name']}")
    assert refusal(await client.get(f"{FIRST}/operations")) == NOT_FOUND
