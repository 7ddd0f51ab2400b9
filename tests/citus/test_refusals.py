"""What keeps a database from being distributed is told at once, and nothing is changed."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import make_url

from app.adapters.db import migrate
from tests.support.citus import SHARDS, Cluster, ask
from tests.support.commands import command
from tests.support.live import free_port

_STATE = """
    select (select count(*) from pg_extension where extname = 'citus'),
        to_regclass('engines') is not null
"""

_LEFT_OUT = """
    select not exists (
        select from pg_dist_partition where logicalrelid = 'scope_indexes'::regclass
    )
"""


@contextmanager
def migrated(cluster: Cluster) -> Iterator[str]:
    with cluster.database() as url:
        migrate.upgrade(url)
        yield url


@pytest.fixture
def url(cluster: Cluster) -> Iterator[str]:
    with migrated(cluster) as found:
        yield found


def refused(url: str, *arguments: str) -> list[str]:
    """Run the command, which must fail and change nothing; return the reasons."""
    before = ask(url, _STATE)
    ended = command("distribute", *arguments, database_url=url)
    assert (ended.returncode, ended.stdout) == (1, ""), ended.stderr
    assert ask(url, _STATE) == before
    return ended.stderr.splitlines()


def test_all_reasons_at_once(cluster: Cluster, empty_url: str) -> None:
    first, second = cluster.workers[:2]
    closed = f"127.0.0.1:{free_port()}"
    *reasons, last = refused(
        empty_url,
        f"--coordinator={second}",
        f"--worker={first}",
        f"--worker={cluster.coordinator}",
        f"--worker={closed}",
        "--shards=1025",
    )
    assert reasons == [
        "The schema must be that of this release; run `memory-bank migrate`.",
        "--shards must be from 1 to 1,024; got 1025.",
        f"--coordinator must be the server of MEMORY_BANK_DATABASE_URL; {second} is another.",
        *[
            reason
            for reason in reasons
            if reason.startswith(f"worker {closed} cannot be reached (")
        ],
    ]
    assert len(reasons) == 4
    assert last == (
        f"worker {cluster.coordinator} must be a server of its own; it is coordinator {second}."
    )


def test_without_any_worker(cluster: Cluster, url: str) -> None:
    assert refused(url, f"--coordinator={cluster.coordinator}") == [
        "There must be a worker; name one with --worker HOST:PORT."
    ]


def test_beside_the_service(cluster: Cluster, url: str) -> None:
    with ExitStack() as stack:
        for name in ("open-memory-bank", "open-memory-bank-export"):
            stack.enter_context(psycopg.connect(url, application_name=name))
        (reason,) = refused(url, *cluster.arguments()[1:])
    assert reason == (
        "No process of the service may use the database; 2 sessions do. Stop them: tables are"
        " locked while their rows move."
    )


def test_while_a_table_is_in_use(cluster: Cluster, url: str) -> None:
    with psycopg.connect(url) as other:
        other.execute("lock table memories in access share mode")
        ended = cluster.command(url, f"--shards={SHARDS}")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        "The tables are in use, and none was distributed; end the transactions that"
        " pg_stat_activity shows, then run the command again.\n"
    )
    assert ask(url, "select count(*) from pg_dist_partition") == [(0,)]
    # The nodes have joined, which is of no harm.
    done = cluster.command(url, f"--shards={SHARDS}")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_migration_while_a_table_is_in_use(cluster: Cluster, url: str) -> None:
    assert cluster.command(url, f"--shards={SHARDS}").returncode == 0
    ask(url, "select undistribute_table('scope_indexes')")
    with psycopg.connect(url) as other:
        other.execute("lock table scope_indexes in access share mode")
        ended = command("migrate", database_url=url)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("The tables are in use, and none was distributed; ")
    assert ask(url, _LEFT_OUT) == [(True,)]
    assert command("migrate", database_url=url).returncode == 0
    assert ask(url, _LEFT_OUT) == [(False,)]


def test_with_a_user_who_may_not_create_nodes(cluster: Cluster, url: str) -> None:
    nodes = [cluster.coordinator, *cluster.workers[:2]]
    name = f"omb_{uuid4().hex[:12]}"
    stranger = make_url(url).set(username=name).render_as_string(hide_password=False)
    with cluster.joining(), ExitStack() as stack:
        for node in nodes:
            ask(node.within(url), f"create role {name} login in role pg_read_all_data")
            stack.callback(ask, node.within(url), f"drop role {name}")
        reasons = refused(stranger, *cluster.arguments()[1:])
    names = [f"coordinator {nodes[0]}", *(f"worker {worker}" for worker in nodes[1:])]
    assert reasons == [
        f"{each}: the user must be a superuser, to create the extension and nodes."
        for each in names
    ]


def test_with_a_worker_that_holds_a_service(cluster: Cluster, url: str) -> None:
    second = cluster.workers[1]
    ask(second.within(url), "create table engines (engine_id bigint)")
    reason = f"worker {second}: the database must be empty; it has tables of the service."
    assert refused(url, *cluster.arguments()[1:]) == [reason]


def test_with_a_setting_that_is_wrong(cluster: Cluster, url: str) -> None:
    worker = cluster.workers[1]
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    statement = f"alter database {name} set citus.propagate_set_commands = 'none'"
    ask(worker.within(url), statement)
    (reason,) = refused(url, *cluster.arguments()[1:])
    assert reason == (
        f"worker {worker}: citus.propagate_set_commands must be local; got none; set it in"
        " postgresql.conf there, and restart that server."
    )


def test_over_another_number_of_shards(cluster: Cluster, url: str) -> None:
    assert cluster.command(url, f"--shards={SHARDS}").returncode == 0
    (reason,) = refused(url, *cluster.arguments("--shards=8")[1:])
    assert reason == (
        f"--shards must be {SHARDS}, over which the tables are distributed; got 8. Another number"
        " takes a new database and a restored dump."
    )
