"""A live server on the loopback address: the command that users start, in its own process."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx

from tests.support import forks
from tests.support.clusters import fill
from tests.support.variables import with_constants

KEY = "live-server-admin-key"
_START_SECONDS = 60

_PROGRAM = ("-m", "app.process.cli")

_Starting = Callable[[Sequence[str], Mapping[str, str], IO[bytes], IO[bytes]], forks.Process]


@dataclass(frozen=True)
class LiveServer:
    """A running server."""

    port: int
    process: forks.Process

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def start_in_steps(data_dir: Path, port: int, rows: int) -> LiveServer:
    """Start a server whose long work takes few rows at a time, so that it has many steps."""
    return start(
        data_dir,
        port,
        MEMORY_BANK_EMBEDDER="hash",
        MEMORY_BANK_LOG_LEVEL="WARNING",
        MEMORY_BANK_SWEEP_BATCH_ROWS=str(rows),
    )


def start(
    data_dir: Path,
    port: int | None = None,
    program: Sequence[str] = _PROGRAM,
    **environment: str,
) -> LiveServer:
    """Start `memory-bank serve`, or a program that does it, and wait until it answers.

    In an empty data folder it finds a migrated database, unless it is given another one.
    """
    return _start(forks.start, data_dir, port, program, environment)


def _start(
    starting: _Starting,
    data_dir: Path,
    port: int | None,
    program: Sequence[str],
    environment: Mapping[str, str],
) -> LiveServer:
    if "MEMORY_BANK_DATABASE_URL" not in environment:
        fill(data_dir)
    port = port or free_port()
    arguments = [*program, "serve", "--port", str(port), "--data-dir", str(data_dir)]
    variables = {**os.environ, "MEMORY_BANK_ADMIN_KEY": KEY, **with_constants(environment)}
    with (data_dir / "stdout").open("ab") as output, (data_dir / "stderr").open("ab") as errors:
        process = starting(arguments, variables, output, errors)
    server = LiveServer(port, process)
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{server.url}/readyz").status_code == 200:
                return server
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    process.kill()
    raise AssertionError(f"no answer: {(data_dir / 'stderr').read_text()[-2000:]}")


def stop(server: LiveServer) -> None:
    """Stop a server as an operator does, and make sure that it does."""
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=30) == 0


@contextmanager
def live_server(data_dir: Path, **environment: str) -> Iterator[LiveServer]:
    server = start(data_dir, None, **environment)
    try:
        yield server
    finally:
        stop(server)


def start_fresh(data_dir: Path, **environment: str) -> LiveServer:
    """Start a server by a Python that has imported nothing before, as an operator does."""
    # Modules are compiled once, not at every start, whatever the caller's shell says.
    variables = {**environment, "PYTHONDONTWRITEBYTECODE": ""}
    return _start(forks.start_anew, data_dir, None, _PROGRAM, variables)


@contextmanager
def fresh_server(data_dir: Path, **environment: str) -> Iterator[LiveServer]:
    """Serve beside the block by a Python that has imported nothing before."""
    server = start_fresh(data_dir, **environment)
    try:
        yield server
    finally:
        stop(server)
