"""A cluster that is named by a variable; without it, no test of this folder runs."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.adapters.resources import Resources
from tests.support.citus import MISSING, Cluster, is_given
from tests.support.relays import Relay
from tests.support.workers import without_worker

_FOLDER = Path(__file__).parent
_DAY_SECONDS = 86_400

Service = tuple[httpx.AsyncClient, Resources]
"""A client of the first engine of a service, and its resources."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder, and skip it where there is no cluster."""
    for item in items:
        if item.path.is_relative_to(_FOLDER):
            item.add_marker(pytest.mark.citus)
            if not is_given():
                item.add_marker(pytest.mark.skip(reason=MISSING))


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    return Cluster.given()


@pytest.fixture
def empty_url(cluster: Cluster) -> Iterator[str]:
    """A database on all nodes that holds nothing."""
    with cluster.database() as url:
        yield url


@pytest.fixture
def url(cluster: Cluster) -> Iterator[str]:
    """A distributed database."""
    with cluster.distributed() as found:
        yield found


@pytest.fixture
def relayed(cluster: Cluster) -> Iterator[tuple[str, Relay]]:
    """A distributed database whose first worker is behind a relay, and that relay."""
    with cluster.relayed() as found:
        yield found


@pytest.fixture
async def service(url: str, tmp_path: Path) -> AsyncIterator[Service]:
    """A service on a distributed database, without a worker."""
    options: dict[str, Any] = {"embedder": "hash", "audit_retention_seconds": _DAY_SECONDS}
    async with without_worker(url, tmp_path, **options) as opened:
        yield opened
