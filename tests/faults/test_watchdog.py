"""No process outlives its use: one whose event loop hangs ends, and one that is asked to stop."""

import os
import signal
import time
from pathlib import Path

import pytest

from app.adapters.db.session import Database
from app.adapters.postgres.files import open_private, try_lock
from app.process.watchdog import EXIT_CODE
from tests.support.live import LiveServer, start

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
        match open(trigger).read():
            case "spins":
                spin(fact)
            case "sleeps":
                time.sleep(1000)
            case "threads":
                asyncio.get_running_loop().run_in_executor(None, time.sleep, 1000)
                os.remove(trigger)
    return look(watch, now, waited)

async def hang_at_the_end(database):
    fact = {_SECRET!r}
    if os.path.exists(trigger) and open(trigger).read() == "closes":
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
        # A few looks at the loop.
        time.sleep(0.5)

    def ends(self) -> tuple[int, str]:
        """Return the status of the process, and its log."""
        try:
            code = self.live.process.wait(_SOON_SECONDS)
        finally:
            self.live.process.kill()
        return code, (self.folder / "stderr").read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    return tmp_path


@pytest.fixture
def url(database: Database, database_url: str) -> str:
    """The tests' database, of which a server makes use that is ended somewhere."""
    del database
    return database_url


@pytest.mark.parametrize("what", ["spins", "sleeps"])
def test_a_process_whose_event_loop_hangs_ends_and_leaves_nothing_behind(
    folder: Path, what: str
) -> None:
    server = _Server(folder, stall_exit_seconds="2")
    server.hang(what)
    code, said = server.ends()
    assert code == EXIT_CODE
    assert "event_loop.stalled" in said
    assert " hang" in said
    assert _SECRET not in said
    lock = open_private(folder / "postgres" / "server.lock")
    try:
        ends = time.monotonic() + _SOON_SECONDS
        while not try_lock(lock):
            assert time.monotonic() < ends, "a process of the database lives"
            time.sleep(0.1)
    finally:
        os.close(lock)


@pytest.mark.parametrize("what", ["spins", "threads", "closes"])
def test_who_is_asked_to_stop_ends_in_any_state(folder: Path, url: str, what: str) -> None:
    server = _Server(folder, database_url=url, stall_exit_seconds="0", shutdown_grace_seconds="0")
    server.hang(what)
    server.live.process.send_signal(signal.SIGTERM)
    code, said = server.ends()
    assert code == EXIT_CODE
    assert "process.did_not_stop" in said
    assert _SECRET not in said


def test_who_is_asked_once_more_ends_at_once(folder: Path, url: str) -> None:
    server = _Server(folder, database_url=url, shutdown_grace_seconds="1000")
    server.hang("closes")
    for _ in range(2):
        server.live.process.send_signal(signal.SIGTERM)
        time.sleep(1.5)
    code, said = server.ends()
    assert code == EXIT_CODE
    assert "process.asked_again" in said
    # Where its tasks wait, too.
    assert "serving.py:" in said.partition("tasks")[2]
    assert _SECRET not in said


def test_a_process_that_was_halted_for_a_while_goes_on(folder: Path, url: str) -> None:
    server = _Server(folder, database_url=url, stall_exit_seconds="3")
    server.live.process.send_signal(signal.SIGSTOP)
    time.sleep(5)
    server.live.process.send_signal(signal.SIGCONT)
    time.sleep(2)
    server.live.process.send_signal(signal.SIGTERM)
    assert server.ends()[0] == 0
