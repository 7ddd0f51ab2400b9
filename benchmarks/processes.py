"""The CPU time of processes, read from the kernel."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from time import sleep

import psycopg

_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")


def _fields(pid: int) -> list[str]:
    # The name, in parentheses, may hold blanks.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def cpu_seconds(pid: int) -> float:
    """Return what a process has spent so far, and its children that have ended."""
    user, system, of_children, of_children_system = map(int, _fields(pid)[11:15])
    return (user + system + of_children + of_children_system) * _TICK_SECONDS


def parent_of(pid: int) -> int:
    """Return the process that has started a process."""
    return int(_fields(pid)[1])


def below(pid: int) -> list[int]:
    """Return the processes below a process."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents.setdefault(int(_fields(int(folder.name))[1]), []).append(int(folder.name))
            except OSError:
                continue
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def cpu_of(pid: int) -> tuple[float, float]:
    """Return the seconds of a process, and those of all below it: of its database."""
    return cpu_seconds(pid), sum(cpu_seconds(child) for child in below(pid))


def is_postgres(pid: int) -> bool:
    """Return True for a process of a database."""
    return Path(f"/proc/{pid}/comm").read_text().startswith("postgres")


def cpu_by_kind(pids: Iterable[int]) -> tuple[float, float]:
    """Return the seconds of processes of a service, and of those of a database.

    Those that end meanwhile, as workers of autovacuum do, are left out.
    """
    service = database = 0.0
    for pid in pids:
        with suppress(OSError):
            seconds = cpu_seconds(pid)
            if is_postgres(pid):
                database += seconds
            else:
                service += seconds
    return service, database


def idle_cores(seconds: float = 1.0) -> float:
    """Return how many cores had nothing to do for some seconds. Blocking."""
    before = _idle_seconds()
    sleep(seconds)
    return (_idle_seconds() - before) / seconds


def _idle_seconds() -> float:
    return int(Path("/proc/stat").read_text().split()[4]) * _TICK_SECONDS


def connections_seconds(url: str) -> float:
    """Return what Postgres has spent on the connections that the service has open there."""
    with psycopg.connect(url) as connection:
        statement = b"select pid from pg_stat_activity where application_name = 'open-memory-bank'"
        pids = [pid for (pid,) in connection.execute(statement)]
    spent = (Path(f"/proc/{pid}/schedstat").read_text().split()[0] for pid in pids)
    return sum(map(int, spent)) / 1e9
