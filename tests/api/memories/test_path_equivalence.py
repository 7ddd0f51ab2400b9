"""A memory is created and retrieved by two paths: for every column, they do and tell the same."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.memories.schemas.memories import Memory
from app.memory.memories.store.columns import wire_names
from app.memory.memories.store.tables import ColumnRole, MemoryRow
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import ENGINE_URL, Json, configure, history, id_of, ok, roll_back
from tests.support.cases import in_one_test
from tests.support.keys import make_key
from tests.support.paths import AT_ONCE, PRIMER, STEP_BY_STEP, Paths, create, stored
from tests.support.statements import statements_on

pytestmark = pytest.mark.usefixtures("of_each_kind")

USER = {"user_id": "42"}
SMALL: Json = {"fact": "I like tea.", "scope": USER}
STRUCTURED = {"data": {"name": "Zoë"}, "schemaId": "person"}
TYPES = ["NATURAL_LANGUAGE_COLLECTION", "STRUCTURED_PROFILE"]
ABSENT = "absent"
OTHER = "Zoë 日本語 👩‍🚀 e\u0301 'x' %s \\u0041 \x7f"
_MOST_TEXT = 4_096
_DATA = {"data": {"k": "é" * 32_751}, "schemaId": "s"}

VALUES: dict[str, dict[str, Any]] = {
    "fact": {"value": "I moved to Paris in 2024.", "other": OTHER, "largest": "é" * 10_000},
    "display_name": {"value": "", "other": OTHER, "largest": "é" * _MOST_TEXT},
    "description": {"value": "About it", "other": OTHER, "largest": "é" * _MOST_TEXT},
    "topics": {
        "value": [{"managedMemoryTopic": "USER_PREFERENCES"}, {"customMemoryTopicLabel": "a"}],
        "other": [{"customMemoryTopicLabel": OTHER}],
        "largest": [{"customMemoryTopicLabel": f"{n:02}" + "é" * 254} for n in range(50)],
    },
    "metadata": {
        "value": {
            "source": {"stringValue": "a talk"},
            "position": {"doubleValue": 1e300},
            "ok": {"boolValue": False},
            "event_time": {"timestampValue": "2023-05-08T03:04:05.000001Z"},
        },
        "other": {OTHER: {"stringValue": OTHER}},
        "largest": {f"{n:02}" + "é" * 126: {"stringValue": "é" * 4_096} for n in range(50)},
    },
    "memory_type": {"value": "STRUCTURED_PROFILE"},
    "structured_content": {
        "value": {"data": {"n": 1.5, "none": None, "list": [[], {}]}, "schemaId": "s"},
        "other": {"data": {OTHER: OTHER}, "schemaId": OTHER},
        "largest": _DATA,
    },
    "context": {"value": "Said at lunch", "other": OTHER, "largest": "é" * 10_000},
    "scope": {
        "value": {"user_id": "42", "app": "x"},
        "other": {"user_id": OTHER, "ключ": ""},
        "largest": {f"{n}" + "k" * 255: "é" * 1_024 for n in range(5)},
    },
    "expire_time": {"value": "2026-01-16T12:00:00.123456Z", "largest": "9999-12-31T23:59:59Z"},
}
"""By the name of a field, what may be sent. Each may be null or absent, too, but for the scope."""
UNSENT = {"version", "create_time", "update_time"}
"""Fields of a memory that no request sets. What is not on the wire, `metadata` decides."""
_SENT = wire_names(MemoryRow, ColumnRole.CONTENT, ColumnRole.KEPT, ColumnRole.STATE)
FIELDS = [name for name in _SENT if name not in UNSENT]
CASES = {
    f"{name}-{case}": (name, value)
    for name in FIELDS
    for case, value in {
        **VALUES.get(name, {}),
        **({} if name == "scope" else {"null": None, ABSENT: ABSENT}),
    }.items()
}


@pytest.fixture
async def paths(resources: Resources) -> Paths:
    return await Paths.open(resources, ADMIN_KEY)


@pytest.fixture
def clients(paths: Paths) -> dict[str, httpx.AsyncClient]:
    return paths.clients(ADMIN_KEY)


def alias(field: str) -> str:
    return Memory.model_fields[field].alias or field


def body_with(field: str, value: object) -> Json:
    """Return a memory with a field, or without it; something must always be in it."""
    if field == "fact" and value in {None, ABSENT}:
        body = {"scope": USER, "structuredContent": STRUCTURED}
        return body if value == ABSENT else {**body, "fact": None}
    return SMALL if value == ABSENT else {**SMALL, alias(field): value}


async def readings(
    database: Database, client: httpx.AsyncClient, scope: Json, memory_id: str
) -> dict[str, Any]:
    """Return what get, list, and both kinds of retrieval tell."""
    whole = {"scope": scope, "memoryTypes": TYPES}
    search = {"searchQuery": "What do I like?", "topK": 10}
    with statements_on(database, "FROM memories") as several:
        newest = ok(await client.post("/memories:retrieve", json=whole))
    similar = {**whole, "similaritySearchParams": search}
    nearest = ok(await client.post("/memories:retrieve", json=similar))
    return {
        "get": ok(await client.get(f"memories/{memory_id}")),
        "list": ok(await client.get("memories"))["memories"],
        "newest": newest["retrievedMemories"],
        "nearest": nearest["retrievedMemories"],
        "path": STEP_BY_STEP if several else AT_ONCE,
    }


def test_every_field_has_its_cases() -> None:
    assert set(VALUES) == set(FIELDS)


@in_one_test(("field", "value"), CASES.values(), CASES)
async def test_every_field_is_written_and_told_alike(
    database: Database, clients: dict[str, httpx.AsyncClient], field: str, value: Any
) -> None:
    body = body_with(field, value)
    made = {path: await create(database, client, body) for path, client in clients.items()}
    assert made[AT_ONCE].left == made[STEP_BY_STEP].left
    # What has no vector is written step by step in any case.
    taken = AT_ONCE if body.get("fact") else STEP_BY_STEP
    assert {path: one.path for path, one in made.items()} == {
        STEP_BY_STEP: STEP_BY_STEP,
        AT_ONCE: taken,
    }

    memory = made[AT_ONCE].memory
    default = "NATURAL_LANGUAGE_COLLECTION" if field == "memory_type" else None
    assert memory.get(alias(field)) == (default if value in [None, ABSENT] else value)
    told = {
        path: await readings(database, client, body["scope"], id_of(memory))
        for path, client in clients.items()
    }
    assert told[STEP_BY_STEP].pop("path") == STEP_BY_STEP
    assert told[AT_ONCE].pop("path") == AT_ONCE
    assert told[AT_ONCE] == told[STEP_BY_STEP]
    assert told[AT_ONCE]["get"] == memory
    others = [told[AT_ONCE]["list"], [one["memory"] for one in told[AT_ONCE]["newest"]]]
    if body.get("fact"):
        others.append([one["memory"] for one in told[AT_ONCE]["nearest"]])
    for found in others:
        for one in made.values():
            assert one.memory in found
    for one in made.values():
        url = f"memories/{id_of(one.memory)}"
        ok(await clients[STEP_BY_STEP].delete(url, params={"permanent": "true"}))


@pytest.mark.parametrize("path", [STEP_BY_STEP, AT_ONCE])
async def test_a_rollback_restores_every_field_but_those_that_are_kept(
    clients: dict[str, httpx.AsyncClient], path: str
) -> None:
    kept = {*wire_names(MemoryRow, ColumnRole.KEPT, ColumnRole.STATE)}
    content = {alias(name): VALUES[name]["value"] for name in FIELDS if name not in kept}
    client = clients[path]
    created = ok(await client.post("memories", json={**SMALL, **content}))["response"]
    memory = f"/memories/{id_of(created)}"
    mask = ",".join(content)
    cleared = {"structuredContent": STRUCTURED}
    ok(await client.patch(memory, params={"updateMask": mask}, json=cleared))
    left = ok(await client.get(memory))
    assert {name: left[name] for name in content if name in left} == cleared

    (first,) = (await history(client, memory))[-1:]
    ok(await roll_back(client, memory, id_of(first)))
    restored = ok(await client.get(memory))
    assert {name: restored[name] for name in content} == content
    assert {name: first[name] for name in content} == content


@dataclass(frozen=True)
class Asked:
    """A creation by a key, after something has happened that the second process has not seen."""

    paths: Paths
    clock: FixedClock

    @property
    def elsewhere(self) -> httpx.AsyncClient:
        """A client of the first process: the second hears nothing of what it does."""
        return self.paths.clients(ADMIN_KEY)[STEP_BY_STEP]

    async def key(self, *roles: str, **fields: Any) -> str:
        return await make_key(self.paths.database, self.clock.now(), *roles, **fields)


Request = tuple[Json, dict[str, str], str]
Prepare = Callable[[Asked], Awaitable[Request]]


async def _bad_scope(_: Asked) -> Request:
    return {**SMALL, "scope": {"user_id": "*"}}, {}, ADMIN_KEY


async def _large_scope(_: Asked) -> Request:
    return {**SMALL, "scope": {str(n): "x" for n in range(6)}}, {}, ADMIN_KEY


async def _bad_body(_: Asked) -> Request:
    return {**SMALL, "fact": " ", "unknown": 1}, {}, ADMIN_KEY


async def _past(_: Asked) -> Request:
    return {**SMALL, "expireTime": "2020-01-01T00:00:00Z"}, {}, ADMIN_KEY


async def _bad_id(_: Asked) -> Request:
    return SMALL, {"memoryId": "Not An Id"}, ADMIN_KEY


async def _taken(asked: Asked) -> Request:
    ok(await asked.elsewhere.post("memories", params={"memoryId": "taken"}, json=SMALL))
    return SMALL, {"memoryId": "taken"}, ADMIN_KEY


async def _taken_by_a_tombstone(asked: Asked) -> Request:
    body, params, key = await _taken(asked)
    ok(await asked.elsewhere.delete("memories/taken"))
    return body, params, key


async def _engine_gone(asked: Asked) -> Request:
    ok(await asked.elsewhere.delete(ENGINE_URL, params={"force": "true"}))
    return SMALL, {}, ADMIN_KEY


async def _may_not(asked: Asked) -> Request:
    return SMALL, {}, await asked.key("viewer")


async def _foreign(asked: Asked) -> Request:
    key = await asked.key("editor", scope_conditions={"user_id": ["7"]})
    return SMALL, {}, key


async def _used_request_id(asked: Asked) -> Request:
    params = {"requestId": "used"}
    ok(await asked.elsewhere.post("memories", params=params, json=PRIMER))
    return SMALL, params, ADMIN_KEY


REFUSED: dict[str, tuple[Prepare, int]] = {
    "a scope with a star": (_bad_scope, 400),
    "a scope of six": (_large_scope, 400),
    "a bad body": (_bad_body, 400),
    "an end in the past": (_past, 400),
    "a bad id": (_bad_id, 400),
    "a taken id": (_taken, 409),
    "an id of what can be recovered": (_taken_by_a_tombstone, 409),
    "a deleted engine": (_engine_gone, 404),
    "a key without the permission": (_may_not, 403),
    "a scope of others": (_foreign, 404),
    "the id of another request": (_used_request_id, 409),
}


@pytest.mark.parametrize(("prepare", "status"), REFUSED.values(), ids=REFUSED)
async def test_both_refuse_alike_and_store_nothing(
    paths: Paths, clock: FixedClock, prepare: Prepare, status: int
) -> None:
    body, params, key = await prepare(Asked(paths, clock))
    before = await stored(paths.database)
    refused = {
        path: await client.post("memories", params=params, json=body)
        for path, client in paths.clients(key).items()
    }
    assert refused[AT_ONCE].status_code == status
    assert refused[AT_ONCE].json() == refused[STEP_BY_STEP].json()
    assert {one.status_code for one in refused.values()} == {status}
    assert await stored(paths.database) == before


class TestQuota:
    """The engine may have the two memories by which the second process came to know it."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"engine_max_memories": 2})

    async def test_both_refuse_what_has_no_room(
        self, paths: Paths, clients: dict[str, httpx.AsyncClient]
    ) -> None:
        before = await stored(paths.database)
        refused = [await one.post("memories", json=SMALL) for one in clients.values()]
        assert [one.status_code for one in refused] == [429, 429]
        assert refused[0].json() == refused[1].json()
        assert await stored(paths.database) == before


