"""A server killed with -9, again and again, while its worker is at one long operation."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support import live
from tests.support.traffic import open_client

_LONGEST_PAUSE_SECONDS = 0.3
_POLL_SECONDS = 0.05
_SOON_SECONDS = 300


class MortalServer:
    """A server in small steps that is started again, in one folder and on one port."""

    def __init__(self, folder: Path, rows: int) -> None:
        self._folder, self._rows = folder, rows
        self._live = live.start_in_steps(folder, live.free_port(), rows)

    def client(self) -> httpx.Client:
        """Open a client of the server that runs now."""
        return open_client(self._live.url)

    def kill_during(self, name: str, kills: int) -> None:
        """Kill the server at some moments; in most of them the operation must be running."""
        hits = sum(self._kill(name) for _ in range(kills))
        assert hits >= kills / 2

    def ended(self, name: str) -> Any:
        """Wait for the end of an operation; return its response."""
        deadline = time.monotonic() + _SOON_SECONDS
        with self.client() as client:
            while not (operation := _get(client, name)).get("done"):
                assert time.monotonic() < deadline
                time.sleep(_POLL_SECONDS)
        return operation["response"]

    def stop(self) -> None:
        """Stop the server as an operator does."""
        live.stop(self._live)

    def _kill(self, name: str) -> bool:
        """Kill the server once; return True if the operation had not ended before."""
        time.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))
        with self.client() as client:
            is_running = not _get(client, name).get("done")
        self._live.process.kill()
        self._live.process.wait()
        self._live = live.start_in_steps(self._folder, self._live.port, self._rows)
        return is_running


@contextmanager
def mortal_server(folder: Path, rows: int) -> Iterator[MortalServer]:
    """Run a server that takes so many rows a step."""
    server = MortalServer(folder, rows)
    try:
        yield server
    finally:
        server.stop()


def _get(client: httpx.Client, name: str) -> Any:
    return client.get(f"/v1beta1/{name}").json()
