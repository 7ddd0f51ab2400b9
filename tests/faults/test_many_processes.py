"""Several processes that serve one port, below a supervisor: `serve --processes`."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from socket import create_server
from typing import Any

import httpx
import pytest
from sqlalchemy import make_url

from app.process.stopping import EXIT_CODE
from tests.support import forks
from tests.support.many import (
    SOON_SECONDS,
    Many,
    await_end,
    eventually,
    labels_of,
    lives,
    many,
    value,
)
from tests.support.operations import USER
from tests.support.workers import own_database

_ENGINE = "/reasoningEngines/1"
_COUNT = 4
_REQUESTS = 240
_CONNECTIONS = 24
"""Enough that each of four processes has some of them."""
_REVOKED_SECONDS = 1.0
"""The time in which a key stops working everywhere, as the guide promises."""
_COUNTER = "memory_bank_request_seconds_count"
_ROUTE = "/v1beta1/projects/{project}/locations/{location}/reasoningEngines/{engine}"
"""The route of an engine, as metrics have it."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Many]:
    folder = tmp_path_factory.mktemp("many")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    with many(folder, _COUNT) as found:
        yield found


@pytest.fixture
def clients(service: Many) -> Iterator[list[httpx.Client]]:
    """Clients, each with a connection; all processes have some."""
    with ExitStack() as stack:
        opened = [stack.enter_context(service.client()) for _ in range(_CONNECTIONS)]
        before = _counts(service)
        assert {status for status, _ in _ask_all(opened, "GET", _ENGINE)} == {200}
        after = _counts(service)
        assert all(new > old for old, new in zip(before, after, strict=True))
        yield opened


def _counts(service: Many) -> list[float]:
    """Return how often each process has answered for an engine."""
    told = map(service.own_metrics, range(service.count))
    return [value(metrics, _COUNTER, route=_ROUTE) for metrics in told]


def _ask_all(
    clients: list[httpx.Client], method: str, path: str, **given: Any
) -> list[tuple[int, Any]]:
    with ThreadPoolExecutor(len(clients)) as pool:
        answers = pool.map(lambda client: client.request(method, path, **given), clients)
        return [(answer.status_code, answer.json()) for answer in answers]


def test_the_metrics_of_the_port_are_the_sum(service: Many, clients: list[httpx.Client]) -> None:
    route = {"method": "GET", "status": "404"}
    path = f"{_ENGINE}/memories/unknown"
    before = value(service.metrics(), _COUNTER, **route)
    with ThreadPoolExecutor(len(clients)) as pool:
        for turn in range(0, _REQUESTS, len(clients)):
            asking = clients[: min(len(clients), _REQUESTS - turn)]
            list(pool.map(lambda client: client.get(path), asking))
    told = service.metrics()
    assert value(told, _COUNTER, **route) - before == _REQUESTS
    own = [value(service.own_metrics(number), _COUNTER, **route) for number in range(_COUNT)]
    assert sum(own) == value(told, _COUNTER, **route)
    assert all(own), "each process has answered some"
    bucket = "memory_bank_request_seconds_bucket"
    assert value(told, bucket, le="+Inf", **route) == value(told, _COUNTER, **route)


def test_gauges_are_of_a_process_and_those_of_the_database_of_none(service: Many) -> None:
    told = service.metrics()
    names = {*map(str, range(_COUNT)), "worker"}
    assert labels_of(told, "memory_bank_clock_skew_seconds", "process") == names
    assert labels_of(told, "memory_bank_build_info", "process") == names
    eventually(lambda: value(service.metrics(), "memory_bank_workers_seen") == 1)
    assert "\nmemory_bank_database_up 1.0\n" in told


def test_a_revoked_key_ends_in_all_processes(service: Many, clients: list[httpx.Client]) -> None:
    admin = clients[0]
    keys = f"{service.server.url}/v1/keys"
    made = admin.post(keys, json={"displayName": "one", "roles": ["viewer"]}).json()
    with_key = {"headers": {"Authorization": f"Bearer {made['secret']}"}}
    path = f"{_ENGINE}/memories"
    assert {status for status, _ in _ask_all(clients, "GET", path, **with_key)} == {200}
    revoked = admin.post(f"{keys}/{made['name'].rpartition('/')[2]}:revoke")
    assert revoked.status_code == 200
    time.sleep(_REVOKED_SECONDS)
    assert {status for status, _ in _ask_all(clients, "GET", path, **with_key)} == {401}


