"""A system in a process of its own, and the CPU time that its work takes there and in Postgres."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import IO, Any

import psycopg
from sqlalchemy import make_url

from app.adapters.db import migrate
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.settings.settings import EmbedderChoice, Settings
from benchmarks.peers import embeddings
from benchmarks.peers.cpu import PostgresCpu, spent_by
from benchmarks.peers.ours import KEY
from benchmarks.peers.texts import TOP_K

ROOT = Path(__file__).parents[2]
PEERS = str(ROOT / ".venv/peers/bin/python")
"""Where the peers are installed."""
CALLERS = (1, 16)
_MAX_CONNECTIONS = 200


@dataclass(frozen=True)
class Entry:
    """A system that takes part."""

    title: str
    system: str
    """As the driver names it."""
    database: str
    kinds: tuple[str, ...] = ("search", "write")
    setting: Mapping[str, str] | None = None
    """Of our server; None: there is no server."""
    python: str = sys.executable
    """Of the process with its callers."""


@dataclass(frozen=True)
class Cell:
    """What one kind of operation took; CPU time in milliseconds for each."""

    p50: float
    p99: float
    per_second: float
    process: float
    """Of the server; where there is none, of the program with the library and the callers in it."""
    postgres: float
    callers: float
    """Of a server's callers, which are a program beside it; else 0."""
    short: float
    """The share of the searches that found fewer memories than were asked for."""

    @property
    def cpu(self) -> float:
        """Of the system and Postgres."""
        return self.process + self.postgres


@dataclass(frozen=True)
class Contender:
    """A system that runs."""

    entry: Entry
    driver: subprocess.Popen[str]
    server: int | None
    """Its process, where there is one."""
    postgres: PostgresCpu

    def load(self) -> None:
        """Give each user their memories."""
        self._ask(None)

    def measure(self, kind: str, callers: int, operations: int) -> Cell:
        """Run so many operations."""
        server, postgres = self._server_cpu(), self._postgres_cpu()
        found = self._ask([kind, callers, operations])
        server, postgres = self._server_cpu() - server, self._postgres_cpu() - postgres
        own = found["cpu_seconds"]
        served = self.server is not None
        percentiles = quantiles(found["milliseconds"], n=100, method="inclusive")
        return Cell(
            p50=percentiles[49],
            p99=percentiles[98],
            per_second=operations / found["seconds"],
            process=(server if served else own) / operations * 1000,
            postgres=postgres / operations * 1000,
            callers=own / operations * 1000 if served else 0.0,
            short=sum(one < TOP_K for one in found["found"] if kind == "search") / operations,
        )

    def _server_cpu(self) -> float:
        return 0.0 if self.server is None else spent_by(self.server)

    def _postgres_cpu(self) -> float:
        return self.postgres.spent_for(self.entry.database)

    def _ask(self, wanted: list[Any] | None) -> dict[str, Any]:
        assert self.driver.stdin is not None
        self.driver.stdin.write(json.dumps(wanted) + "\n")
        self.driver.stdin.flush()
        return _answer(self.driver)


def _answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"A process has ended: {process.args!r}")
    found: dict[str, Any] = json.loads(line)
    return found


@contextmanager
def embedding_server() -> Iterator[str]:
    """Start the server of embeddings, and yield its address."""
    with _running([sys.executable, "-m", "benchmarks.peers.embeddings"], {}) as process:
        yield f"http://127.0.0.1:{_answer(process)['port']}/v1"


