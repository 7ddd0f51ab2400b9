"""A worker node that is down or hangs takes its own engines, and nothing else."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import httpx
import pytest

from app.adapters.resources import Resources
from app.kernel.errors import Reason
from app.platform.checking.service import CheckOptions
from app.process.main import create_app
from app.process.on_database import check_database
from app.process.worker import make_runner
from app.settings.settings import Settings
from app.web.headers import NODES_AWAY
from tests.support.bank import id_of, ok
from tests.support.citus import Cluster, node_of
from tests.support.console import browser, sign_in
from tests.support.errors import refusal
from tests.support.operations import USER
from tests.support.relays import Relay
from tests.support.workers import without_worker

_ADMIN = "workers-own-admin-key"
_KEYS = "http://test/v1beta1/keys"
_ENGINES = "http://test/v1beta1/projects/default/locations/local/reasoningEngines"
_SEARCH = {"scope": USER, "similaritySearchParams": {"searchQuery": "What do I drink?"}}
_MOST_SECONDS = 1.0
_NAMED_SECONDS = 5.0

Take = Callable[[Relay], None]
"""Has the node behind a relay go away."""


@dataclass(frozen=True)
class Bank:
    """A service with an engine on each of two nodes, one of which may go away."""

    client: httpx.AsyncClient
    person: httpx.AsyncClient
    """A browser."""
    resources: Resources
    settings: Settings
    relay: Relay
    url: str
    here: str
    """An engine of the node that stays."""
    there: str
    """An engine of the other one."""

    async def soon(self, method: str, url: str, **options: object) -> httpx.Response:
        """Ask, and check that the answer comes within a second."""
        began = monotonic()
        answer = await self.client.request(method, url, **options)  # type: ignore[arg-type]
        assert monotonic() - began < _MOST_SECONDS, (method, url, answer.status_code)
        return answer


@pytest.fixture(params=[Relay.close, Relay.hang], ids=["down", "hangs"])
def take(request: pytest.FixtureRequest) -> Take:
    found: Take = request.param
    return found


def give_back(relay: Relay) -> None:
    """Have the node behind a relay return."""
    relay.go_on()
    relay.close()
    relay.open()


@pytest.fixture
def relayed(cluster: Cluster) -> Iterator[tuple[str, Relay]]:
    """A database whose node behind the relay would hold engine 0, which no engine is."""
    with cluster.relayed(place=1) as (url, relay):
        assert node_of(url, 0) == relay.address
        try:
            yield url, relay
        finally:
            give_back(relay)


@pytest.fixture
async def bank(
    relayed: tuple[str, Relay], settings: Settings, tmp_path: Path
) -> AsyncIterator[Bank]:
    url, relay = relayed
    async with without_worker(url, tmp_path, _ADMIN, embedder="hash") as (client, resources):
        engines: dict[bool, str] = {}
        while len(engines) < 2:
            made = ok(await client.post(_ENGINES, json={"displayName": "one"}))
            engine = made["response"]["name"].rpartition("/")[2]
            engines[node_of(url, int(engine)) == relay.address] = f"{_ENGINES}/{engine}"
        for engine in engines.values():
            body = {"scope": USER, "fact": "I drink tea."}
            ok(await client.post(f"{engine}/memories", json=body))
        async with browser(create_app(resources)) as person:
            # The first page is slow whatever there is.
            await sign_in(person, _ADMIN)
            yield Bank(
                client, person, resources, settings, relay, url, engines[False], engines[True]
            )


@asynccontextmanager
async def _beside_requests_for_it(bank: Bank) -> AsyncIterator[None]:
    """Keep asking for the engine of the node that is away, by many clients, beside the block."""

    ended = asyncio.Event()

    async def ask() -> None:
        while not ended.is_set():
            answer = await bank.client.post(f"{bank.there}/memories:retrieve", json=_SEARCH)
            assert answer.status_code == 503, answer.text
            await asyncio.sleep(0.2)

    asking = [asyncio.create_task(ask()) for _ in range(12)]
    try:
        yield
    finally:
        ended.set()
        await asyncio.gather(*asking)


async def _search(bank: Bank) -> None:
    ok(await bank.soon("POST", f"{bank.here}/memories:retrieve", json=_SEARCH))


async def _create(bank: Bank) -> None:
    body = {"scope": {"user_id": "2"}, "fact": f"I like the number {random.random()}."}
    ok(await bank.soon("POST", f"{bank.here}/memories", json=body))


async def _create_engine(bank: Bank) -> None:
    made = ok(await bank.soon("POST", _ENGINES, json={"displayName": "new"}))
    name = made["response"]["name"]
    assert node_of(bank.url, int(name.rpartition("/")[2])) != bank.relay.address


async def _sign_in(bank: Bank) -> None:
    began = monotonic()
    await sign_in(bank.person, _ADMIN)
    assert monotonic() - began < _MOST_SECONDS
    answer = await bank.person.get("/console")
    assert answer.status_code == 200


async def _revoke(bank: Bank) -> None:
    made = ok(await bank.soon("POST", _KEYS, json={"displayName": "new", "roles": ["user"]}))
    ok(await bank.soon("POST", f"{_KEYS}/{id_of(made)}:rotate", json={}))
    ok(await bank.soon("POST", f"{_KEYS}/{id_of(made)}:revoke"))


async def _erase(bank: Bank) -> None:
    scope = {"user_id": str(random.random())}
    asked = ok(await bank.soon("POST", f"{bank.here}:eraseScope", json={"scope": scope}))
    await make_runner(bank.resources).run_pending()
    done = ok(await bank.soon("GET", f"http://test/v1beta1/{asked['name']}"))
    assert done["done"], done


async def _check(bank: Bank) -> None:
    engine_id = int(bank.here.rpartition("/")[2])
    report = await check_database(bank.settings, bank.url, CheckOptions(engine_id=engine_id))
    assert report.is_whole, "\n".join(report.lines())


async def _list(bank: Bank) -> None:
    answer = await bank.client.get(_ENGINES)
    listed = {engine["name"].rpartition("/")[2] for engine in ok(answer)["reasoningEngines"]}
    assert answer.headers[NODES_AWAY] == str(bank.relay.address)
    assert bank.here.rpartition("/")[2] in listed
    assert bank.there.rpartition("/")[2] not in listed


_DONE: list[tuple[Callable[[Bank], Awaitable[None]], int]] = [
    (_search, 40),
    (_create, 20),
    (_create_engine, 12),
    (_sign_in, 1),
    (_revoke, 1),
    (_erase, 1),
    (_check, 1),
    (_list, 2),
]


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_node_that_is_away_takes_its_own_engines_alone(
    bank: Bank, take: Take, seed: int
) -> None:
    """Whatever the order, while its own engines are asked for all the time."""
    steps = [step for step, count in _DONE for _ in range(count)]
    random.Random(seed).shuffle(steps)
    take(bank.relay)
    async with _beside_requests_for_it(bank):
        began = monotonic()
        for step in steps:
            async with asyncio.timeout(_NAMED_SECONDS):
                await step(bank)
            if monotonic() - began < _NAMED_SECONDS:
                looked = await bank.client.get("http://test/readyz")
                assert looked.status_code == 200, looked.text
        ready = ok(await bank.soon("GET", "http://test/readyz"))
        assert ready["checks"]["degraded"] == str(bank.relay.address)
        refused = await bank.soon("GET", f"{bank.there}/memories")
        assert refusal(refused) == (503, "UNAVAILABLE", Reason.DATABASE_UNAVAILABLE)


async def test_a_node_that_returns_is_served_again(bank: Bank, take: Take) -> None:
    take(bank.relay)
    assert (await bank.client.get(f"{bank.there}/memories")).status_code == 503
    give_back(bank.relay)
    async with asyncio.timeout(_NAMED_SECONDS):
        while (await bank.client.get(f"{bank.there}/memories")).status_code != 200:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.2)
    assert "degraded" not in ok(await bank.client.get("http://test/readyz"))["checks"]
    answer = await bank.client.get(_ENGINES)
    assert NODES_AWAY not in answer.headers
    assert len(ok(answer)["reasoningEngines"]) >= 2
