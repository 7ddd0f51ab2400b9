"""Export of an engine of many memories: memories a second, and memory of server and command.

    python -m benchmarks.archive [--memories 100000]

Each memory has two revisions. A server is started as users start it, with its Postgres; the command
`export` runs beside it. The peak of resident memory is the kernel's (`VmHWM`); Postgres is another
process. Fails where a bar is missed.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from app.adapters.db import migrate
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.settings.settings import Settings
from benchmarks.surroundings import data_folder
from tests.support.live import KEY, LiveServer, fresh_server

REVISIONS = 2
MOST_BYTES = 300 * 10**6
LEAST_RATE = 5_000
_LOOK_SECONDS = 0.02
_PEAK = re.compile(r"VmHWM:\s+(\d+) kB")

_SEEDS = (
    "set session_replication_role = replica",
    """
    insert into engines (engine_id, project, location, version, create_time, update_time)
    values (1, 'default', 'local', 1, now(), now())
    """,
    """
    insert into memories (engine_id, memory_id, version, scope, scope_hash, fact, topics, metadata,
                          memory_type, create_time, update_time)
    select 1, (176847840000000000 + n)::text, %(revisions)s,
           jsonb_build_object('user_id', (n %% 1000)::text),
           sha256(convert_to('{"user_id":"' || n %% 1000 || '"}', 'UTF8')),
           'I rode the bicycle number ' || n || ' from home to work and liked it well enough.',
           '[]', '{"source": {"stringValue": "chat"}}', 'NATURAL_LANGUAGE_COLLECTION',
           now(), now()
    from generate_series(1, %(memories)s) n
    """,
    """
    insert into memory_revisions (engine_id, revision_id, memory_id, version, action, fact, topics,
                                  metadata, memory_type, labels, extracted_memories, create_time,
                                  expire_time)
    select 1, 176847840000000000 + n * 10 + version, (176847840000000000 + n)::text, version,
           case version when 1 then 'CREATED' else 'UPDATED' end,
           'I rode the bicycle number ' || n || ' from home to work and liked it well enough.',
           '[]', '{"source": {"stringValue": "chat"}}', 'NATURAL_LANGUAGE_COLLECTION', '{}', '[]',
           now(), now() + interval '1 year'
    from generate_series(1, %(memories)s) n, generate_series(1, %(revisions)s) version
    """,
    "analyze memories, memory_revisions",
)


@dataclass(frozen=True)
class Ran:
    """A command that has ended: its seconds, and the peaks of memory in bytes."""

    seconds: float
    command_bytes: int
    server_bytes: int


def seed(folder: Path, memories: int) -> None:
    """Fill the first engine of a data folder."""
    with EmbeddedPostgres(Settings(data_dir=folder)) as postgres:
        migrate.upgrade(postgres.url)
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            _insert(connection, memories)


def _insert(connection: psycopg.Connection[Any], memories: int) -> None:
    values = {"memories": memories, "revisions": REVISIONS}
    for statement in _SEEDS:
        connection.execute(statement.encode(), values if "%(" in statement else None)


def peak(pid: int) -> int:
    """Return the most bytes that a process has had in memory, as far as it still runs."""
    try:
        found = _PEAK.search(Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1_000 if found else 0


def run(server: LiveServer, *arguments: str) -> Ran:
    """Run a command of `memory-bank` beside a server."""
    # Begins to count the peak anew.
    Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")
    variables = {**os.environ, "MEMORY_BANK_CLIENT_KEY": KEY}  # noqa: TID251 - and one of ours
    told = [sys.executable, "-m", "app.process.cli", *arguments, "--url", server.url]
    began = time.perf_counter()
    command_bytes = 0
    with subprocess.Popen(told, env=variables) as command:
        while command.poll() is None:
            command_bytes = max(command_bytes, peak(command.pid))
            time.sleep(_LOOK_SECONDS)
    if command.returncode:
        raise SystemExit(command.returncode)
    return Ran(time.perf_counter() - began, command_bytes, peak(server.process.pid))


def report(name: str, memories: int, ran: Ran, least_rate: float) -> bool:
    """Print a line; return False if it misses a bar."""
    rate = memories / ran.seconds
    sizes = [f"{size / 10**6:.0f} MB" for size in (ran.server_bytes, ran.command_bytes)]
    print(
        f"{name}: {memories:,} memories with {REVISIONS} revisions each in {ran.seconds:.1f} s,"
        f" {rate:,.0f} memories/s (bar {least_rate:,}); peak of the server {sizes[0]},"
        f" of the command {sizes[1]} (bar {MOST_BYTES / 10**6:.0f} MB)"
    )
    return rate >= least_rate and max(ran.server_bytes, ran.command_bytes) < MOST_BYTES


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    memories = parser.parse_args(arguments).memories
    with data_folder() as folder:
        seed(folder, memories)
        settings = {"MEMORY_BANK_EMBEDDER": "hash", "MEMORY_BANK_LOG_LEVEL": "WARNING"}
        with fresh_server(folder, **settings) as server:
            archive = folder / "bank.omb.gz"
            exported = run(server, "export", "--output", str(archive), "--force")
            print(f"The archive has {archive.stat().st_size / 10**6:.1f} MB.")
            return 0 if report("export", memories, exported, LEAST_RATE) else 1


if __name__ == "__main__":
    sys.exit(main())
