"""Purge: wire specification, sections 10 and 14."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import event, select, update

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.memory.memories.store.tables import (
    MemoryRow,
    MemoryVectorRow,
    RevisionLabelRow,
    RevisionRow,
)
from app.settings.settings import Settings
from tests.support.bank import (
    ENGINE,
    GONE,
    Json,
    configure,
    count,
    field_of,
    history,
    id_of,
    listed,
    ok,
    refusal,
    roll_back,
)
from tests.support.locks import until_waiting
from tests.support.operations import asked, create_memory, path_of

DERIVED = (MemoryRow, MemoryVectorRow, RevisionRow, RevisionLabelRow)
CHEAP = {"price": {"doubleValue": 1.0}, "src": {"stringValue": "mail"}}
DEAR = {"price": {"doubleValue": 9.5}}
_SHORT = 0.2


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """The settings, changed as a test's indirect parameter says."""
    return settings.model_copy(update=getattr(request, "param", {}))


async def _purge(client: httpx.AsyncClient, **body: object) -> Json:
    """Purge; the first answer must be done, or the official client cannot read the count."""
    operation = ok(await client.post("/memories:purge", json=body))
    assert operation["done"] is True
    return operation


async def _number(client: httpx.AsyncClient, **body: object) -> int:
    found: int = (await _purge(client, **body))["response"]["purgeCount"]
    return found


async def _stage(client: httpx.AsyncClient, clock: FixedClock) -> dict[str, str]:
    """Create three memories a minute apart; return their paths by fact."""
    found = {}
    given: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
        "tea": ({"user_id": "123"}, {"metadata": CHEAP}),
        "coffee": ({"user_id": "123", "app": "x"}, {"metadata": DEAR}),
        "milk": ({"user_id": "7"}, {"topics": [{"managedMemoryTopic": "USER_PREFERENCES"}]}),
    }
    for fact, (scope, fields) in given.items():
        found[fact] = path_of((await create_memory(client, fact, scope, **fields))["name"])
        clock.advance(timedelta(minutes=1))
    return found


