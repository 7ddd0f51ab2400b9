"""No process outlives its use: one whose event loop hangs ends, and one that is asked to stop."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.adapters.postgres.programs import open_private, try_lock
from app.process.stopping import EXIT_CODE
from tests.support.live import LiveServer, start
from tests.support.workers import own_database

_SOON_SECONDS = 40
"""Longer than a stop or a stall can take: to fail by, not to measure with."""
_SECRET = "The user likes tea."
# What is to hang does so once a file is there: the loop, a thread, or what closes the process.
_PROGRAM = f"""
import asyncio, os, sys, time
from app.process.cli import main
from app.adapters.db.session import Database
from app.adapters.lag import LagWatch

look, close = LagWatch.look, Database.close
trigger = os.environ["TRIGGER"]

def spin(fact):
    while True:
        pass

def hang(watch, now, waited):
    fact = {_SECRET!r}
    if os.path.exists(trigger):
        what = open(trigger).read()
        os.replace(trigger, trigger + ".seen")
        match what:
            case "spins":
                spin(fact)
            case "sleeps":
                time.sleep(1000)
            case "threads":
                asyncio.get_running_loop().run_in_executor(None, time.sleep, 1000)
    return look(watch, now, waited)

async def hang_at_the_end(database):
    fact = {_SECRET!r}
    if os.path.exists(trigger + ".seen") and open(trigger + ".seen").read() == "closes":
        await asyncio.Event().wait()
    await close(database)

LagWatch.look, Database.close = hang, hang_at_the_end
main()
"""


class _Server:
    """A server that can be made to hang."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self._trigger = folder / "trigger"
        given = {f"MEMORY_BANK_{name.upper()}": value for name, value in settings.items()}
        given |= {"MEMORY_BANK_EMBEDDER": "hash", "TRIGGER": str(self._trigger)}
        self.live: LiveServer = start(folder, None, ("-c", _PROGRAM), **given)

    def hang(self, what: str) -> None:
        self._trigger.with_suffix(".new").write_text(what)
        self._trigger.with_suffix(".new").replace(self._trigger)
        ends = time.monotonic() + _SOON_SECONDS
        while not self._trigger.with_suffix(".seen").exists():
            assert time.monotonic() < ends, "it does not look at its loop"
            time.sleep(0.05)

    def ends(self) -> tuple[int, str]:
        """Return the status of the process, and its log."""
        try:
            code = self.live.process.wait(_SOON_SECONDS)
        finally:
            self.live.process.kill()
        return code, (self.folder / "stderr").read_text()


def _stalls(folder: Path, what: str) -> _Server:
    server = _Server(folder, stall_exit_seconds="2")
    server.hang(what)
    return server


def _stops(folder: Path, url: str, what: str) -> _Server:
    server = _Server(folder, database_url=url, stall_exit_seconds="0", shutdown_grace_seconds="0")
    server.hang(what)
    server.live.process.send_signal(signal.SIGTERM)
    return server


def _is_asked_twice(folder: Path, url: str) -> _Server:
    server = _Server(folder, database_url=url, shutdown_grace_seconds="1000")
    server.hang("closes")
    server.live.process.send_signal(signal.SIGTERM)
    time.sleep(1.5)
    server.live.process.send_signal(signal.SIGTERM)
    return server


def _is_halted(folder: Path, url: str) -> _Server:
    server = _Server(folder, database_url=url, stall_exit_seconds="3")
    server.live.process.send_signal(signal.SIGSTOP)
    time.sleep(5)
    server.live.process.send_signal(signal.SIGCONT)
    time.sleep(2)
    server.live.process.send_signal(signal.SIGTERM)
    return server


_CASES: dict[str, Callable[[Path, str], _Server]] = {
    "stalls, spins": lambda folder, _: _stalls(folder, "spins"),
    "stalls, sleeps": lambda folder, _: _stalls(folder, "sleeps"),
    "stops, spins": lambda folder, url: _stops(folder, url, "spins"),
    "stops, threads": lambda folder, url: _stops(folder, url, "threads"),
    "stops, closes": lambda folder, url: _stops(folder, url, "closes"),
    "is asked twice": _is_asked_twice,
    "is halted": _is_halted,
}


@dataclass(frozen=True)
class _End:
    """The folder of a server that has ended, its status, and its log."""

    folder: Path
    code: int
    said: str


_Ends = Callable[[str], _End]


@pytest.fixture(scope="module")
def end_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Ends]:
    """How the server of a case ends; all of them at the same time, since they mostly wait."""

    def folder() -> Path:
        made = tmp_path_factory.mktemp("watchdog")
        for parent in (made, *made.parents[:2]):
            parent.chmod(0o755)
        return made

    def run(case: Callable[[Path, str], _Server], folder: Path, url: str) -> _End:
        return _End(folder, *case(folder, url).ends())

    with own_database(folder()) as url, ThreadPoolExecutor(len(_CASES)) as pool:
        ends = {name: pool.submit(run, case, folder(), url) for name, case in _CASES.items()}
        yield lambda name: ends[name].result()


@pytest.mark.parametrize("what", ["spins", "sleeps"])
def test_a_process_whose_event_loop_hangs_ends_and_leaves_nothing_behind(
    end_of: _Ends, what: str
) -> None:
    end = end_of(f"stalls, {what}")
    assert end.code == EXIT_CODE
    assert "event_loop.stalled" in end.said
    assert " hang" in end.said
    assert _SECRET not in end.said
    lock = open_private(end.folder / "postgres" / "server.lock")
    try:
        ends = time.monotonic() + _SOON_SECONDS
        while not try_lock(lock):
            assert time.monotonic() < ends, "a process of the database lives"
            time.sleep(0.1)
    finally:
        os.close(lock)


@pytest.mark.parametrize("what", ["spins", "threads", "closes"])
def test_who_is_asked_to_stop_ends_in_any_state(end_of: _Ends, what: str) -> None:
    end = end_of(f"stops, {what}")
    assert end.code == EXIT_CODE
    assert "process.did_not_stop" in end.said
    assert _SECRET not in end.said


def test_who_is_asked_once_more_ends_at_once(end_of: _Ends) -> None:
    end = end_of("is asked twice")
    assert end.code == EXIT_CODE
    assert "process.asked_again" in end.said
    # Where its tasks wait, too.
    assert "serving.py:" in end.said.partition("tasks")[2]
    assert _SECRET not in end.said


def test_a_process_that_was_halted_for_a_while_goes_on(end_of: _Ends) -> None:
    assert end_of("is halted").code == 0
