"""What the service needs of the nodes of a cluster: settings, sweeps, and a worker that is away."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import text

from app.memory.retrieval.store.nearest import EF_SEARCH, ScopeIndex, plan_for
from app.platform.upkeep.service import UpkeepService
from tests.citus.conftest import Service
from tests.support.bank import ok
from tests.support.citus import Cluster, ask
from tests.support.live import free_port

_ENGINES = "http://test/v1beta1/projects/default/locations/local/reasoningEngines"
_OLD = """
    insert into audit_events (engine_id, create_time, event_id, method, result)
    select n %% 5, now() - n * interval '1 hour', n::text, 'memories.create', 'OK'
    from generate_series(1, 48) as n
"""
_SEEN = """
    select inet_server_port(), current_setting('hnsw.ef_search'), current_setting('enable_sort')
    from engines where engine_id = 1
"""
_PLACE = """
    select nodeport from citus_shards
    where shardid = get_shard_id_for_distribution_column('engines', %s)
"""


async def test_the_audit_log_is_swept(url: str, service: Service) -> None:
    _, resources = service
    ask(url, _OLD)
    await UpkeepService.of(resources).sweep()
    kept = "select count(*) from audit_events where event_id::bigint < 100"
    assert ask(url, kept) == [(23,)]


async def test_settings_of_a_search_reach_the_worker(cluster: Cluster, service: Service) -> None:
    _, resources = service
    async with resources.db.snapshot() as session:
        await plan_for(session, ScopeIndex(384))
        port, ef_search, sorts = (await session.execute(text(_SEEN))).one()
    assert port in {worker.port for worker in cluster.workers}
    assert (ef_search, sorts) == (str(EF_SEARCH), "off")


@contextmanager
def out_of_reach(url: str, port: int) -> Iterator[None]:
    """Have the coordinator find nobody in place of a worker, in this database alone."""
    closed = free_port()
    ask(url, "update pg_dist_node set nodeport = %s where nodeport = %s", closed, port)
    try:
        yield
    finally:
        ask(url, "update pg_dist_node set nodeport = %s where nodeport = %s", port, closed)


async def test_engines_of_a_worker_that_is_away_answer_503_and_others_go_on(
    url: str, service: Service
) -> None:
    client, _ = service
    places: dict[object, list[object]] = {}
    while len(places) < 2:
        ok(await client.post(_ENGINES, json={"displayName": "another"}))
        places = {}
        for (engine,) in ask(url, "select engine_id from engines"):
            ((port,),) = ask(url, _PLACE, engine)
            places.setdefault(port, []).append(engine)
    (away, lost), (_, kept) = places.items()

    async def statuses(engine: object) -> list[int]:
        memory = {"fact": "I like tea.", "scope": {"user_id": "1"}}
        path = f"{_ENGINES}/{engine}/memories"
        answers = [await client.post(path, json=memory), await client.get(path)]
        return [answer.status_code for answer in answers]

    assert await statuses(lost[0]) == [200, 200]
    with out_of_reach(url, int(str(away))):
        assert await statuses(lost[0]) == [503, 503]
        assert await statuses(kept[0]) == [200, 200]
    assert await statuses(lost[0]) == [200, 200]
