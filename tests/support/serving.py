"""A live server of the official clients' tests, on the database that the run's options ask for."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.citus import Cluster
from tests.support.live import LiveServer, live_server
from tests.support.workers import worker

_PREFIX = "MEMORY_BANK_"


@contextmanager
def serving(config: pytest.Config, data_dir: Path, **environment: str) -> Iterator[LiveServer]:
    """Serve beside the block, with a worker; with `--on-citus`, on a distributed database.

    On any other than the embedded database, the worker is a process of its own.
    """
    with ExitStack() as stack:
        if config.getoption("--on-citus"):
            url = stack.enter_context(Cluster.given().distributed())
            given: dict[str, Any] = {
                name.removeprefix(_PREFIX).lower(): value for name, value in environment.items()
            }
            stack.enter_context(worker(url, worker_port=0, **given))
            environment[f"{_PREFIX}DATABASE_URL"] = url
        yield stack.enter_context(live_server(data_dir, **environment))
