"""The first start: a port that is taken costs nothing, and the administrator's key is not lost."""

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.support.commands import command
from tests.support.forks import Process
from tests.support.live import free_port, live_server
from tests.support.terminals import terminal
from tests.support.workers import own_database

_SHOWN = re.compile(r"^API key, shown only this once: (\S+)$", re.MULTILINE)
_LOST = "If the administrator's key is lost, this makes another: "
_STOPPING = "Stopping: what runs has 10 s to end; a second Ctrl-C ends it at once."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    return tmp_path / "data"


@contextmanager
def _taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def _status(port: int, key: str) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.get(f"http://127.0.0.1:{port}/v1/keys", headers=headers).status_code


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_taken_port_costs_nothing_and_the_next_start_shows_the_key(
    folder: Path, processes: str
) -> None:
    options = ("serve", "--data-dir", str(folder), "--processes", processes)
    with _taken() as port:
        ended = command(*options, "--port", str(port))
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr == (
            f"Cannot listen on 127.0.0.1:{port}: Address already in use; choose another --host or"
            " --port.\n"
        )
        assert not folder.exists(), "Postgres began before the port was bound"
        with _taken() as probes:
            ended = command(*options, "--port", "0", metrics_port=str(probes))
            assert ended.returncode == 1
            assert "MEMORY_BANK_METRICS_PORT" in ended.stderr
            assert not folder.exists()
    port = free_port()
    with terminal(*options, "--port", str(port)) as screen:
        screen.wait_for(_LOST)
        (key,) = _SHOWN.findall(screen.shown)
        assert _status(port, key) == 200
        screen.press_ctrl_c()
        assert screen.end() == 0


def test_an_external_database_gets_no_key_either(folder: Path) -> None:
    folder.mkdir()
    with own_database(folder) as url:
        with _taken() as port:
            ended = command("serve", "--port", str(port), database_url=url)
            assert ended.returncode == 1
        assert len(command("keys", "list", database_url=url).stdout.splitlines()) == 1


def test_until_the_key_is_used_each_start_says_how_to_get_another(folder: Path) -> None:
    port = free_port()
    options = ("serve", "--port", str(port), "--data-dir", str(folder))
    keys = []
    for start in ("first", "unused", "used"):
        with terminal(*options) as screen:
            screen.wait_for("Searches understand")
            if start != "used":
                screen.wait_for(_LOST)
            keys += _SHOWN.findall(screen.shown)
            if start == "unused":
                assert _status(port, keys[0]) == 200
            screen.press_ctrl_c()
            assert screen.end() == 0
        assert (_LOST in screen.shown) == (start != "used")
        assert ("New data folder: " in screen.shown) == (start == "first")
    assert len(keys) == 1


def test_the_command_that_is_told_makes_another_key(folder: Path) -> None:
    port = free_port()
    with terminal("serve", "--port", str(port), "--data-dir", str(folder)) as screen:
        screen.wait_for("--role admin")
        screen.wait_for("\n")
        told = screen.shown.partition(_LOST)[2].splitlines()[0]
        name, *arguments = told.split()
        assert Path(name).name == "memory-bank"
        assert arguments[-2:] == ["--data-dir", str(folder)]
        (key,) = _SHOWN.findall(command(*arguments).stdout)
        assert _status(port, key) == 200


@pytest.mark.parametrize("processes", ["1", "2"])
def test_ctrl_c_says_once_that_it_stops(folder: Path, processes: str) -> None:
    options = ("--processes", processes, "--data-dir", str(folder))
    with terminal("serve", "--port", "0", *options) as screen:
        screen.wait_for(_LOST)
        screen.press_ctrl_c()
        screen.wait_for(_STOPPING)
        assert screen.end() == 0
    assert screen.shown.count("Stopping") == 1


def test_ctrl_c_ends_any_command_with_a_word() -> None:
    with terminal("demo") as screen:
        screen.wait_for("generate: the first half")
        screen.press_ctrl_c()
        assert screen.end() == 130
    assert screen.shown.endswith("Stopped.\n")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_connections_are_refused_until_somebody_answers(folder: Path, processes: str) -> None:
    port = free_port()
    options = ("--processes", processes, "--data-dir", str(folder))
    refused = 0
    with terminal("serve", "--port", str(port), *options) as screen:
        screen.wait_for("New data folder: ")
        while True:
            try:
                answer = httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=5)
            except httpx.ConnectError:
                refused += 1
                time.sleep(0.05)
                continue
            break
        assert answer.status_code == 200
    assert refused


def test_a_server_of_the_same_folder_is_named_with_the_way_out(folder: Path) -> None:
    folder.mkdir()
    with live_server(folder, MEMORY_BANK_EMBEDDER="hash") as server:
        by = f"process {_pid(server.process)} of this service"
        port = ("--port", str(server.port))
        other = ("serve", "--data-dir", str(folder))
        same = command(*other, *port)
        assert same.returncode == 1
        assert same.stderr == (
            f"P{by[1:]} serves {server.url} already, on the same data folder {folder}: stop that"
            " process, or choose another --port and another --data-dir.\n"
        )
        elsewhere = command(*other, "--port", "0")
        assert elsewhere.returncode == 1
        assert elsewhere.stderr == (
            f"The data folder {folder} is held by {by}, which serves {server.url}: stop that"
            " process, or name another folder with --data-dir.\n"
        )
        made = command("keys", "create", "--for-agent", "7", data_dir=str(folder)).stdout
        (key,) = _SHOWN.findall(made)
        assert made.count(key) == 1
        assert made.count(f"{server.url}/mcp") == 5
    later = command("keys", "create", "--for-agent", "8", data_dir=str(folder), port="9123").stdout
    assert later.count("http://127.0.0.1:9123/mcp") == 5, "nobody serves the folder"


def _pid(process: Process) -> int:
    return process.pid


def test_of_several_processes_the_supervisor_is_named(folder: Path) -> None:
    options = ("serve", "--processes", "2", "--port", "0", "--data-dir", str(folder))
    with terminal(*options) as screen:
        screen.wait_for(_LOST)
        (url,) = re.findall(r"serves (http://\S+)", screen.shown)
        ended = command("serve", "--port", "0", "--data-dir", str(folder))
        by = f"process {screen.process.pid} of this service, which serves {url}"
        assert by in ended.stderr
        screen.press_ctrl_c()
        assert screen.end() == 0
    with suppress(FileNotFoundError):
        assert command("keys", "list", data_dir=str(folder)).returncode == 0