@contextmanager
def contending(
    entry: Entry, postgres: EmbeddedPostgres, folder: Path, users: int, *, embedding: str | None
) -> Iterator[Contender]:
    """Start a system on its database of a Postgres.

    `embedding` is the address of the server that has the vectors; None: a table has them.
    """
    address = _database(postgres.url, entry.database)
    first = postgres.process_id
    assert first is not None
    with ExitStack() as stack:
        server = None
        if entry.setting is not None:
            setting = {**entry.setting, **_embedder(embedding)}
            server = stack.enter_context(_server(address, folder, setting))
            address = f"127.0.0.1:{_answer(server)['port']}"
        arguments = [entry.system, address, str(users), str(max(CALLERS))]
        command = [entry.python, "-m", "benchmarks.peers.driver", *arguments]
        # mem0 wants a key for the text model that it never asks here, and a folder of its own.
        kept = {"OPENAI_API_KEY": "unused", "MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder)}
        # Also where there is none, since the caller's shell may name another.
        kept[embeddings.VARIABLE] = embedding or ""
        driver = stack.enter_context(_running(command, kept))
        _answer(driver)
        yield Contender(entry, driver, server.pid if server else None, PostgresCpu(first))


def _embedder(url: str | None) -> dict[str, str]:
    """Return the settings of our server that say where vectors come from."""
    if url is None:
        return {"MEMORY_BANK_EMBEDDER": EmbedderChoice.HASH.value}
    return {
        "MEMORY_BANK_EMBEDDER": EmbedderChoice.HTTP.value,
        "MEMORY_BANK_EMBEDDING_BASE_URL": url,
        "MEMORY_BANK_EMBEDDING_MODEL": embeddings.MODEL,
    }


@contextmanager
def _server(
    address: str, folder: Path, setting: Mapping[str, str]
) -> Iterator[subprocess.Popen[str]]:
    migrate.upgrade(address)
    settings = {
        "MEMORY_BANK_DATABASE_URL": address,
        "MEMORY_BANK_DATA_DIR": str(folder),
        "MEMORY_BANK_ADMIN_KEY": KEY,
        "MEMORY_BANK_PORT": "0",
        # As in the image: the other form is for people at a terminal.
        "MEMORY_BANK_LOG_FORMAT": "json",
        # Connections wait while others are loaded and measured. Questions come again, and each is
        # embedded, as by the others, which remember none.
        "MEMORY_BANK_TUNING": json.dumps(
            {"header_seconds": 3600, "idle_seconds": 3600, "embedding_cache_entries": 0}
        ),
        **setting,
    }
    command = [sys.executable, "-m", "benchmarks.peers.served"]
    with (
        (folder / "server.log").open("a") as log,
        _running(command, settings, log) as process,
    ):
        try:
            yield process
        except RuntimeError:
            # The folder will be gone.
            sys.stderr.write((folder / "server.log").read_text()[-2_000:])
            raise


@contextmanager
def _running(
    command: list[str], variables: Mapping[str, str], errors: IO[str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        command,
        env={**os.environ, **variables},  # noqa: TID251 - its own variables, and a few more
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def _database(url: str, name: str) -> str:
    """Return the address of a database, which is made if it is not there."""
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        known = connection.execute("select from pg_database where datname = %s", [name])
        if known.fetchone() is None:
            connection.execute(f'create database "{name}"')
    found = make_url(url).set(database=name).render_as_string(hide_password=False)
    with closing(psycopg.connect(found, autocommit=True)) as connection:
        connection.execute("create extension if not exists vector")
    return found


@contextmanager
def quiet_postgres(folder: Path) -> Iterator[EmbeddedPostgres]:
    """Start a Postgres in which nothing is cleared up for one system while another is measured.

    It has connections for all of them at once, which are more than one server ever opens.
    """
    settings = Settings(data_dir=folder)
    with (
        EmbeddedPostgres(settings) as postgres,
        closing(psycopg.connect(postgres.url, autocommit=True)) as connection,
    ):
        connection.execute("alter system set autovacuum = off")
        connection.execute(f"alter system set max_connections = {_MAX_CONNECTIONS}")
    # What was set holds from the next start on.
    with EmbeddedPostgres(settings) as postgres:
        yield postgres


def settle(postgres: EmbeddedPostgres, databases: set[str]) -> None:
    """Do after the load what autovacuum would have done."""
    for name in databases:
        with closing(psycopg.connect(_database(postgres.url, name), autocommit=True)) as connection:
            connection.execute("vacuum analyze")
            connection.execute("checkpoint")
