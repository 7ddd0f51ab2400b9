"""A cluster that is named by a variable; without it, no test of this folder runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.citus import MISSING, Cluster, is_given

_FOLDER = Path(__file__).parent


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
