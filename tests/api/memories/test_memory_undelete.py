"""`:undelete` brings a deleted memory back as it was: AIP-164."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.memory.memories.store.tables import (
    MemoryRow,
    MemoryVectorRow,
    RevisionRow,
    UnembeddedRow,
)
from app.platform.operations.services.runner import Runner
from app.platform.upkeep.service import UpkeepService
from app.settings.settings import Settings
from tests.support.bank import (
    GONE,
    STALE,
    TAKEN,
    Json,
    after,
    configure,
    count,
    field_of,
    history,
    id_of,
    listed,
    ok,
    refusal,
    retrieve,
    retrieved,
)
from tests.support.errors import refusal as refused
from tests.support.locks import until_waiting
from tests.support.operations import create_memory, path_of
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.undo import skipped, undo, undone

NOT_DELETED = (*TAKEN, Reason.NOT_DELETED)
FULL: dict[str, Any] = {
    "displayName": "dn",
    "description": "ds",
    "topics": [{"managedMemoryTopic": "USER_PREFERENCES"}],
    "metadata": {"source": {"stringValue": "a"}},
    "context": "cx",
    "structuredContent": {"data": {"a": 1}, "schemaId": "s"},
}


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """The settings, changed as a test's indirect parameter says."""
    return settings.model_copy(update=getattr(request, "param", {}))


async def _deleted(client: httpx.AsyncClient, fact: str, **fields: Any) -> str:
    path = path_of((await create_memory(client, fact, **fields))["name"])
    ok(await client.delete(path))
    return path


async def _undelete(client: httpx.AsyncClient, path: str, **body: Any) -> Json:
    return ok(await client.post(f"{path}:undelete", json=body))


async def test_a_deleted_memory_is_again_what_it_was(
    client: httpx.AsyncClient, clock: FixedClock, embedder: ScriptedEmbedder
) -> None:
    memory = await create_memory(client, "tea", **FULL)
    path = path_of(memory["name"])
    ok(await client.delete(path))
    clock.advance(timedelta(hours=48) - timedelta(seconds=1))
    operation = ok(await client.post(f"{path}:undelete"))
    found = ok(await client.get(path))
    assert found == {**memory, "etag": "3", "updateTime": after(clock)}
    types = "type.googleapis.com/google.cloud.aiplatform.v1beta1."
    assert operation["done"]
    assert operation["metadata"]["@type"] == types + "UndeleteMemoryOperationMetadata"
    assert operation["response"] == {"@type": types + "Memory", **found}
    assert ok(await client.get(path_of(operation["name"]))) == operation
    newest, deletion, first = await history(client, path)
    assert newest == {
        **first,
        "name": newest["name"],
        "createTime": after(clock),
        "expireTime": after(clock, days=365),
        "action": "UNDELETED",
        "operation": operation["name"],
    }
    assert deletion["action"] == "DELETED"
    assert await listed(client) == await retrieved(client) == ["tea"]
    embedder.place("q", near="tea", distance=0.25)
    (near,) = await retrieve(client, explain=True, similaritySearchParams={"searchQuery": "q"})
    assert round(near["explanation"]["vectorDistance"], 2) == 0.25
    # The window was that of the deletion: it does not end what came back.
    clock.advance(timedelta(days=30))
    assert await listed(client) == ["tea"]


async def test_without_any_revision_it_comes_back_in_its_last_state(
    client: httpx.AsyncClient,
) -> None:
    await configure(client, disableMemoryRevisions=True)
    path = path_of((await create_memory(client, "tea"))["name"])
    ok(await client.patch(path, json={"fact": "milk"}))
    ok(await client.delete(path))
    assert await history(client, path) == []
    operation = await _undelete(client, path)
    assert operation["metadata"]["revisionsDisabled"] is True
    assert operation["response"]["fact"] == "milk"
    assert await retrieved(client, similaritySearchParams={"searchQuery": "milk"}) == ["milk"]
    assert await history(client, path) == []


