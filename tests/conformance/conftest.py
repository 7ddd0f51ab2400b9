"""A running server with its own data, the official clients, and a bank per test."""

import asyncio
import gc
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.live import KEY, LiveServer
from tests.support.official import Bank, Client, at, new_engine, platform_client, vertex_client
from tests.support.serving import serving

_FOLDER = Path(__file__).parent
_CLIENTS_POLL_SECONDS = 0.5
_POLL_SECONDS = 0.05
# What the clients themselves do, and no more.
_WARNINGS = (
    "ignore:The vertexai.Client class is deprecated:FutureWarning",
    "ignore:Using `@model_validator` with mode='after' on a classmethod:DeprecationWarning",
    "ignore:Inheritance class AiohttpClientSession from ClientSession:DeprecationWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if item.path.is_relative_to(_FOLDER):
            item.add_marker(pytest.mark.conformance)
            for warning in _WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(scope="package", autouse=True)
def _clients_poll_sooner() -> Iterator[None]:
    """Have the clients ask for an operation again sooner than after half a second, their interval.

    Most operations end within a tenth of it.
    """
    blocking, awaited = time.sleep, asyncio.sleep

    def shorter(seconds: float) -> float:
        return _POLL_SECONDS if seconds == _CLIENTS_POLL_SECONDS else seconds

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", lambda seconds: blocking(shorter(seconds)))
        patch.setattr(asyncio, "sleep", lambda delay, result=None: awaited(shorter(delay), result))
        yield


@pytest.fixture(scope="session")
def server(pytestconfig: pytest.Config) -> Iterator[LiveServer]:
    """A server as users start it; with `--on-citus`, on a distributed database."""
    # Short, since a Unix socket's path may have about 100 characters.
    folder = Path(tempfile.mkdtemp(prefix="omb-"))
    folder.chmod(0o755)
    with serving(pytestconfig, folder) as found:
        yield found
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def http(server: LiveServer) -> Iterator[httpx.Client]:
    """Plain HTTP, for what the official clients do not show."""
    with httpx.Client(
        base_url=f"{server.url}/v1beta1/", headers={"Authorization": f"Bearer {KEY}"}
    ) as found:
        yield found


@pytest.fixture(scope="session")
def vertex(server: LiveServer) -> Client:
    """The `vertexai` client."""
    return vertex_client(**at(server.url))


@pytest.fixture(scope="session")
def platform(server: LiveServer) -> Client:
    """The `agentplatform` client."""
    return platform_client(**at(server.url))


@pytest.fixture(scope="session")
async def aio(server: LiveServer) -> AsyncIterator[Client]:
    """The asynchronous half of a `vertexai` client."""
    client = vertex_client(**at(server.url))
    yield client.aio
    await client.aio.aclose()
    # Its transport would otherwise be found unclosed by whatever test runs next.
    del client
    gc.collect()


@pytest.fixture
def engine(http: httpx.Client) -> str:
    """The full name of an engine without memories."""
    return new_engine(http)


@pytest.fixture
def bank(vertex: Client, engine: str) -> Bank:
    """A bank without memories."""
    return Bank(vertex, engine)


@pytest.fixture(scope="module")
def shared_bank(vertex: Client, http: httpx.Client) -> Bank:
    """A bank for a file's tests, which fill it once and then only read."""
    return Bank(vertex, new_engine(http))