async def _configured(asked: Asked) -> Request:
    await configure(asked.elsewhere, ttlConfig={"defaultTtl": "86400s"})
    return SMALL, {}, ADMIN_KEY


async def _without_revisions(asked: Asked) -> Request:
    await configure(asked.elsewhere, disableMemoryRevisions=True)
    return SMALL, {}, ADMIN_KEY


async def _other_model(asked: Asked) -> Request:
    async with asked.paths.database.transaction() as session:
        await session.execute(
            text("update engines set embedding_model = 'other' where engine_id = 1")
        )
    return SMALL, {}, ADMIN_KEY


async def _labelled(_: Asked) -> Request:
    return {**SMALL, "revisionLabels": {"run": "7"}}, {}, ADMIN_KEY


async def _short_history(_: Asked) -> Request:
    return {**SMALL, "revisionTtl": "3600s", "ttl": "60s"}, {}, ADMIN_KEY


async def _bound(asked: Asked) -> Request:
    key = await asked.key("editor", scope_conditions={"user_id": ["42"]})
    return SMALL, {}, key


SAME: dict[str, Prepare] = {
    "a new configuration": _configured,
    "no revisions": _without_revisions,
    "a model that was replaced": _other_model,
    "labels": _labelled,
    "lives": _short_history,
    "a bound key": _bound,
}


