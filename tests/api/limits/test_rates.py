"""Rates as callers meet them: who is charged, for what, and what a refusal says."""

import asyncio
from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client import REGISTRY
from sqlalchemy import select

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.kernel.limits import MAX_COST
from app.platform.limits.store import FULL_AFTER, RateBucketRow
from app.platform.upkeep.service import UpkeepService
from app.process.main import create_app
from tests.conftest import ADMIN_KEY
from tests.support.bank import ENGINE_URL, count, ok
from tests.support.engines import API, COLLECTION, create_engine
from tests.support.errors import NOT_FOUND, refusal
from tests.support.keys import client_with, id_of, make_key
from tests.support.limits import bucket_statements, pass_seconds
from tests.support.operations import USER, create_memory

TOO_FAST = (429, "RESOURCE_EXHAUSTED", Reason.RATE_LIMIT_EXCEEDED)
FORBIDDEN = (403, "PERMISSION_DENIED", Reason.PERMISSION_MISSING)
_TYPES = "type.googleapis.com/google.rpc."
_REFUSED = "memory_bank_requests_refused_total"


def slow(resources: Resources, *, key: int = 0, engine: int = 0, saved: float = 1) -> FastAPI:
    """Return another process over the same database, with slow rates; 0: none."""
    changes = {
        "key_rate_units_per_second": key,
        "engine_rate_units_per_second": engine,
        "rate_burst_seconds": saved,
    }
    return create_app(replace(resources, settings=resources.settings.model_copy(update=changes)))


async def buckets(database: Database) -> set[str]:
    """Return whose rates were charged."""
    async with database.snapshot() as session:
        return set((await session.execute(select(RateBucketRow.subject))).scalars())


async def use_up(client: httpx.AsyncClient) -> int:
    """Ask for what costs all that a slow rate has saved up; return the status.

    From then on its process knows, while the clock stands, that there is nothing left.
    """
    body = {"filter": "fact:x"}
    return (await client.post("/memories:purge", json=body)).status_code


async def ask(client: httpx.AsyncClient, times: int) -> set[int]:
    """Ask for what costs a unit; return the statuses."""
    return {(await client.get("memories/none")).status_code for _ in range(times)}


async def test_a_key_that_asks_for_too_much_is_told_when_to_come_back(
    resources: Resources, database: Database, clock: FixedClock
) -> None:
    async with client_with(slow(resources, key=1), ADMIN_KEY) as client:
        assert await use_up(client) == 200
        answer = await client.post("/memories:retrieve", json={"scope": USER})
        assert refusal(answer) == TOO_FAST
        assert answer.json()["error"] == {
            "code": 429,
            "message": "The key has used up its rate of 1 units per second.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [
                {
                    "@type": _TYPES + "ErrorInfo",
                    "reason": "RATE_LIMIT_EXCEEDED",
                    "domain": "open-memory-bank",
                    "metadata": {"limit": "key", "unitsPerSecond": "1"},
                },
                {"@type": _TYPES + "RetryInfo", "retryDelay": "4s"},
            ],
        }
        assert answer.headers["retry-after"] == "4"
        await pass_seconds(database, clock, 4)
        ok(await client.post("/memories:retrieve", json={"scope": USER}))


async def test_the_header_says_a_second_where_less_would_do(
    resources: Resources, database: Database, clock: FixedClock
) -> None:
    async with client_with(slow(resources, key=40, saved=0.5), ADMIN_KEY) as client:
        assert await use_up(client) == 200
        answer = await client.get("memories/none")
        assert refusal(answer) == TOO_FAST
        assert answer.json()["error"]["details"][1]["retryDelay"] == "0.1s"
        assert answer.headers["retry-after"] == "1"
        await pass_seconds(database, clock, 0.1)
        assert await ask(client, 1) == {404}


async def test_the_header_says_no_less_than_the_body(resources: Resources) -> None:
    async with client_with(slow(resources, key=3), ADMIN_KEY) as client:
        assert await use_up(client) == 200
        answer = await client.post("/memories:retrieve", json={"scope": USER})
        assert answer.json()["error"]["details"][1]["retryDelay"] == "1.334s"
        assert answer.headers["retry-after"] == "2"


COSTS = [
    ("GET", "memories/none", None, 1),
    ("GET", "memories", None, 2),
    ("DELETE", "memories/none", None, 3),
    ("POST", "/memories:retrieve", {"scope": USER}, 4),
    ("POST", "/memories:purge", {"filter": "fact:x"}, 20),
]