def test_a_changed_engine_is_seen_by_all_processes(
    service: Many, clients: list[httpx.Client]
) -> None:
    del service
    path = f"{_ENGINE}/memories"
    body = {"fact": "I like tea.", "scope": USER}
    created = _ask_all(clients, "POST", path, json=body)
    assert {status for status, _ in created} == {200}
    assert not any("expireTime" in said["response"] for _, said in created)
    bank = {"contextSpec": {"memoryBankConfig": {"ttlConfig": {"defaultTtl": "3600s"}}}}
    params = {"updateMask": "contextSpec.memoryBankConfig"}
    changed = clients[0].patch(_ENGINE, params=params, json=bank)
    assert changed.status_code == 200, changed.text
    try:
        created = _ask_all(clients, "POST", path, json=body)
        assert all("expireTime" in said["response"] for _, said in created)
        ids = {said["response"]["name"] for _, said in created}
        assert len(ids) == len(clients)
    finally:
        assert clients[0].patch(_ENGINE, params=params, json={}).status_code == 200


def test_processes_know_each_other_and_one_more_works(service: Many) -> None:
    eventually(lambda: len(service.pids("API")) == _COUNT)
    assert len(service.pids("WORKER")) == 1
    with service.client() as client:
        told = client.get(f"{service.server.url}/v1/server").json()
        settings = {each["name"]: each.get("value") for each in told["settings"]}
        assert settings["MEMORY_BANK_EMBEDDER_THREADS"] == 1
        source = {"directMemories": [{"fact": "I ride a red bicycle."}]}
        body = {"scope": {"user_id": "worker"}, "directMemoriesSource": source}
        name = client.post(f"{_ENGINE}/memories:generate", json=body).json()["name"]
        waited = client.post(f"/{name}:wait", json={}).json()
        assert waited["done"]
        assert "error" not in waited


def test_a_line_of_the_log_names_its_process(service: Many, clients: list[httpx.Client]) -> None:
    del clients
    lines = service.errors.read_text().splitlines()
    requests = [line for line in map(json.loads, lines) if line["event"] == "request"]
    assert {line["process"] for line in requests} == set(range(_COUNT))


def test_a_dead_process_is_replaced_while_the_others_answer(tmp_path: Path) -> None:
    # The socket of the database lies elsewhere then, and must be found there again.
    folder = _open(tmp_path) / ("too-long-for-a-socket-" * 4)
    folder.mkdir()
    with many(folder, 2) as service:
        eventually(lambda: len(service.pids("API")) == 2)
        before = service.pids("API")
        fact = {"fact": "I like tea.", "scope": USER}
        with service.client() as client:
            assert client.post(f"{_ENGINE}/memories", json=fact).status_code == 200
        os.kill(before[1], signal.SIGKILL)
        for _ in range(20):
            with service.client() as client:
                assert client.get(f"{_ENGINE}/memories").status_code == 200
        eventually(lambda: len(set(service.pids("API")) - {before[1]}) == 2)
        service.await_all()
        (worker,) = service.pids("WORKER")
        os.kill(worker, signal.SIGKILL)
        eventually(lambda: bool(set(service.pids("WORKER")) - {worker}))
        _kill_database_keeper(service)
        with service.client() as client:
            (memory,) = client.get(f"{_ENGINE}/memories").json()["memories"]
        assert memory["fact"] == fact["fact"]
        processes = service.all()
    await_end(processes)


def _kill_database_keeper(service: Many) -> None:
    """Kill the process that runs the server of the database, which is then started again."""
    keeper = next(
        pid for pid in service.all() if any(_is_postgres(child) for child in _children(pid))
    )
    os.kill(keeper, signal.SIGKILL)
    eventually(lambda: not lives(keeper))

    def answers() -> bool:
        with service.client() as client:
            return client.get(f"{_ENGINE}/memories").status_code == 200

    eventually(answers)


def _children(pid: int) -> list[int]:
    told = Path(f"/proc/{pid}/task/{pid}/children")
    tasks = Path(f"/proc/{pid}/task").iterdir() if told.exists() else ()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def _is_postgres(pid: int) -> bool:
    return Path(f"/proc/{pid}/comm").read_text().startswith("postgres")


def test_the_end_of_the_supervisor_ends_all(tmp_path: Path) -> None:
    with many(_open(tmp_path), 2) as service:
        processes = service.all()
        metrics = _metrics_folder(service.pids("API")[0])
        os.kill(service.server.process.pid, signal.SIGKILL)
        await_end(processes)
        assert not metrics.exists()
    # Nothing holds the folder.
    with many(tmp_path, 2) as service, service.client() as client:
        assert client.get(f"{_ENGINE}/memories").status_code == 200