async def test_the_revision_has_the_labels_and_the_life_that_are_given(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = await _deleted(client, "tea")
    await _undelete(client, path, revisionLabels={"ticket": "1"}, revisionTtl="60s")
    newest = (await history(client, path))[0]
    assert (newest["labels"], newest["expireTime"]) == ({"ticket": "1"}, after(clock, seconds=60))
    found = await history(client, "/memories/-", filter='labels.ticket="1"')
    assert found == [newest]
    ok(await client.delete(path))
    operation = await _undelete(client, path, disableMemoryRevisions=True)
    assert operation["metadata"]["revisionsDisabled"] is True
    assert len(await history(client, path)) == 4


_BAD: list[tuple[Json, str]] = [
    ({"revisionLabels": {"": "x"}}, "revisionLabels"),
    ({"revisionTtl": "60s", "revisionExpireTime": "2027-01-01T00:00:00Z"}, "body"),
    ({"revisionTtl": "60s", "disableMemoryRevisions": True}, "body"),
    ({"revisionExpireTime": "2020-01-01T00:00:00Z"}, "revisionExpireTime"),
    ({"etag": "2"}, "etag"),
]


async def test_a_bad_request_changes_nothing(client: httpx.AsyncClient) -> None:
    path = await _deleted(client, "tea")
    for body, field in _BAD:
        assert field_of(await client.post(f"{path}:undelete", json=body)) == field
    assert await listed(client) == []


async def test_expiry_is_recomputed_as_for_an_update(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = await _deleted(client, "tea", ttl="1000s")
    clock.advance(timedelta(seconds=10))
    assert (await _undelete(client, path))["response"]["expireTime"] == after(clock, seconds=990)
    ok(await client.delete(path))
    await configure(client, ttlConfig={"defaultTtl": "77s"})
    assert (await _undelete(client, path))["response"]["expireTime"] == after(clock, seconds=77)
    ok(await client.delete(path))
    await configure(client)
    clock.advance(timedelta(hours=1))
    assert "expireTime" not in (await _undelete(client, path))["response"]


async def test_what_is_live_or_gone_or_another_version_is_told_apart(
    client: httpx.AsyncClient, clock: FixedClock, resources: Resources
) -> None:
    live = path_of((await create_memory(client, "tea"))["name"])
    headers = {"If-Match": "9"}
    for sent in ({}, headers):
        answer = await client.post(f"{live}:undelete", headers=sent)
        assert refused(answer) == NOT_DELETED
    path = await _deleted(client, "milk")
    assert refused(await client.post(f"{path}:undelete", headers=headers)) == (
        *STALE,
        Reason.ETAG_STALE,
    )
    ok(await client.post(f"{path}:undelete", headers={"If-Match": '"2"'}))
    erased, gone = await _deleted(client, "a"), await _deleted(client, "b")
    ok(await client.delete(erased, params={"permanent": True}))
    clock.advance(timedelta(hours=48))
    for missing in (erased, gone, "/memories/never"):
        assert refusal(await client.post(f"{missing}:undelete")) == GONE
    await UpkeepService(resources).sweep()
    assert refusal(await client.post(f"{gone}:undelete")) == GONE
    assert sorted(await listed(client)) == ["milk", "tea"]


async def test_a_repetition_has_the_first_answer(client: httpx.AsyncClient) -> None:
    path = await _deleted(client, "tea")
    once = {"requestId": "once"}
    first = ok(await client.post(f"{path}:undelete", params=once))
    again = await client.post(f"{path}:undelete", params=once)
    assert (ok(again), again.headers["Idempotent-Replayed"]) == (first, "true")
    answer = await client.post(f"{path}:undelete", params=once, json={"revisionTtl": "60s"})
    assert refused(answer) == (*TAKEN, Reason.REQUEST_ID_REUSED)


async def test_of_two_at_once_one_brings_it_back(client: httpx.AsyncClient) -> None:
    path = await _deleted(client, "tea")
    answers = await asyncio.gather(*(client.post(f"{path}:undelete") for _ in range(2)))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    late = next(answer for answer in answers if answer.status_code == 409)
    assert refused(late) == NOT_DELETED
    assert [one["action"] for one in await history(client, path)] == [
        "UNDELETED",
        "DELETED",
        "CREATED",
    ]


@pytest.mark.parametrize("sweep_is_first", [False, True])
async def test_against_the_sweep_it_is_whole_or_gone(
    client: httpx.AsyncClient,
    clock: FixedClock,
    database: Database,
    resources: Resources,
    *,
    sweep_is_first: bool,
) -> None:
    """Asked for in the last moment, it waits for whoever holds the row, and the window ends."""
    path = await _deleted(client, "tea")
    clock.advance(timedelta(hours=48) - timedelta(microseconds=1))
    held = select(MemoryRow.memory_id).where(MemoryRow.engine_id == 1).with_for_update()
    async with database.engine.begin() as other:
        await other.execute(held)
        asked = asyncio.create_task(client.post(f"{path}:undelete"))
        await until_waiting(database)
        clock.advance(timedelta(microseconds=1))
        if sweep_is_first:
            # What a sweep does with the row that it holds.
            await other.execute(MemoryRow.__table__.delete())  # type: ignore[attr-defined]
        else:
            await UpkeepService(resources).sweep()
    answer = await asked
    await UpkeepService(resources).sweep()
    if sweep_is_first:
        assert refusal(answer) == GONE
        assert await count(database, MemoryRow, RevisionRow) == (0, 0)
    else:
        assert ok(answer)["response"]["fact"] == "tea"
        assert await retrieved(client, similaritySearchParams={"searchQuery": "tea"}) == ["tea"]
        assert await count(database, MemoryRow, RevisionRow, MemoryVectorRow) == (1, 3, 1)


async def test_while_the_model_is_away_it_comes_back_and_waits_for_its_vector(
    client: httpx.AsyncClient, database: Database, embedder: ScriptedEmbedder
) -> None:
    path = await _deleted(client, "tea")
    embedder.failure = Unavailable("Away.", Reason.MODEL_UNAVAILABLE)
    await _undelete(client, path)
    assert await listed(client) == ["tea"]
    assert await count(database, MemoryVectorRow, UnembeddedRow) == (0, 1)


async def test_a_fact_that_changed_since_it_was_embedded_waits_for_its_own_vector(
    client: httpx.AsyncClient, database: Database
) -> None:
    """As when a scan masks a tombstone at that moment."""
    path = await _deleted(client, "tea")
    async with database.engine.begin() as other:
        mine = update(MemoryRow).where(MemoryRow.engine_id == 1)
        await other.execute(mine.values(fact="[MASKED]"))
        asked = asyncio.create_task(client.post(f"{path}:undelete"))
        await until_waiting(database)
    assert ok(await asked)["response"]["fact"] == "[MASKED]"
    assert await count(database, MemoryVectorRow, UnembeddedRow) == (0, 1)


async def test_an_undo_of_its_deletion_leaves_it_alone(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    paths = [path_of((await create_memory(client, fact))["name"]) for fact in ("tea", "milk")]
    body = {"filter": 'fact=~".*"', "force": True}
    purge = ok(await client.post("/memories:purge", json=body))["name"]
    back = await _undelete(client, paths[0])
    done = await undo(client, runner, purge)
    first, second = (path.rpartition("/")[2] for path in paths)
    assert skipped(done) == {first: "CHANGED_SINCE"}
    assert undone(done) == {second: "RESTORED"}
    # Bringing it back can be taken back as well.
    assert undone(await undo(client, runner, back["name"])) == {first: "DELETED"}
    assert await listed(client) == ["milk"]
    assert id_of(back["response"]) == first