@pytest.mark.parametrize("prepare", SAME.values(), ids=SAME)
async def test_what_the_second_has_not_seen_makes_no_difference(
    paths: Paths, clock: FixedClock, prepare: Prepare
) -> None:
    body, params, key = await prepare(Asked(paths, clock))
    made = {
        path: await create(paths.database, client, body, **params)
        for path, client in paths.clients(key).items()
    }
    assert made[AT_ONCE].left == made[STEP_BY_STEP].left


async def _bound_to_several(asked: Asked) -> Request:
    key = await asked.key("editor", scope_conditions={"user_id": ["7", "42"]})
    return SMALL, {}, key


async def _with_request_id(asked: Asked) -> Request:
    _, _, key = await _bound(asked)
    return SMALL, {"requestId": "first"}, key


USUAL: dict[str, Prepare] = {
    "a bound key": _bound,
    "a key bound to several values": _bound_to_several,
    "a request id by a bound key": _with_request_id,
}


@pytest.mark.parametrize("prepare", USUAL.values(), ids=USUAL)
async def test_bound_keys_and_request_ids_are_served_at_once(
    paths: Paths, clock: FixedClock, prepare: Prepare
) -> None:
    body, params, key = await prepare(Asked(paths, clock))
    clients = paths.clients(key)
    made = {}
    for path, client in clients.items():
        once = {name: f"{value} {path}" for name, value in params.items()}
        made[path] = await create(paths.database, client, body, **once)
    assert {path: one.path for path, one in made.items()} == {path: path for path in made}
    assert made[AT_ONCE].left == made[STEP_BY_STEP].left
    assert bool(made[AT_ONCE].left.rows["request_ids"]) is bool(params)
    told = await readings(paths.database, clients[AT_ONCE], USER, id_of(made[AT_ONCE].memory))
    assert told["path"] == AT_ONCE
    assert len(told["newest"]) == len(told["nearest"]) == 2


