"""The service and its database killed with -9 at random moments while clients write."""

import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.adapters.postgres.programs import open_private, try_lock
from tests.support import forks, live
from tests.support.live import LiveServer
from tests.support.traffic import Acknowledged, Traffic, open_client, read_all

# Half of the kills take the database alone: the service must start it again and go on. Ten kills
# find a commit that does not wait for the disk; the nightly run tries forty.
KILLS = 10
NIGHTLY_KILLS = 40
_LONGEST_PAUSE_SECONDS = 0.05
_SOON_SECONDS = 20
_IN_ITS_OWN_GROUP = """
import os, runpy
os.setsid()
runpy.run_module("app.process.cli", run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crash")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    return folder


def start(data_dir: Path, port: int) -> LiveServer:
    # Retries come soon, and so does who takes over what was claimed as the database was killed,
    # so that the test need not wait for them.
    return live.start(
        data_dir,
        port,
        MEMORY_BANK_EMBEDDER="hash",
        MEMORY_BANK_WORKER_RETRY_BASE_SECONDS="0.1",
        MEMORY_BANK_WORKER_LEASE_SECONDS="3",
        MEMORY_BANK_WORKER_MAX_ATTEMPTS="50",
        MEMORY_BANK_LOG_LEVEL="WARNING",
    )


def kill_database(data_dir: Path) -> None:
    """Kill the first process of the database, be it serving or still starting."""
    deadline = time.monotonic() + _SOON_SECONDS
    while (found := database_process(data_dir)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(found, signal.SIGKILL)


def database_process(data_dir: Path) -> int | None:
    """Return the number in the file that a server keeps, unless the server is dead."""
    file = data_dir / "postgres" / "cluster" / "postmaster.pid"
    try:
        number = int(file.read_text().splitlines()[0])
        os.kill(number, 0)
    except (FileNotFoundError, IndexError, ProcessLookupError):
        return None
    return number


def until_ready(server: LiveServer) -> None:
    deadline = time.monotonic() + _SOON_SECONDS
    while httpx.get(f"{server.url}/readyz").status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def no_server(data_dir: Path) -> bool:
    """Tell whether no process of the database lives: each would hold the lock."""
    lock = open_private(data_dir / "postgres" / "server.lock")
    try:
        return try_lock(lock)
    finally:
        os.close(lock)


def test_nothing_acknowledged_is_lost_or_done_twice(data_dir: Path, *, is_nightly: bool) -> None:
    kills = NIGHTLY_KILLS if is_nightly else KILLS
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    kinds = ["database", "service"] * (kills // 2)
    chance.shuffle(kinds)
    port = live.free_port()
    server = start(data_dir, port)
    with Traffic(server.url, writers=2, generators=2) as traffic:
        try:
            for kind in kinds:
                # Counted in answers, so that a slow machine does not kill before any work.
                traffic.await_answers(chance.randrange(2, 20))
                time.sleep(chance.random() * _LONGEST_PAUSE_SECONDS)
                if kind == "database":
                    kill_database(data_dir)
                    continue
                server.process.kill()
                server.process.wait()
                began = time.monotonic()
                server = start(data_dir, port)
                print(f"serves again after {time.monotonic() - began:.1f} s")
            until_ready(server)
            while not traffic.acknowledged.has_more_than(kills):
                traffic.await_answers(1)
        except BaseException:
            server.process.kill()
            server.process.wait()
            raise
    try:
        assert traffic.acknowledged.failures >= kills // 2
        with open_client(server.url) as client:
            check(client, traffic.acknowledged)
    finally:
        live.stop(server)


def check(client: httpx.Client, acknowledged: Acknowledged) -> None:
    """Compare what the service holds with what it has answered."""
    done = {name: ended(client, name) for name in acknowledged.generations}
    memories = read_all(client, "/memories", "memories")
    revisions = read_all(client, "/memories/-/revisions", "memoryRevisions")
    check_writes(acknowledged, memories, revisions)
    check_generations(acknowledged, done, revisions)
    # Every fact was asked for once, so none may be there twice, answered or not.
    assert max(Counter(memory["fact"] for memory in memories).values()) == 1
    written = len(acknowledged.memories) + sum(map(len, acknowledged.generations.values()))
    assert len(memories) == written


def ended(client: httpx.Client, name: str) -> dict[str, Any]:
    deadline = time.monotonic() + _SOON_SECONDS
    while True:
        answer = client.get(f"/v1beta1/{name}")
        assert answer.status_code == 200, (name, answer.text)
        operation: dict[str, Any] = answer.json()
        if operation["done"]:
            return operation
        assert time.monotonic() < deadline, operation
        time.sleep(0.05)


def check_writes(
    acknowledged: Acknowledged, memories: list[dict[str, Any]], revisions: list[dict[str, Any]]
) -> None:
    """Each created memory has its last fact, and one revision for each that it was given."""
    found = {memory["name"]: memory["fact"] for memory in memories}
    history: dict[str, list[str]] = {}
    for revision in reversed(revisions):
        history.setdefault(revision["name"].partition("/revisions/")[0], []).append(
            revision["fact"]
        )
    for name, facts in acknowledged.memories.items():
        assert (name, found.get(name)) == (name, facts[-1])
        assert (name, history.get(name)) == (name, facts)


def check_generations(
    acknowledged: Acknowledged, done: dict[str, dict[str, Any]], revisions: list[dict[str, Any]]
) -> None:
    """Each operation has succeeded, and made each of its memories in one revision."""
    made: dict[str, list[tuple[str, str]]] = {}
    for revision in revisions:
        made.setdefault(revision["operation"], []).append((revision["fact"], revision["action"]))
    for name, facts in acknowledged.generations.items():
        assert "error" not in done[name], done[name]
        generated = done[name]["response"]["generatedMemories"]
        assert [one["action"] for one in generated] == ["CREATED"] * len(facts)
        assert sorted(made.get(name, [])) == sorted((fact, "CREATED") for fact in facts)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.skipif(sys.platform == "win32", reason="process groups are those of POSIX")
def test_a_signal_to_the_whole_group_leaves_no_process(
    data_dir: Path, number: signal.Signals
) -> None:
    """As a terminal does it: Ctrl-C reaches the database and the worker as well as the service."""
    port = live.free_port()
    given = {"MEMORY_BANK_ADMIN_KEY": live.KEY, "MEMORY_BANK_EMBEDDER": "hash"}
    arguments = ["-c", _IN_ITS_OWN_GROUP, "serve", "--port", str(port), "--data-dir", str(data_dir)]
    with Path(os.devnull).open("wb") as silent:
        process = forks.start(arguments, {**os.environ, **given}, silent, silent)
    server = LiveServer(port, process)
    try:
        deadline = time.monotonic() + _SOON_SECONDS
        while not answers(server):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with Traffic(server.url, writers=1, generators=1):
            pass
        os.killpg(process.pid, number)
        assert process.wait(timeout=_SOON_SECONDS) == 0
    finally:
        process.kill()
    assert no_server(data_dir)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def answers(server: LiveServer) -> bool:
    try:
        return httpx.get(f"{server.url}/readyz").status_code == 200
    except httpx.TransportError:
        return False
