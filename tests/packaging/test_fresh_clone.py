"""`make run` in a fresh clone: one command serves, and stopping it leaves nothing."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.packaging.checkout import UNSET, copy_checkout, running_in, scratch_folder
from tests.support.live import free_port

_START_SECONDS = 300
_STOP_SECONDS = 30
_MOST_INSTALLED = 350e6
"""Bytes on the disk; the bar of the project."""


@pytest.fixture(scope="module")
def clone() -> Iterator[Path]:
    with scratch_folder() as folder:
        copy_checkout(folder)
        yield folder


@dataclass(frozen=True)
class Command:
    process: "subprocess.Popen[bytes]"
    port: int
    output: Path

    def wait_for_answer(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if httpx.get(f"http://127.0.0.1:{self.port}/healthz").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        pytest.fail(f"no answer: {self.output.read_text()}")


@contextmanager
def make_run(clone: Path, output: Path) -> Iterator[Command]:
    """Run `make run` as a shell does: in a process group of its own."""
    port = free_port()
    command = ["env", *UNSET, "make", "run", f"ARGS=--port {port}"]
    with (
        output.open("wb") as stdout,
        subprocess.Popen(
            command, cwd=clone, stdout=stdout, stderr=subprocess.STDOUT, start_new_session=True
        ) as process,
    ):
        try:
            yield Command(process, port, output)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def _ctrl_c(pid: int) -> None:
    os.killpg(pid, signal.SIGINT)


def _terminate_all(pid: int) -> None:
    os.killpg(pid, signal.SIGTERM)


def _terminate_make(pid: int) -> None:
    os.kill(pid, signal.SIGTERM)


@pytest.fixture(scope="module")
def first_output(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the first start said; it was stopped with Ctrl-C."""
    before = {entry.name for entry in clone.iterdir()}
    started = time.monotonic()
    with make_run(clone, tmp_path_factory.mktemp("first") / "output") as command:
        command.wait_for_answer()
        print(f"first answer of a fresh clone after {time.monotonic() - started:.1f} s")
        _ctrl_c(command.process.pid)
        command.process.wait(_STOP_SECONDS)
    assert running_in(clone) == []
    assert {entry.name for entry in clone.iterdir()} - before == {".venv", ".data"}
    return command.output.read_text()


def test_first_start_sets_up_and_tells_the_key(first_output: str) -> None:
    assert "Setting up .venv from requirements-run.lock" in first_output
    assert "API key" in first_output


@pytest.mark.usefixtures("first_output")
def test_what_is_installed_to_serve_is_small(clone: Path) -> None:
    used = sum(file.lstat().st_blocks * 512 for file in (clone / ".venv").rglob("*"))
    print(f"installed: {used / 1e6:.0f} MB")
    assert used < _MOST_INSTALLED


@pytest.mark.usefixtures("first_output")
@pytest.mark.parametrize("stop", [_ctrl_c, _terminate_all, _terminate_make])
def test_later_start_is_warm_and_stops_without_a_trace(
    clone: Path, tmp_path: Path, stop: Callable[[int], None]
) -> None:
    started = time.monotonic()
    with make_run(clone, tmp_path / "output") as command:
        command.wait_for_answer()
        print(f"warm answer after {time.monotonic() - started:.1f} s")
        assert len(running_in(clone)) > 1  # the server and its Postgres are seen at all
        stop(command.process.pid)
        command.process.wait(_STOP_SECONDS)
    assert running_in(clone) == []
    output = command.output.read_text()
    assert "Setting up" not in output
    assert "API key" not in output  # the database of the first start is still there


@pytest.mark.usefixtures("first_output")
def test_a_changed_lock_is_installed(clone: Path) -> None:
    with (clone / "requirements-run.lock").open("a") as lock:
        lock.write("# changed\n")
    command = ["env", *UNSET, "make", "run", "ARGS=--help"]
    first, second = (
        subprocess.run(command, cwd=clone, check=True, capture_output=True, text=True).stderr
        for _ in range(2)
    )
    assert "Setting up" in first
    assert second == ""