def _metrics_folder(pid: int) -> Path:
    """Return the folder in which a process keeps the values of its metrics."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    found = re.search(r"/\S+/memory-bank-metrics-[^/]+", maps)
    assert found is not None
    return Path(found[0])


def test_processes_that_keep_dying_end_the_command(tmp_path: Path) -> None:
    with many(_open(tmp_path), 6) as service:
        eventually(lambda: len(service.pids("API")) == 6)
        processes = service.all()
        for pid in service.pids("API")[:5]:
            os.kill(pid, signal.SIGKILL)
        assert service.server.process.wait(SOON_SECONDS) == 1
        await_end(processes)
        assert "processes.keep_dying" in service.errors.read_text()


def _open(folder: Path) -> Path:
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    return folder


def _run(*arguments: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    given = {f"MEMORY_BANK_{name.upper()}": text for name, text in settings.items()}
    return forks.run(["-m", "app.process.cli", *arguments], {**os.environ, **given}, timeout=120)


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_refusal_is_told_once(database_url: str, command: str) -> None:
    url = make_url(database_url).set(database="elsewhere").render_as_string(hide_password=False)
    ended = _run(command, "--processes", "3", database_url=url, port="0", embedder="hash")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert len(ended.stderr.splitlines()) == 1, ended.stderr


def test_a_port_in_use_is_told_once(tmp_path: Path) -> None:
    with create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = _run("serve", "--processes", "2", "--port", port, data_dir=str(tmp_path))
    assert ended.returncode == 1
    (said,) = ended.stderr.splitlines()
    assert said.startswith(f"Cannot listen on 127.0.0.1:{port}: ")


_PATIENT = {
    "MEMORY_BANK_EMBEDDER": "hash",
    "MEMORY_BANK_LOG_FORMAT": "json",
    "MEMORY_BANK_SHUTDOWN_GRACE_SECONDS": "600",
}


def test_connections_that_are_short_are_told_once(tmp_path: Path) -> None:
    with own_database(_open(tmp_path)) as url:
        given = _PATIENT | {
            "MEMORY_BANK_DATABASE_URL": url,
            "MEMORY_BANK_DATABASE_POOL_SIZE": "30",
        }
        process, output = _workers(tmp_path, given)
        (short,) = [
            line for line in _lines(output) if line["event"] == "database.connections_short"
        ]
        assert (short["needed"], short["allowed"], short["process"]) == (3 * 41, 97, 0)
        process.terminate()
        assert process.wait(SOON_SECONDS) == 0


def test_a_second_signal_kills_at_once(tmp_path: Path) -> None:
    with own_database(_open(tmp_path)) as url:
        process, output = _workers(tmp_path, _PATIENT | {"MEMORY_BANK_DATABASE_URL": url})
        (silent, *others) = _children(process.pid)
        # It neither stops when asked nor logs why.
        os.kill(silent, signal.SIGSTOP)
        process.terminate()
        eventually(lambda: not any(map(lives, others)))
        assert lives(silent)
        # Signals within a second count as one.
        time.sleep(1)
        process.terminate()
        assert process.wait(SOON_SECONDS) == EXIT_CODE
        assert not lives(silent)
        assert [line["event"] for line in _lines(output)].count("process.killed") == 1


def _workers(folder: Path, given: dict[str, str]) -> tuple[forks.Process, Path]:
    """Start three workers; return their supervisor, and where they log once all are up."""
    output = folder / "output"
    arguments = ["-m", "app.process.cli", "worker", "--processes", "3"]
    with output.open("wb") as said:
        process = forks.start(arguments, {**os.environ, **given}, said, said)
    eventually(lambda: output.read_text().count("embedder.opened") == 3)
    return process, output


def _lines(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.read_text().splitlines()]


_COMES_BACK_AS_ANOTHER = """
import signal, sys, time
from app.process.listening import ServeError
from app.process.supervisor import ProcessRole, ProcessSupervisor

def work(start):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    start.tell("up")
    time.sleep(600)

def hear(word):
    raise ServeError("It came back as another.")

def end(name):
    print("ended", name, flush=True)

supervisor = ProcessSupervisor(stop_seconds=60, on_stop=lambda: print("stop"), on_end=end)
try:
    supervisor.run([[ProcessRole("first", work)], [ProcessRole("second", work, hear)]])
except ServeError as error:
    print(error)
"""


def test_a_failure_of_the_supervisor_ends_its_processes() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _COMES_BACK_AS_ANOTHER],
        capture_output=True,
        text=True,
        timeout=SOON_SECONDS,
        check=True,
    )
    said = ended.stdout.splitlines()
    assert (said[0], said[-1]) == ("stop", "It came back as another.")
    assert set(said[1:-1]) == {"ended first", "ended second"}


_FORKS_AGAIN_AT_THE_SECOND_ATTEMPT = """
import errno, os, sys
from app.process.supervisor import ProcessRole, ProcessSupervisor

fork, attempts = os.fork, []

def failing():
    attempts.append(None)
    if len(attempts) == 2:
        raise OSError(errno.EAGAIN, "no process is free")
    return fork()

def work(start):
    start.tell("up")
    return 0 if start.is_first else 75

os.fork = failing
supervisor = ProcessSupervisor(stop_seconds=60, on_stop=lambda: None, on_end=lambda name: None)
status = supervisor.run([[ProcessRole("first", work)]])
print(status, len(attempts))
"""


def test_a_restart_that_the_system_refuses_is_repeated() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _FORKS_AGAIN_AT_THE_SECOND_ATTEMPT],
        capture_output=True,
        text=True,
        timeout=SOON_SECONDS,
        check=True,
    )
    assert ended.stdout.splitlines()[-1] == "75 3"
