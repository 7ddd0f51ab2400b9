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
_SHARD = "get_shard_id_for_distribution_column('engines', {engine})"
_MOVE = """
    select citus_move_shard_placement(shardid, nodename, nodeport, %s, %s, '{mode}')
    from citus_shards
    where table_name = 'engines'::regclass and (nodename, nodeport) <> (%s, %s)
        and shardid = get_shard_id_for_distribution_column('engines', %s)
"""
_ISOLATE = "select isolate_tenant_to_new_shard('engines', %s, 'cascade', '{mode}')"
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

    async def survives(self, url: str, statement: str, *values: object) -> Writers:
        """Run a statement under three writers; check that all is there that they have written."""
        writers = Writers(self.client, self.engines)
        async with writers.writing():
            await asyncio.to_thread(ask, url, statement, *values)
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


@pytest.mark.parametrize("mode", ["force_logical", "block_writes"])
async def test_a_shard_moves(cluster: Cluster, url: str, service: Service, mode: str) -> None:
    engine = _id(service.engines[0])
    (source,) = ask(
        url,
        "select nodename, nodeport from citus_shards where shardid ="
        " get_shard_id_for_distribution_column('engines', %s)",
        engine,
    )
    (target,) = [each for each in cluster.workers[:2] if (each.host, each.port) != source]
    place = (target.host, target.port)

    writers = await service.survives(url, _MOVE.format(mode=mode), *place, *place, engine)

    assert set(writers.statuses) == {200}
    assert ask(
        url,
        "select nodename, nodeport from citus_shards where shardid ="
        " get_shard_id_for_distribution_column('engines', %s)",
        engine,
    ) == [place]


@pytest.mark.parametrize(("mode", "number"), [("block_writes", 1), ("force_logical", 2)])
async def test_an_engine_gets_a_shard_of_its_own(
    url: str, service: Service, mode: str, number: int
) -> None:
    ((before,),) = ask(url, _SHARDS)
    writers = await service.survives(url, _ISOLATE.format(mode=mode), _id(service.engines[number]))
    assert set(writers.statuses) <= {200, 409, 503}
    assert ask(url, _SHARDS)[0][0] > before


async def test_shards_move_to_a_new_worker(cluster: Cluster, url: str, service: Service) -> None:
    if len(cluster.workers) > 2:
        assert cluster.command(url, workers=3).returncode == 0
    writers = await service.survives(
        url, "select citus_rebalance_wait() from citus_rebalance_start()"
    )
    assert set(writers.statuses) <= {200, 503}
    assert ask(url, _PLACES) == [(min(len(cluster.workers), 3),)]
