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
from tests.support.citus_moves import (
    BLOCKING,
    ISOLATE,
    ONLINE,
    REBALANCE,
    SPLIT,
    elsewhere,
    move,
    place_of,
)
from tests.support.citus_writers import Writers, facts
from tests.support.totals import held, recounted
from tests.support.workers import without_worker

_ENGINES = "http://test/v1beta1/projects/default/locations/local/reasoningEngines"
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


@pytest.mark.parametrize("mode", [ONLINE, BLOCKING])
async def test_a_shard_moves(cluster: Cluster, url: str, service: Service, mode: str) -> None:
    engine = _id(service.engines[0])
    place = elsewhere(cluster, url, engine)
    writers = await service.survives(url, move(mode), values=(*place, engine))
    assert set(writers.statuses) == {200}
    assert place_of(url, engine) == place


async def test_an_engine_gets_a_shard_of_its_own(url: str, service: Service) -> None:
    ((before,),) = ask(url, _SHARDS)
    await service.survives(url, ISOLATE, values=[_id(service.engines[1])])
    assert ask(url, _SHARDS) > [(before,)]


async def test_an_engine_gets_a_shard_of_its_own_online(
    cluster: Cluster, url: str, service: Service
) -> None:
    engine = _id(service.engines[2])
    place = elsewhere(cluster, url, engine)
    ((before,),) = ask(url, _SHARDS)
    await service.survives(url, SPLIT, values=(engine, *place))
    assert ask(url, _SHARDS) > [(before,)]
    assert place_of(url, engine) == place


async def test_shards_move_to_a_new_worker(cluster: Cluster, url: str, service: Service) -> None:
    if len(cluster.workers) < 3:
        pytest.skip("needs a third worker")
    assert cluster.command(url, workers=3).returncode == 0
    await service.survives(url, *REBALANCE)
    assert ask(url, _PLACES) == [(3,)]