async def test_without_force_it_counts_and_removes_nothing(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _stage(client, clock)
    for dry in ({}, {"force": False}):
        operation = await _purge(client, filter='scope.user_id="123"', **dry)
        assert operation == {
            "name": operation["name"],
            "metadata": {
                "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1"
                ".PurgeMemoriesOperationMetadata",
                "genericMetadata": operation["metadata"]["genericMetadata"],
                **asked("memories.purge", operation),
            },
            "done": True,
            "response": {
                "@type": "type.googleapis.com/google.cloud.aiplatform.v1beta1"
                ".PurgeMemoriesResponse",
                "purgeCount": 2,
            },
        }
        assert operation["name"].startswith(f"{ENGINE}/operations/")
        assert ok(await client.get(path_of(operation["name"]))) == operation
    assert await listed(client) == ["milk", "coffee", "tea"]


async def test_with_force_it_deletes_and_counts(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    paths = await _stage(client, clock)
    assert await _number(client, filter='scope.user_id="123"', force=True) == 2
    assert await listed(client) == ["milk"]
    assert refusal(await client.get(paths["tea"])) == GONE
    assert await _number(client, filter='scope.user_id="123"', force=True) == 0


_CRITERIA: list[tuple[Json, int]] = [
    ({"filter": "scope.user_id=123"}, 2),
    ({"filter": 'scope.user_id="123" AND scope.app="x"'}, 1),
    ({"filter": r'scope="{\"user_id\": \"123\"}"'}, 1),
    ({"filter": 'fact="tea"'}, 1),
    ({"filter": 'fact=~".*ee"'}, 1),
    ({"filter": 'fact=~"ee"'}, 0),
    ({"filter": 'create_time<"2026-01-15T12:01:00Z"'}, 1),
    ({"filter": 'create_time>="2026-01-15T12:01:00Z"'}, 2),
    ({"filter": 'update_time>"2030-01-01T00:00:00Z"'}, 0),
    ({"filter": "topics.managed_memory_topic: USER_PREFERENCES"}, 1),
    ({"filter": 'fact="tea" OR fact="milk"'}, 2),
    (
        {
            "filter": "",
            "filterGroups": [{"filters": [{"key": "src", "value": {"string_value": "mail"}}]}],
        },
        1,
    ),
    (
        {
            "filterGroups": [
                {"filters": [{"key": "price", "op": "GREATER_THAN", "value": {"doubleValue": 0.5}}]}
            ]
        },
        2,
    ),
    (
        {
            "filter_groups": [
                {
                    "filters": [
                        {"key": "price", "op": "LESS_THAN", "value": {"double_value": 2}},
                        {"key": "src", "op": "EQUAL", "value": {"string_value": "x"}},
                    ]
                },
                {"filters": [{"key": "price", "op": "EQUAL", "value": {"double_value": 9.5}}]},
            ]
        },
        1,
    ),
    (
        {
            "filterGroups": [
                {"filters": [{"key": "src", "value": {"stringValue": "mail"}, "negate": True}]}
            ]
        },
        2,
    ),
    (
        {
            "filter": 'scope.user_id="7"',
            "filterGroups": [{"filters": [{"key": "src", "value": {"stringValue": "mail"}}]}],
        },
        0,
    ),
]


async def test_criteria(client: httpx.AsyncClient, clock: FixedClock) -> None:
    await _stage(client, clock)
    for body, number in _CRITERIA:
        assert (body, await _number(client, **body)) == (body, number)


async def test_groups_alone_purge(client: httpx.AsyncClient, clock: FixedClock) -> None:
    await _stage(client, clock)
    groups = [{"filters": [{"key": "src", "value": {"string_value": "mail"}}]}]
    assert await _number(client, filterGroups=groups, force=True) == 1
    assert await listed(client) == ["milk", "coffee"]


_NO_VALUE = {"filters": [{"key": "a", "value": {}}]}
_NO_OPERATOR = {"filters": [{"key": "a", "op": "X", "value": {"boolValue": True}}]}
_BAD: list[tuple[Json, str]] = [
    ({}, "body"),
    ({"filter": ""}, "body"),
    ({"filter": "  "}, "body"),
    ({"filterGroups": []}, "body"),
    ({"filter": "nosuch=1"}, "filter"),
    ({"filter": 'fact=~"("'}, "filter"),
    ({"filterGroups": [{"filters": []}]}, "filterGroups[0].filters"),
    ({"filterGroups": [_NO_OPERATOR]}, "filterGroups[0].filters[0].op"),
    ({"filterGroups": [_NO_VALUE]}, "filterGroups[0].filters[0].value"),
    ({"all": True}, "all"),
]


async def test_criteria_are_required_and_checked(client: httpx.AsyncClient) -> None:
    await create_memory(client, "x")
    for body, named in _BAD:
        for force in (True, False):
            answer = await client.post("/memories:purge", json={**body, "force": force})
            assert (body, field_of(answer)) == (body, named)
    assert await listed(client) == ["x"]


async def test_what_was_purged_can_be_recovered(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    paths = await _stage(client, clock)
    operation = await _purge(client, filter="scope.user_id=123", force=True)
    newest, oldest = await history(client, paths["tea"])
    assert (newest["action"], newest["operation"]) == ("DELETED", operation["name"])
    ok(await roll_back(client, paths["tea"], id_of(oldest)))
    assert await listed(client) == ["milk", "tea"]


async def test_permanent_erases_every_derived_row(
    client: httpx.AsyncClient, clock: FixedClock, database: Database
) -> None:
    paths = await _stage(client, clock)
    labels = {"fact": "tea!", "revisionLabels": {"a": "1"}}
    ok(await client.patch(paths["tea"], json=labels))
    assert await count(database, *DERIVED) == (3, 3, 4, 1)
    body = {"filter": "scope.user_id=123", "permanent": True}
    assert await _number(client, **body) == 2
    assert await count(database, *DERIVED) == (3, 3, 4, 1)
    assert await _number(client, **body, force=True) == 2
    assert await count(database, *DERIVED) == (1, 1, 1, 0)
    assert refusal(await client.get(f"{paths['tea']}/revisions")) == GONE


async def test_permanent_erases_what_can_still_be_recovered(
    client: httpx.AsyncClient, clock: FixedClock, database: Database
) -> None:
    paths = await _stage(client, clock)
    ok(await client.delete(paths["tea"]))
    body = {"filter": 'fact="tea"', "permanent": True}
    assert await _number(client, **body) == 1
    operation = await _purge(client, **body, force=True)
    assert operation["response"]["purgeCount"] == 1
    erased = {"memories": 1, "vectors": 0, "revisions": 2, "labels": 0}
    assert operation["metadata"]["erased"] == erased
    assert operation["metadata"]["deletedCount"] == 1
    assert await count(database, *DERIVED) == (2, 2, 2, 0)


async def test_what_is_deleted_or_expired_is_not_counted(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    paths = await _stage(client, clock)
    ok(await client.delete(paths["tea"]))
    ok(await client.patch(paths["coffee"], json={"ttl": "60s"}))
    assert await _number(client, filter='fact=~".*"') == 2
    clock.advance(timedelta(seconds=60))
    assert await _number(client, filter='fact=~".*"', force=True) == 1


async def test_another_engine_is_not_touched(client: httpx.AsyncClient) -> None:
    other = ok(await client.post("http://test/v1/reasoningEngines"))["response"]["name"]
    url = f"http://test/v1/{other}/memories"
    ok(await client.post(url, json={"fact": "x", "scope": {"user_id": "1"}}))
    await create_memory(client, "x", {"user_id": "1"})
    assert await _number(client, filter='scope.user_id="1"', force=True) == 1
    assert len(ok(await client.get(url))["memories"]) == 1


async def test_a_purge_without_revisions_says_so(client: httpx.AsyncClient) -> None:
    await create_memory(client, "x")
    await configure(client, disableMemoryRevisions=True)
    operation = await _purge(client, filter='fact="x"', force=True)
    assert operation["metadata"]["revisionsDisabled"] is True


@pytest.mark.parametrize("settings", [{"sweep_batch_rows": 2}], indirect=True)
async def test_a_purge_goes_on_past_one_batch(client: httpx.AsyncClient) -> None:
    # What the first leaves to be recovered, the second erases.
    for permanent, number in ((False, 5), (True, 10)):
        for each in range(5):
            await create_memory(client, str(each))
        body = {"filter": 'fact=~".*"', "force": True, "permanent": permanent}
        assert await _number(client, **body) == number
        assert await listed(client) == []


@pytest.mark.parametrize("settings", [{"sweep_batch_rows": 2}], indirect=True)
async def test_each_batch_goes_on_where_the_one_before_ended(
    client: httpx.AsyncClient, database: Database
) -> None:
    ids = [(await create_memory(client, str(n)))["name"].rpartition("/")[2] for n in range(5)]
    asked: list[str] = []

    def note(*arguments: Any) -> None:
        if "memories.memory_id >" in arguments[2]:
            asked.append(arguments[3]["memory_id_1"])

    engine = database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        # Not by scopes alone, which is looked for once more when their events have gone.
        assert await _number(client, filter='fact=~"."', force=True) == 5
    finally:
        event.remove(engine, "before_cursor_execute", note)
    assert asked == ["", ids[1], ids[3]]


async def _long_locked(client: httpx.AsyncClient, database: Database, body: Json) -> httpx.Response:
    """Purge while another transaction holds the memories longer than a filter may take."""
    async with database.engine.begin() as other:
        await other.execute(select(MemoryRow).where(MemoryRow.engine_id == 1).with_for_update())
        purging = asyncio.create_task(client.post("/memories:purge", json=body))
        await until_waiting(database)
        await asyncio.sleep(2 * _SHORT)
        assert not purging.done()
    return await purging


@pytest.mark.parametrize("settings", [{"filter_timeout_seconds": _SHORT}], indirect=True)
@pytest.mark.parametrize("permanent", [False, True])
async def test_the_wait_for_a_lock_is_not_the_filter_s_fault(
    client: httpx.AsyncClient, database: Database, *, permanent: bool
) -> None:
    await create_memory(client, "tea")
    body = {"filter": 'fact=~"t.a"', "force": True, "permanent": permanent}
    operation = ok(await _long_locked(client, database, body))
    assert operation["response"]["purgeCount"] == 1


async def test_a_memory_that_changed_while_it_was_waited_for_stays(
    client: httpx.AsyncClient, database: Database
) -> None:
    await create_memory(client, "tea")
    async with database.engine.begin() as other:
        mine = update(MemoryRow).where(MemoryRow.engine_id == 1)
        await other.execute(mine.values(fact="coffee"))
        body = {"filter": 'fact="tea"', "force": True}
        purging = asyncio.create_task(client.post("/memories:purge", json=body))
        await until_waiting(database)
    assert ok(await purging)["response"]["purgeCount"] == 0
    assert await listed(client) == ["coffee"]