async def test_a_taken_memory_id_leaves_the_request_id_free(
    paths: Paths, clients: dict[str, httpx.AsyncClient]
) -> None:
    ok(await clients[STEP_BY_STEP].post("memories", params={"memoryId": "taken"}, json=PRIMER))
    params = {"memoryId": "taken", "requestId": "once"}
    refused = await clients[AT_ONCE].post("memories", params=params, json=SMALL)
    assert refused.status_code == 409
    ok(await clients[STEP_BY_STEP].delete("memories/taken", params={"permanent": "true"}))
    created = await create(paths.database, clients[AT_ONCE], SMALL, **params)
    assert created.memory["fact"] == SMALL["fact"]


async def test_repeats_that_arrive_at_once_have_one_effect(
    clients: dict[str, httpx.AsyncClient],
) -> None:
    before = len(ok(await clients[AT_ONCE].get("memories"))["memories"])
    params = {"requestId": "together"}
    requests = (clients[AT_ONCE].post("memories", params=params, json=SMALL) for _ in range(8))
    answers = [ok(answer) for answer in await asyncio.gather(*requests)]
    assert answers == answers[:1] * 8
    assert len(ok(await clients[AT_ONCE].get("memories"))["memories"]) == before + 1


async def test_a_request_id_past_its_time_is_free(
    clients: dict[str, httpx.AsyncClient], clock: FixedClock
) -> None:
    params = {"requestId": "old"}
    first = ok(await clients[AT_ONCE].post("memories", params=params, json=SMALL))
    clock.advance(timedelta(hours=24))
    again = ok(await clients[AT_ONCE].post("memories", params=params, json=SMALL))
    assert again["name"] != first["name"]


@pytest.mark.parametrize("path", [STEP_BY_STEP, AT_ONCE])
async def test_the_id_of_an_expired_memory_is_free_for_both(
    paths: Paths, clients: dict[str, httpx.AsyncClient], clock: FixedClock, path: str
) -> None:
    params = {"memoryId": "again"}
    ok(await clients[STEP_BY_STEP].post("memories", params=params, json={**SMALL, "ttl": "60s"}))
    clock.advance(timedelta(minutes=2))
    created = await create(paths.database, clients[path], SMALL, **params)
    assert id_of(created.memory) == "again"
    assert [row["version"] for row in created.left.rows["memory_revisions"]] == [1]


@pytest.mark.parametrize("path", [STEP_BY_STEP, AT_ONCE])
async def test_a_repeated_request_is_answered_by_both(
    paths: Paths, clients: dict[str, httpx.AsyncClient], path: str
) -> None:
    params = {"requestId": "again"}
    first = ok(await clients[STEP_BY_STEP].post("memories", params=params, json=SMALL))
    before = await stored(paths.database)
    assert ok(await clients[path].post("memories", params=params, json=SMALL)) == first
    assert await stored(paths.database) == before