@pytest.mark.parametrize(("method", "path", "body", "cost"), COSTS)
async def test_requests_are_charged_what_they_cost(
    resources: Resources, method: str, path: str, body: dict[str, object] | None, cost: int
) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with client_with(slow(resources, key=1), ADMIN_KEY) as client:
        statuses = [
            (await client.request(method, path, json=body)).status_code
            for _ in range(2 * MAX_COST // cost)
        ]
    let_in = len(statuses) - statuses.count(429)
    assert MAX_COST // cost <= let_in <= (MAX_COST + loop.time() - began) / cost


async def test_keys_share_the_rate_of_an_engine_and_another_engine_has_its_own(
    resources: Resources, database: Database, clock: FixedClock, client: httpx.AsyncClient
) -> None:
    other = (await create_engine(client))["name"]
    one, two = [await make_key(database, clock.now(), "admin") for _ in range(2)]
    app = slow(resources, engine=1)
    async with client_with(app, one) as first, client_with(app, two) as second:
        assert await use_up(first) == 200
        refused = await second.get("memories")
        assert refusal(refused) == TOO_FAST
        info = refused.json()["error"]["details"][0]
        assert info["metadata"] == {"limit": "engine", "unitsPerSecond": "1"}
        ok(await second.get(f"{API}/{other}/memories"))
        ok(await second.get(COLLECTION))


async def test_a_key_bound_to_a_scope_shares_the_rate_of_the_engine(
    resources: Resources, database: Database, clock: FixedClock
) -> None:
    bound = await make_key(database, clock.now(), "admin", scope_conditions={"user_id": ["42"]})
    app = slow(resources, engine=1)
    async with client_with(app, bound) as client, client_with(app, ADMIN_KEY) as admin:
        assert await use_up(client) == 200
        assert refusal(await admin.get("memories")) == TOO_FAST
    assert await buckets(database) == {"engine:1"}


@pytest.mark.parametrize(
    "reach", [{"engines": ["7"]}, {"projects": ["theirs"]}], ids=["engine", "project"]
)
async def test_a_key_cannot_use_up_the_rate_of_an_engine_that_it_does_not_reach(
    resources: Resources, database: Database, clock: FixedClock, reach: dict[str, list[str]]
) -> None:
    foreign = await make_key(database, clock.now(), "admin", **reach)  # type: ignore[arg-type]  # names of lists
    app = slow(resources, key=1, engine=1)
    async with client_with(app, foreign) as client:
        # It pays for them itself: each refused change is written down.
        assert await use_up(client) == 404
        assert await use_up(client) == 429
        assert await ask(client, 5) == {429}
    assert await buckets(database) == {f"key:{id_of(foreign)}"}
    async with client_with(app, ADMIN_KEY) as admin:
        ok(await admin.get("memories"))


async def test_what_a_key_may_not_do_costs_the_engine_nothing(
    resources: Resources, database: Database, clock: FixedClock
) -> None:
    viewer = await make_key(database, clock.now(), "viewer")
    async with client_with(slow(resources, key=1, engine=1), viewer) as client:
        answers = [await client.post("/memories:purge", json={}) for _ in range(3)]
    assert [refusal(answer) for answer in answers] == [FORBIDDEN, TOO_FAST, TOO_FAST]
    assert await buckets(database) == {f"key:{id_of(viewer)}"}


async def test_an_engine_that_is_not_there_has_no_rate(
    resources: Resources, database: Database
) -> None:
    async with client_with(slow(resources, engine=1), ADMIN_KEY) as client:
        for _ in range(MAX_COST + 5):
            answer = await client.get(f"{COLLECTION}/987/memories")
            assert refusal(answer) == NOT_FOUND
    assert await buckets(database) == set()


async def test_probes_and_strangers_are_charged_to_nobody(
    resources: Resources, database: Database
) -> None:
    app = slow(resources, key=1, engine=1)
    with bucket_statements(database) as sent:
        async with client_with(app, "no-key") as client:
            for _ in range(MAX_COST + 5):
                assert (await client.get("memories")).status_code == 401
        async with client_with(app, None) as client:
            for _ in range(MAX_COST + 5):
                assert (await client.get("http://test/healthz")).status_code == 200
                assert (await client.get("http://test/readyz")).status_code == 200
                assert (await client.get("memories")).status_code == 401
    assert sent == []


async def test_probes_are_answered_when_a_key_is_refused(resources: Resources) -> None:
    async with client_with(slow(resources, key=1), ADMIN_KEY) as client:
        assert await use_up(client) == 200
        assert await ask(client, 1) == {429}
        for path in ("healthz", "readyz"):
            assert (await client.get(f"http://test/{path}")).status_code == 200


async def test_a_refused_change_changes_nothing(client: httpx.AsyncClient, app: FastAPI) -> None:
    resources: Resources = app.state.resources
    memory = await create_memory(client, "I like tea.")
    async with client_with(slow(resources, key=1), ADMIN_KEY) as refused:
        assert await use_up(refused) == 200
        url = f"{API}/{memory['name']}"
        assert refusal(await refused.delete(url)) == TOO_FAST
        assert refusal(await refused.patch(url, json={"fact": "x"})) == TOO_FAST
    assert ok(await client.get(url))["fact"] == "I like tea."


async def test_refusals_are_counted_by_what_refused(resources: Resources) -> None:
    def value(by: str) -> float:
        return REGISTRY.get_sample_value(_REFUSED, {"by": by}) or 0

    before = {by: value(by) for by in ("key", "engine", "places")}
    for limit in ({"key": 1}, {"engine": 1}):
        async with client_with(slow(resources, **limit), ADMIN_KEY) as client:
            assert await use_up(client) == 200
            await ask(client, 3)
    after = {by: value(by) for by in before}
    added = {by: after[by] - before[by] for by in before}
    assert added == {"key": 3, "engine": 3, "places": 0}


async def test_the_defaults_let_a_developer_do_what_they_like(
    client: httpx.AsyncClient, database: Database
) -> None:
    with bucket_statements(database) as sent:
        for _ in range(5):
            answers = await asyncio.gather(
                *(client.post("/memories:retrieve", json={"scope": USER}) for _ in range(20))
            )
            assert {answer.status_code for answer in answers} == {200}
    assert len(sent) == 2, "one block of the key, one of the engine"


async def test_the_sweep_removes_buckets_that_are_full_again(
    resources: Resources, client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    ok(await client.get(ENGINE_URL))
    assert await count(database, RateBucketRow) == (2,)
    await UpkeepService(resources).sweep()
    assert await count(database, RateBucketRow) == (2,)
    await pass_seconds(database, clock, FULL_AFTER.total_seconds())
    await UpkeepService(resources).sweep()
    assert await count(database, RateBucketRow) == (0,)
    ok(await client.get(ENGINE_URL))
