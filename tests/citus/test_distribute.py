"""`memory-bank distribute` on a real cluster: from nothing, with rows, again, and killed."""

import json
import os
import random
import re
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from app.adapters.db import migrate
from app.adapters.db.distribution import DISTRIBUTED
from tests.support import forks
from tests.support.citus import SHARDS, Cluster, ask
from tests.support.citus_rows import ENGINES, contents, fill
from tests.support.commands import command, sentence

_FEW = 500
_MANY = 100_000
_KILLS = 5
_LONGEST_SECONDS = 300
_ALREADY = "already distributed over 2 workers\n"
_SPREAD = "select count(*) from pg_dist_partition where partkey is not null"
_SHELLS = "select coalesce(sum(pg_relation_size(logicalrelid)), 0) from pg_dist_partition"
_ON_SHARDS = "select distinct result from run_command_on_shards(%s, $$ {} $$)"
_TRIGGERS = (
    "select string_agg(distinct tgenabled::text, '') from pg_trigger"
    " where tgrelid = '%s'::regclass and not tgisinternal"
)
_KEYS = "select count(*) from pg_constraint where conrelid = '%s'::regclass and contype = 'f'"


@pytest.fixture
def url(empty_url: str) -> str:
    """A migrated database that is not distributed."""
    migrate.upgrade(empty_url)
    return empty_url


def distribute(cluster: Cluster, url: str, *options: str, workers: int = 2) -> str:
    """Distribute a database; return what is printed."""
    ended = cluster.command(url, *options, workers=workers)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def _first_line(printed: str) -> str:
    return printed.splitlines(keepends=True)[0]


