"""What the service needs of the nodes of a cluster: settings, sweeps, and a worker that is away."""

import asyncio
from pathlib import Path

import httpx
from sqlalchemy import text

from app.kernel.errors import Reason
from app.memory.retrieval.store.nearest import EF_SEARCH, ScopeIndex, plan_for
from app.platform.checking.service import CheckOptions
from app.platform.upkeep.service import UpkeepService
from app.process.on_database import check_database
from app.process.worker import make_runner
from app.settings.settings import Settings
from tests.citus.conftest import Service
from tests.support.bank import ok
from tests.support.citus import Cluster, ask, node_of
from tests.support.errors import refusal
from tests.support.operations import create_memory
from tests.support.relays import Relay
from tests.support.sessions import append, create_session
from tests.support.tasks import store, text_output
from tests.support.workers import without_worker

_ENGINES = "http://test/v1beta1/projects/default/locations/local/reasoningEngines"
_OLD = """
    insert into audit_events (engine_id, create_time, event_id, method, result)
    select 1 + n %% 5, now() - n * interval '1 hour', n::text, 'memories.create', 'OK'
    from generate_series(1, 48) as n
"""
_SEEN = """
    select inet_server_port(), current_setting('hnsw.ef_search'), current_setting('enable_sort')
    from engines where engine_id = 1
"""


async def test_the_audit_log_is_swept(url: str, service: Service) -> None:
    _, resources = service
    ask(url, _OLD)
    await UpkeepService(resources).sweep()
    kept = "select count(*) from audit_events where event_id::bigint < 100"
    assert ask(url, kept) == [(23,)]


async def test_settings_of_a_search_reach_the_worker(cluster: Cluster, service: Service) -> None:
    _, resources = service
    async with resources.db.snapshot() as session:
        await plan_for(session, ScopeIndex(384))
        port, ef_search, sorts = (await session.execute(text(_SEEN))).one()
    assert port in {worker.port for worker in cluster.workers}
    assert (ef_search, sorts) == (str(EF_SEARCH), "off")


async def test_a_check_reads_data_of_every_kind(
    url: str, service: Service, settings: Settings
) -> None:
    client, resources = service
    await create_memory(client, "I like tea.")
    await create_session(client, "talk")
    await append(client, "/sessions/talk", "hello")
    ok(await store(client, text_output("Tomatoes need sunshine.", name="a")))
    await make_runner(resources).run_pending()
    for options in (CheckOptions(is_full=True), CheckOptions(engine_id=1)):
        report = await check_database(settings, url, options)
        assert report.is_whole, "\n".join(report.lines())


async def _status(client: httpx.AsyncClient, engine: object) -> set[int]:
    """Return the statuses of a write and a read in an engine."""
    memory = {"fact": "I like tea.", "scope": {"user_id": "1"}}
    path = f"{_ENGINES}/{engine}/memories"
    answers = [await client.post(path, json=memory), await client.get(path)]
    return {answer.status_code for answer in answers}


async def _engines(client: httpx.AsyncClient, url: str) -> dict[object, list[object]]:
    """Return engines by the port of the worker that holds them, at least one on each of two."""
    places: dict[object, list[object]] = {}
    while len(places) < 2:
        ok(await client.post(_ENGINES, json={"displayName": "another"}))
        places = {}
        for (engine,) in ask(url, "select engine_id from engines"):
            places.setdefault(node_of(url, int(str(engine))).port, []).append(engine)
    return places


async def test_engines_of_a_worker_that_stops_answer_503_and_others_go_on(
    relayed: tuple[str, Relay], tmp_path: Path
) -> None:
    url, before = relayed
    async with without_worker(url, tmp_path, embedder="hash") as (client, resources):
        places = await _engines(client, url)
        (lost, *_), kept = places.pop(before.address.port), places.popitem()[1]
        assert await _status(client, lost) == {200}

        before.close()

        refused = await client.get(f"{_ENGINES}/{lost}/memories")
        assert refusal(refused) == (503, "UNAVAILABLE", Reason.DATABASE_UNAVAILABLE)
        assert await _status(client, lost) == {503}
        assert await _status(client, kept[0]) == {200}
        await resources.db.nodes.look(age_seconds=0)
        ready = await client.get("http://test/readyz")
        assert (ready.status_code, ready.json()["status"]) == (200, "ok")
        assert ready.json()["checks"]["degraded"] == str(before.address)

        before.open()

        async with asyncio.timeout(3):
            while await resources.db.nodes.look():  # noqa: ASYNC110 - others tell of it, too
                await asyncio.sleep(0.1)
        assert await _status(client, lost) == {200}
        assert "degraded" not in (await client.get("http://test/readyz")).json()["checks"]
