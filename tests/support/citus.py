"""Databases on a Citus cluster that somebody runs for the tests: `MEMORY_BANK_TEST_CITUS_URL`."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from subprocess import CompletedProcess
from uuid import uuid4

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from app.adapters.db import migrate
from app.adapters.db.distribution import Address
from tests.support.commands import command
from tests.support.relays import Relay, relay

VARIABLE = "MEMORY_BANK_TEST_CITUS_URL"
MISSING = f"{VARIABLE} names no Citus coordinator"
SHARDS = 4
_JOINING = 20261126
_NODES = (
    "select nodename, nodeport, groupid from pg_dist_node where noderole = 'primary' order by 3"
)

_NODE_OF = """
    select nodename, nodeport from citus_shards
    where shardid = get_shard_id_for_distribution_column('engines', %s::bigint)
"""


def is_given() -> bool:
    """Return True if there is a cluster to test on."""
    return bool(os.environ.get(VARIABLE))


@dataclass(frozen=True)
class Cluster:
    """The nodes of a cluster, and how to log in to them.

    Attributes:
        url: a database on the coordinator that knows the workers.
        coordinator: its address, as the workers reach it.
        workers: their addresses.
    """

    url: str
    coordinator: Address
    workers: Sequence[Address]

    @classmethod
    def given(cls) -> "Cluster":
        """Return the cluster of the variable."""
        url = os.environ[VARIABLE]
        with psycopg.connect(url) as connection:
            nodes = connection.execute(_NODES).fetchall()
            own = Address(connection.info.host, connection.info.port)
        known = [Address(host, port) for host, port, group in nodes if group == 0]
        workers = [Address(host, port) for host, port, group in nodes if group != 0]
        assert len(workers) >= 2, f"{VARIABLE} must name a coordinator that knows two workers"
        return cls(url, next(iter(known), own), workers)

    @contextmanager
    def database(self) -> Iterator[str]:
        """Make a database of a new name on all nodes, without any extension, for the block."""
        name = f"omb_{uuid4().hex[:12]}"
        nodes = [self.coordinator, *self.workers]
        try:
            for node in nodes:
                self._run(node, "create database {}", name)
            yield make_url(self.url).set(database=name).render_as_string(hide_password=False)
        finally:
            for node in nodes:
                self._run(node, "drop database if exists {} with (force)", name)

    def _run(self, node: Address, statement: str, name: str) -> None:
        with psycopg.connect(node.within(self.url), autocommit=True) as connection:
            # The command is for each node alone.
            connection.execute("set citus.enable_ddl_propagation = off")
            connection.execute(sql.SQL(statement).format(sql.Identifier(name)))

    def arguments(self, *options: str, workers: int = 2) -> list[str]:
        """Return the words of the command that distributes over the first workers."""
        named = [f"--worker={each}" for each in self.workers[:workers]]
        return ["distribute", f"--coordinator={self.coordinator}", *named, *options]

    @contextmanager
    def joining(self) -> Iterator[None]:
        """Let no other process of the tests add nodes or roles in the block.

        A node that joins is told all roles, which its databases share: two at once fail.
        """
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("select pg_advisory_lock(%s)", [_JOINING])
            yield

    def command(self, url: str, *options: str, workers: int = 2) -> "CompletedProcess[str]":
        """Run that command."""
        with self.joining():
            return command(*self.arguments(*options, workers=workers), database_url=url)

    @contextmanager
    def distributed(self, workers: int = 2, shards: int = SHARDS) -> Iterator[str]:
        """Make a database, migrate and distribute it, for the block."""
        with self.database() as url:
            migrate.upgrade(url)
            ended = self.command(url, f"--shards={shards}", workers=workers)
            assert ended.returncode == 0, ended.stderr
            yield url

    @contextmanager
    def relayed(self, place: int = 0) -> Iterator[tuple[str, Relay]]:
        """Make a distributed database, one of whose two workers is reached through a relay."""
        with psycopg.connect(self.url) as connection:
            row = connection.execute("select host(inet_client_addr())").fetchone()
        # Where the coordinator sees this machine, the nodes reach it.
        seen = row[0] if row is not None else None
        with relay(self.workers[place], seen or "127.0.0.1") as before:
            workers = [*self.workers[:2]]
            workers[place] = before.address
            with replace(self, workers=workers).distributed() as url:
                yield url, before


def node_of(url: str, engine_id: int) -> Address:
    """Return the address of the worker that holds an engine, made or not."""
    ((host, port),) = ask(url, _NODE_OF, engine_id)
    return Address(str(host), int(str(port)))


def ask(url: str, statement: str, *values: object) -> list[tuple[object, ...]]:
    """Run one statement on the coordinator, as its own transaction; return its rows."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description is not None else []
