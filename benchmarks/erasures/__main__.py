"""How long an erasure takes, and what it costs others: `python -m benchmarks.erasures`.

It exits with 1 if a bar is missed.

A live server has the memories of one person and of others, each written by a request of its own:
with its revision, its operation, its audit event and its request id. One client gets memories of
others, one request after another: while nothing else happens, during a dry run, and during the
erasure, which the server's own worker carries out.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from app.adapters.postgres.home import FOLDER, SOCKETS
from app.adapters.postgres.server import url_of
from benchmarks.surroundings import data_folder
from tests.support.heavy import p99
from tests.support.live import KEY, LiveServer, live_server
from tests.support.traffic import ENGINE

_ERASED = {"user_id": "erased"}
_IN_SCOPE = 100
"""Memories of each of the others."""
_IMPORTED = 10_000
"""Memories of one request of the filling."""
_TIMEOUT_SECONDS = 600
_POLL_SECONDS = 0.5
_WINDOW_SECONDS = 5.0
_BAR_SECONDS, _BAR_RATIO = 120, 2
_WRITTEN_ALONE = """
create temp table written as
select engine_id, memory_id, scope, '9' || memory_id as operation_id, clock_timestamp() as time,
       'projects/default/locations/local/reasoningEngines/' || engine_id as engine
from memories where engine_id = 1;
insert into operations (engine_id, operation_id, engine_name, memory_id, kind, state, response,
                        details, create_time, update_time, due_time, remove_time, scopes, caller)
select engine_id, operation_id, engine, memory_id, 'memories.create', 'SUCCEEDED',
       jsonb_build_object('name', engine || '/memories/' || memory_id), '{}', time, time, time,
       time + interval '1 day',
       jsonb_build_object('user_id', jsonb_build_array(scope ->> 'user_id')), 'benchmark'
from written;
insert into audit_events (engine_id, create_time, event_id, caller, method, resource, operation,
                          request_id, result)
select engine_id, time, operation_id, 'benchmark', 'createMemory',
       engine || '/memories/' || memory_id,
       engine || '/memories/' || memory_id || '/operations/' || operation_id, memory_id, 'OK'
from written;
insert into request_ids (engine_id, caller, request_id, request_hash, operation_engine_id,
                         operation_id, remove_time)
select engine_id, 'benchmark', memory_id, sha256(memory_id::bytea), engine_id, operation_id,
       time + interval '1 day'
