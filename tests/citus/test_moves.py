"""Shards move and are split under three writers: nothing that was acknowledged is lost."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from app.adapters.resources import Resources
from tests.support.bank import ok
from tests.support.citus import Cluster, ask
from tests.support.citus_writers import Writers, facts
from tests.support.totals import held, recounted
from tests.support.workers import without_worker

_ENGINES = "http://test/v1beta1/projects/default/locations/local/reasoningEngines"
_PLACE = """
    select nodename, nodeport from citus_shards
    where shardid = get_shard_id_for_distribution_column('engines', %s)
"""
_MOVE = """
    select citus_move_shard_placement(shardid, nodename, nodeport, %s, %s, '{mode}')
    from citus_shards where shardid = get_shard_id_for_distribution_column('engines', %s)
"""
_ISOLATE = "select isolate_tenant_to_new_shard('engines', %s, 'cascade', 'block_writes')"
# Citus isolates online only onto another node: on the same one, the parts have no keys at first, by
# which changes that came meanwhile could be made there, and the copy waits for ever.
_SPLIT = """
    with cut as (
        select shardid, array_agg(point::text order by point) as points
        from (select %s::bigint as engine) as given,
            worker_hash(engine) as hash, pg_dist_shard as shard,
            unnest(array[hash - 1, hash]) as point
        where shardid = get_shard_id_for_distribution_column('engines', engine)
            and point >= shardminvalue::int and point < shardmaxvalue::int
        group by shardid
    )
    select citus_split_shard_by_split_points(
        shardid, points, array_fill(nodeid, array[cardinality(points) + 1]), 'force_logical'
    )
    from cut, pg_dist_node where nodename = %s and nodeport = %s
"""
_SHARDS = "select count(*) from pg_dist_shard where logicalrelid = 'engines'::regclass"
_PLACES = "select count(distinct (nodename, nodeport)) from citus_shards"


@pytest.fixture(scope="module")
def url(cluster: Cluster) -> Iterator[str]:
    with cluster.distributed() as found:
        yield found


@dataclass(frozen=True)
class Service:
    """The service on the cluster, and paths of its engines."""

    client: httpx.AsyncClient
    resources: Resources
    engines: Sequence[str]

    async def survives(self, url: str, *statements: str, values: Sequence[object] = ()) -> Writers:
        """Run statements under three writers; check that all is there that they have written."""
        writers = Writers(self.client, self.engines)
        async with writers.writing():
            for statement in statements:
                await asyncio.to_thread(ask, url, statement, *values)
        # What is refused since a shard has just been split is taken when it is sent again.
        assert set(writers.statuses) <= {200, 503}
        assert set(writers.repeated) <= {200}
        for engine, acknowledged in writers.acknowledged.items():
            assert acknowledged <= set(await facts(self.client, engine))
        assert await held(self.resources.db) == await recounted(self.resources.db)
        return writers


@pytest.fixture
async def service(url: str, tmp_path: Path) -> AsyncIterator[Service]:
    options = {"embedder": "hash", "log_level": "WARNING"}
    async with without_worker(url, tmp_path, **options) as (client, resources):
        while len(engines := await _engines(client)) < 3:
            ok(await client.post(_ENGINES, json={"displayName": "another"}))
        yield Service(client, resources, [f"http://test/v1beta1/{name}" for name in engines])


async def _engines(client: httpx.AsyncClient) -> list[str]:
    return [engine["name"] for engine in ok(await client.get(_ENGINES))["reasoningEngines"]]


def _id(path: str) -> int:
    return int(path.rpartition("/")[2])


def elsewhere(cluster: Cluster, url: str, engine: int) -> tuple[object, ...]:
    """Return the place that does not hold the engine, of the first two workers."""
    (place,) = ask(url, _PLACE, engine)
    (other,) = {(worker.host, worker.port) for worker in cluster.workers[:2]} - {place}
    return other


@pytest.mark.parametrize("mode", ["force_logical", "block_writes"])
async def test_a_shard_moves(cluster: Cluster, url: str, service: Service, mode: str) -> None:
    engine = _id(service.engines[0])
    place = elsewhere(cluster, url, engine)
    writers = await service.survives(url, _MOVE.format(mode=mode), values=(*place, engine))
    assert set(writers.statuses) == {200}
    assert ask(url, _PLACE, engine) == [place]


async def test_an_engine_gets_a_shard_of_its_own(url: str, service: Service) -> None:
    ((before,),) = ask(url, _SHARDS)
    await service.survives(url, _ISOLATE, values=[_id(service.engines[1])])
    assert ask(url, _SHARDS) > [(before,)]


async def test_an_engine_gets_a_shard_of_its_own_online(
    cluster: Cluster, url: str, service: Service
) -> None:
    engine = _id(service.engines[2])
    place = elsewhere(cluster, url, engine)
    ((before,),) = ask(url, _SHARDS)
    await service.survives(url, _SPLIT, values=(engine, *place))
    assert ask(url, _SHARDS) > [(before,)]
    assert ask(url, _PLACE, engine) == [place]


async def test_shards_move_to_a_new_worker(cluster: Cluster, url: str, service: Service) -> None:
    if len(cluster.workers) < 3:
        pytest.skip("needs a third worker")
    assert cluster.command(url, workers=3).returncode == 0
    # The job is seen once the statement that starts it has ended.
    await service.survives(url, "select citus_rebalance_start()", "select citus_rebalance_wait()")
    assert ask(url, _PLACES) == [(3,)]
