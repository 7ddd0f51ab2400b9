"""Probes and metrics."""

import re
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text
from typing_extensions import override

from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.process.main import create_app
from app.settings.settings import Settings
from tests.support.distributed import used_as_distributed
from tests.support.engines import FIRST
from tests.support.errors import refusal
from tests.support.operations import create_memory, path_of
from tests.support.scripted_models import ScriptedEmbedder

_HEALTH, _READY, _METRICS = (f"http://test/{name}" for name in ("healthz", "readyz", "metrics"))
_NOT_READY = (503, "UNAVAILABLE", Reason.NOT_READY)
_NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


class _Loading(ScriptedEmbedder):
    """An embedder whose model is still being read."""

    @property
    @override
    def ready(self) -> bool:
        return False


def _checks(answer: httpx.Response) -> dict[str, str]:
    assert refusal(answer) == _NOT_READY
    assert answer.headers["retry-after"] == "1"
    checks: dict[str, str] = answer.json()["error"]["details"][0]["metadata"]
    return checks


def _client(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app))


async def test_a_process_that_can_answer_is_healthy(client: httpx.AsyncClient) -> None:
    answer = await client.get(_HEALTH)
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")


async def test_what_is_ready_says_of_what_it_consists(client: httpx.AsyncClient) -> None:
    answer = await client.get(_READY)
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ok",
        "checks": {
            "database": "ok",
            "schema": "ok",
            "writes": "ok",
            "workers": "0 seen",
            "embedder": "scripted/1",
            "languages": "what its model does (scripted/1)",
            "model": "scripted/1",
            "writer": "builtin-rules/3 (rules alone)",
        },
    }


_NODES = """
    create table pg_dist_node as
    select 'worker' || n as nodename, 5431 + n as nodeport, 'primary' as noderole,
        n as groupid, true as isactive
    from generate_series(1, 3) as n;
    create function master_run_on_worker(text[], integer[], text[], boolean)
    returns table (success boolean) language sql
    as $$ select $1[1] = 'worker1' or {state} $$
"""
_NO_NODES = "drop table pg_dist_node; drop function master_run_on_worker"


@pytest.mark.plain_postgres("a function stands in for the cluster's")
@pytest.mark.parametrize(
    ("state", "degraded"), [("true", None), ("false", "worker2:5433, worker3:5434")]
)
async def test_nodes_that_do_not_answer_are_told_and_the_process_stays_ready(
    client: httpx.AsyncClient, database: Database, state: str, degraded: str | None
) -> None:
    async with database.transaction() as session:
        for statement in _NODES.format(state=state).split(";"):
            await session.execute(text(statement))
    try:
        with used_as_distributed(database):
            # Answers of the case before would count for a second.
            await database.nodes.look(age_seconds=0)
            answer = await client.get(_READY)
    finally:
        async with database.transaction() as session:
            for statement in _NO_NODES.split(";"):
                await session.execute(text(statement))
        await database.nodes.look(age_seconds=0)
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")
    assert answer.json()["checks"].get("degraded") == degraded


async def test_nothing_is_ready_while_the_model_loads(resources: Resources) -> None:
    loading = Resources(
        resources.settings, resources.clock, resources.db, resources.database_url, _Loading()
    )
    async with _client(create_app(loading)) as client:
        assert _checks(await client.get(_READY)) == {
            "database": "ok",
            "schema": "ok",
            "writes": "ok",
            "embedder": "loading",
        }
        assert (await client.get(_HEALTH)).status_code == 200


async def test_nothing_is_ready_on_another_schema(
    client: httpx.AsyncClient, database: Database
) -> None:
    async with database.transaction() as session:
        found = await session.execute(text("select version_num from alembic_version"))
        current = found.scalar_one()
        await session.execute(text("update alembic_version set version_num = 'other'"))
    try:
        assert _checks(await client.get(_READY))["schema"] == "not migrated"
    finally:
        async with database.transaction() as session:
            statement = text("update alembic_version set version_num = :current")
            await session.execute(statement, {"current": current})
    assert (await client.get(_READY)).status_code == 200


@pytest.fixture
async def unreachable(
    settings: Settings, clock: FixedClock, embedder: ScriptedEmbedder
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service whose database is not there."""
    database = Database(open_engine(_NOWHERE, settings))
    resources = Resources(settings, clock, database, _NOWHERE, embedder)
    async with _client(create_app(resources)) as client:
        yield client
    await database.close()


async def test_nothing_is_ready_without_a_database(unreachable: httpx.AsyncClient) -> None:
    assert _checks(await unreachable.get(_READY)) == {
        "database": "unavailable",
        "embedder": "ok",
    }
    assert (await unreachable.get(_HEALTH)).status_code == 200


async def test_no_key_can_be_checked_without_a_database(unreachable: httpx.AsyncClient) -> None:
    answer = await unreachable.get(FIRST, headers={"x-goog-api-key": "k"})
    assert refusal(answer) == (503, "UNAVAILABLE", Reason.DATABASE_UNAVAILABLE)
    assert answer.headers["retry-after"] == "1"
    retry = answer.json()["error"]["details"][1]
    assert retry == {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}


def _counts(metrics: str, needle: str) -> float:
    """Return how many requests were counted under labels that hold the needle."""
    lines = re.findall(
        r"^memory_bank_request_seconds_count\{(.*)\} ([0-9.]+)$", metrics, re.MULTILINE
    )
    return sum(float(count) for labels, count in lines if needle in labels)


async def test_metrics_count_requests_by_route_and_name_no_resource(
    client: httpx.AsyncClient,
) -> None:
    one = (
        'method="GET",route="/v1beta1/projects/{project}/locations/{location}'
        '/reasoningEngines/{engine}/memories/{memory}",status="200"'
    )
    before = (await client.get(_METRICS)).text
    memory = await create_memory(client, "I keep a zebrafish-okapi.", {"user_id": "user-okapi"})
    for _ in range(3):
        await client.get(path_of(memory["name"]))
    await client.get("/memories/unknown-okapi")
    await client.get("http://test/v1/nothing-okapi")
    await client.request("BREW-OKAPI", FIRST)
    answer = await client.get(_METRICS)
    after = answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert _counts(after, one) - _counts(before, one) == 3
    assert (
        _counts(after, one.replace("200", "404")) - _counts(before, one.replace("200", "404")) == 1
    )
    assert _counts(after, 'route="none",status="404"') > _counts(
        before, 'route="none",status="404"'
    )
    assert _counts(after, 'method="other"') - _counts(before, 'method="other"') == 1
    # Letters: any four digits stand in some duration one day.
    assert "okapi" not in after.lower()
    assert memory["name"].rpartition("/")[2] not in after
    assert "process_cpu_seconds_total" in after