def _held(lines: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return nodes with their engines and memories."""
    found = [
        re.fullmatch(r"(\S+)  (\d+) engines  (\d+) memories  [\d,]+ bytes", one) for one in lines
    ]
    return [(one[1], int(one[2]), int(one[3])) for one in found if one]


def of_shards(url: str, table: str, query: str) -> list[tuple[object, ...]]:
    return ask(url, _ON_SHARDS.format(query.replace("%s", "%%s")), table)


def test_what_is_empty_is_distributed_once(cluster: Cluster, url: str) -> None:
    done = json.loads(distribute(cluster, url, f"--shards={SHARDS}", "--json"))

    for node in done["nodes"]:
        assert node.pop("bytes") > 0
    assert done == {
        "dryRun": False,
        "changed": True,
        "workers": 2,
        "shards": SHARDS,
        "added": [str(worker) for worker in cluster.workers[:2]],
        "tables": [{"table": name, "rows": 0} for name in DISTRIBUTED],
        "nodes": [
            {"node": str(worker), "engines": 0, "memories": 0} for worker in cluster.workers[:2]
        ],
        "next": ["Next, start the service again."],
    }
    assert ask(url, _SPREAD) == [(len(DISTRIBUTED),)]
    assert ask(url, "show citus.max_adaptive_executor_pool_size") == [("1",)]
    assert _first_line(distribute(cluster, url)) == _ALREADY


def test_rows_move_as_they_are(cluster: Cluster, url: str) -> None:
    fill(url, _FEW)
    before = contents(url)

    lines = distribute(cluster, url, f"--shards={SHARDS}").splitlines()

    assert f"memories             distributed  {SHARDS} shards  500 rows" in lines
    assert (lines[-4], lines[-1]) == (
        "Distributed over 2 workers.",
        "Next, start the service again.",
    )
    held = _held(lines[-3:-1])
    assert [node for node, *_ in held] == [str(worker) for worker in cluster.workers[:2]]
    assert sum(engines for _, engines, _ in held) == ENGINES
    assert sum(memories for _, _, memories in held) == _FEW
    assert _held(distribute(cluster, url).splitlines()[1:]) == held
    assert contents(url) == before
    assert ask(url, _SHELLS) == [(0,)]  # nothing is left where the rows were
    for table in ("memories", "audit_events", "sessions"):
        assert of_shards(url, table, _TRIGGERS) == [("O",)]
    assert of_shards(url, "unembedded_memories", _KEYS) == [("1",)]


def test_a_dry_run_changes_nothing(cluster: Cluster, url: str) -> None:
    fill(url, _FEW)
    lines = distribute(cluster, url, f"--shards={SHARDS}", "--dry-run").splitlines()
    assert f"memories             would be distributed  {SHARDS} shards  500 rows" in lines
    assert lines[-1] == "Nothing was changed."
    assert ask(url, "select extname from pg_extension where extname = 'citus'") == []


def test_a_worker_is_added_later(cluster: Cluster, url: str) -> None:
    distribute(cluster, url, f"--shards={SHARDS}", workers=1)
    added, done, *held, then = distribute(cluster, url).splitlines()
    assert (added, done) == (f"{cluster.workers[1]}  added", "Distributed over 2 workers.")
    assert [node for node, *_ in _held(held)] == [str(worker) for worker in cluster.workers[:2]]
    assert then == (
        "Next, move shards to the new workers: select citus_rebalance_start('by_shard_count')"
    )


def test_tables_that_a_migration_adds_are_distributed_by_it(cluster: Cluster, url: str) -> None:
    fill(url, _FEW)
    before = contents(url)
    distribute(cluster, url, f"--shards={SHARDS}")
    ask(url, "select undistribute_table('scope_indexes')")

    refused = sentence("serve", database_url=url)

    assert refused == (
        "The database is distributed, but not its tables scope_indexes; run `memory-bank migrate`."
    )
    assert command("migrate", database_url=url).returncode == 0
    assert ask(url, _SPREAD) == [(len(DISTRIBUTED),)]
    assert contents(url) == before
    assert _first_line(distribute(cluster, url)) == _ALREADY


def test_tables_of_vectors_that_are_recreated_are_distributed(cluster: Cluster, url: str) -> None:
    fill(url, _FEW)
    distribute(cluster, url, f"--shards={SHARDS}")
    ask(url, "drop table memory_vectors")
    ended = command("migrate", "--recreate-vectors", database_url=url)
    assert ended.stdout.startswith("Recreated: memory_vectors.\n"), ended.stderr
    assert ask(url, _SPREAD) == [(len(DISTRIBUTED),)]
    assert ask(url, "select count(*) from unembedded_memories") == [(_FEW,)]


_WAITS = "select count(*) from pg_locks where not granted and relation = 'memories'::regclass"


def test_sessions_that_begin_while_tables_move_are_told(cluster: Cluster, url: str) -> None:
    with ThreadPoolExecutor() as threads, psycopg.connect(url) as writing:
        writing.execute("lock table memories in row exclusive mode")
        running = threads.submit(distribute, cluster, url, f"--shards={SHARDS}")
        # The command has passed its check for sessions by now.
        while not running.done() and ask(url, _WAITS) == [(0,)]:
            time.sleep(0.01)
        with psycopg.connect(url, application_name="open-memory-bank"):
            writing.rollback()
            lines = running.result().splitlines()
    assert lines[-2:] == [
        "Processes of the service started while tables moved (sessions: 1); stop them.",
        "Next, start the service again.",
    ]


def test_killed_at_any_point_it_begins_again(cluster: Cluster, url: str) -> None:
    fill(url, _MANY)
    before = contents(url)
    with cluster.database() as copy:
        migrate.upgrade(copy)
        fill(copy, _MANY)
        began = time.monotonic()
        distribute(cluster, copy, f"--shards={SHARDS}")
        whole = time.monotonic() - began
    for point in sorted(random.Random(13).uniform(0, whole) for _ in range(_KILLS)):
        with cluster.joining():
            process = forks.start(
                ["-m", "app.process.cli", *cluster.arguments(f"--shards={SHARDS}")],
                {**os.environ, "MEMORY_BANK_DATABASE_URL": url},
                None,
                None,
            )
            time.sleep(point)
            process.send_signal(signal.SIGKILL)
            assert process.wait(_LONGEST_SECONDS) in {0, -signal.SIGKILL}

    ended = cluster.command(url)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert contents(url) == before
    assert ask(url, _SPREAD) == [(len(DISTRIBUTED),)]
    assert _first_line(distribute(cluster, url)) == _ALREADY
    assert contents(url) == before