from written;
"""


class _Client:
    """One connection, by which one request follows another."""

    def __init__(self, server: LiveServer) -> None:
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=_TIMEOUT_SECONDS)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Any:  # noqa: ANN401 - any JSON
        """Return the answer to a request, which must be 200."""
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        self._connection.request(method, ENGINE + path, body, headers)
        answer = self._connection.getresponse()
        found = answer.read()
        assert answer.status == 200, found
        return json.loads(found)

    def erase(self, *, dry: bool) -> Any:  # noqa: ANN401 - an operation
        """Ask for the erasure, or what it would erase."""
        body = json.dumps({"scope": _ERASED, "validateOnly": dry}).encode()
        return self.ask("POST", ":eraseScope", body)


def _fill(server: LiveServer, folder: Path, erased: int, others: int) -> list[str]:
    """Write all memories; return the paths of some of the others."""
    client = _Client(server)
    scopes = [_ERASED] * erased
    scopes += [{"user_id": f"u{number // _IN_SCOPE}"} for number in range(others)]
    lines = [
        json.dumps({"fact": f"Number {number} is on my list of things to do.", "scope": scope})
        for number, scope in enumerate(scopes)
    ]
    for at in range(0, len(lines), _IMPORTED):
        client.ask("POST", "/memories:import", "\n".join(lines[at : at + _IMPORTED]).encode())
    with psycopg.connect(url_of(folder / FOLDER / SOCKETS)) as connection:
        connection.execute(_WRITTEN_ALONE.encode())
        connection.commit()
        connection.autocommit = True
        connection.execute(b"vacuum (analyze)")
        some = "select memory_id from memories where scope <> %s order by random() limit 1000"
        found = connection.execute(some.encode(), [json.dumps(_ERASED)]).fetchall()
    return [f"/memories/{memory_id}" for (memory_id,) in found]


class _Latencies(list[tuple[float, float]]):
    """The requests of a time: when each began, and the seconds that it took."""

    @property
    def seconds(self) -> float:
        return self[-1][0] - self[0][0]

    @property
    def sorted(self) -> list[float]:
        return sorted(took for _, took in self)

    @property
    def late(self) -> float:
        """The median of the p99 of windows."""
        windows: defaultdict[int, list[float]] = defaultdict(list)
        for began, took in self:
            windows[int(began / _WINDOW_SECONDS)].append(took)
        return median(p99(sorted(some)) for some in windows.values())


def _latencies(server: LiveServer, paths: list[str], is_over: Callable[[], bool]) -> _Latencies:
    """Get memories until it is over."""
    client = _Client(server)
    found = _Latencies()
    while not is_over():
        began = time.monotonic()
        client.ask("GET", paths[len(found) % len(paths)])
        found.append((began, time.monotonic() - began))
    return found


def _quiet(server: LiveServer, paths: list[str], seconds: float) -> _Latencies:
    ends = time.monotonic() + seconds
    return _latencies(server, paths, lambda: time.monotonic() > ends)


def _beside(
    server: LiveServer, paths: list[str], work: Callable[[], Any]
) -> tuple[_Latencies, Any]:
    """Do work beside one who gets memories; return his latencies and the result."""
    with ThreadPoolExecutor(1) as threads:
        working = threads.submit(work)
        return _latencies(server, paths, working.done), working.result()


def _erase(server: LiveServer) -> Any:  # noqa: ANN401 - a certificate
    client = _Client(server)
    name = client.erase(dry=False)["name"].rpartition("/")[2]
    while not (operation := client.ask("GET", f"/operations/{name}")).get("done"):
        time.sleep(_POLL_SECONDS)
    return operation["response"]


def _show(name: str, seconds: float, found: _Latencies, quiet: _Latencies) -> float:
    ratio = found.late / quiet.late
    ordered = found.sorted
    at = (ordered[len(ordered) // 2], found.late, p99(ordered), ordered[-1])
    p50, late, whole, latest = (1_000 * seconds for seconds in at)
    print(
        f"  {name:<12}{seconds:>9.1f}{p50:>9.1f}{late:>9.1f}{ratio:>11.1f}"
        f"{whole:>11.1f}{latest:>9.1f}"
    )
    return ratio


def _measure(server: LiveServer, folder: Path, asked: argparse.Namespace) -> bool:
    """Print the figures; return True if the bars are kept."""
    paths = _fill(server, folder, asked.memories, asked.others)
    _quiet(server, paths, asked.seconds)
    quiet = _quiet(server, paths, asked.seconds)
    dry, counted = _beside(server, paths, lambda: _Client(server).erase(dry=True))
    erasing, certificate = _beside(server, paths, lambda: _erase(server))
    quiet += _quiet(server, paths, asked.seconds)
    print(f"{asked.memories:,} memories erased, {asked.others:,} of others; milliseconds of a GET")
    head = ("beside", "seconds", "p50", "p99", "p99 ratio", "p99 of all", "latest")
    print("  {:<12}{:>9}{:>9}{:>9}{:>11}{:>11}{:>9}".format(*head))
    _show("nothing", 2 * asked.seconds, quiet, quiet)
    _show("a dry run", dry.seconds, dry, quiet)
    ratio = _show("the erasure", erasing.seconds, erasing, quiet)
    assert (
        certificate["counts"]["memories"]
        == asked.memories
        == counted["response"]["counts"]["memories"]
    )
    print(f"  certified: {certificate['counts']}, renamed {certificate['pseudonymised']}")
    is_kept = erasing.seconds <= _BAR_SECONDS and ratio <= _BAR_RATIO
    print(f"  bars: {_BAR_SECONDS} s, {_BAR_RATIO} times: {'kept' if is_kept else 'MISSED'}")
    return is_kept


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description="How long an erasure takes, and what it costs.")
    parser.add_argument("--memories", type=int, default=100_000, help="of the person")
    parser.add_argument("--others", type=int, default=20_000, help="memories of others")
    parser.add_argument("--seconds", type=float, default=15, help="of the quiet measurement")
    asked = parser.parse_args()
    with (
        data_folder() as folder,
        live_server(folder, MEMORY_BANK_EMBEDDER="hash", MEMORY_BANK_LOG_LEVEL="ERROR") as server,
    ):
        is_kept = _measure(server, folder, asked)
    sys.exit(0 if is_kept else 1)


if __name__ == "__main__":
    main()
