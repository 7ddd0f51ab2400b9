"""Supervision of one home's server, from one thread that lives as long as the server."""

import logging
import os
import subprocess
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future

import psycopg

from app.adapters.postgres import server
from app.adapters.postgres.home import PostgresHome
from app.adapters.postgres.programs import (
    MAJOR,
    PostgresStartError,
    ask_to_stop,
    failure_in_log,
    launch,
    open_log,
)

_POLL_SECONDS = 0.02
# Time for the server of a killed service to shut down by itself before it is asked to stop.
_LEFT_OVER_PATIENCE_SECONDS = 2.0
_FAST_STOP_SECONDS = 15.0
_IMMEDIATE_STOP_SECONDS = 5.0
_RESTART_FIRST_SECONDS = 0.1
_RESTART_LONGEST_SECONDS = 10.0
_HEALTHY_SECONDS = 30.0  # a server that lived this long did not fail at its start

_log = logging.getLogger(__name__)


class Supervisor:
    """The server of one home. Started at most once."""

    def __init__(
        self, home: PostgresHome, start_seconds: float, connections: int | None = None
    ) -> None:
        self._home = home
        self._connections = connections
        self._start_seconds = start_seconds
        self._guard = threading.Lock()
        self._stopping = threading.Event()
        self._ready: Future[None] = Future()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="postgres", daemon=True)

    @property
    def process_id(self) -> int | None:
        """The id of the last started process."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Return once the server accepts connections; raise PostgresStartError if it cannot."""
        self._thread.start()
        self._ready.result()

    def stop(self) -> None:
        """Stop the server: in order, then at once, then by force. May be repeated."""
        with self._guard:  # no process is started after this
            self._stopping.set()
        if self._thread.ident is None:
            return
        for at_once, seconds in ((False, _FAST_STOP_SECONDS), (True, _IMMEDIATE_STOP_SECONDS)):
            if self._process:
                ask_to_stop(self._process, at_once=at_once)
            self._thread.join(seconds)
            if not self._thread.is_alive():
                return
        if self._process:
            self._process.kill()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._keep_running()
        finally:
            if not self._ready.done():
                self._ready.set_exception(self._failed("it was stopped before it was ready"))

    def _keep_running(self) -> None:
        delay = _RESTART_FIRST_SECONDS
        while not self._stopping.is_set():
            began = time.monotonic()
            if not self._serve_once():
                return
            if time.monotonic() - began > _HEALTHY_SECONDS:
                delay = _RESTART_FIRST_SECONDS
            self._stopping.wait(delay)
            delay = min(2 * delay, _RESTART_LONGEST_SECONDS)

    def _serve_once(self) -> bool:
        try:
            process = self._bring_up()
        except PostgresStartError as error:
            if not self._ready.done():
                self._ready.set_exception(error)
                return False
            if not self._stopping.is_set():
                _log.error("%s", error)
            return True
        if not self._ready.done():
            self._ready.set_result(None)
        code = process.wait()
        if not self._stopping.is_set():
            _log.warning("The embedded Postgres ended with %s and is started again.", code)
        return True

    def _bring_up(self) -> "subprocess.Popen[bytes]":
        deadline = time.monotonic() + self._start_seconds
        try:
            lock = self._claim(deadline)
            try:
                if not self._home.cluster.exists():
                    self._initialise(lock, deadline)
                self._check_version()
                command = server.server_command(self._home, self._connections)
                process, logged = self._spawn(command, lock)
            finally:
                os.close(lock)  # from here on only the server's processes hold it
            try:
                self._await_ready(process, logged, deadline)
            except (PostgresStartError, OSError, psycopg.Error):
                self._end(process)
                raise
        except (OSError, psycopg.Error) as error:
            raise self._failed(str(error).partition("\n")[0]) from error
        return process

    def _claim(self, deadline: float) -> int:
        """Wait until no process of an earlier server lives; return the lock, now acquired."""
        began = time.monotonic()
        asked = False
        while (lock := server.try_claim(self._home)) is None:
            if not asked and time.monotonic() - began > _LEFT_OVER_PATIENCE_SECONDS:
                asked = True
                server.stop_left_over(self._home)
            self._pause(deadline, "a server of an earlier run still uses this folder")
        return lock

    def _check_version(self) -> None:
        written = (self._home.cluster / "PG_VERSION").read_text().strip()
        if written != MAJOR:
            raise self._failed(
                f"it holds a database of Postgres {written}, and this release runs {MAJOR}; move"
                " its contents as docs/operations/upgrading.md says"
            )

    def _initialise(self, lock: int, deadline: float) -> None:
        made = server.new_cluster_folder(self._home)
        process, logged = self._spawn(server.initdb_command(self._home, made), lock)
        try:
            while process.poll() is None:
                self._pause(deadline, "the database could not be made in time")
        except PostgresStartError:
            self._end(process)
            raise
        if process.returncode != 0:
            raise self._failed(self._reason(process, logged))
        server.adopt_cluster(self._home, made)

    def _spawn(self, command: Sequence[str], lock: int) -> "tuple[subprocess.Popen[bytes], int]":
        log = open_log(self._home.log)
        try:
            logged = os.fstat(log).st_size
            with self._guard:
                if self._stopping.is_set():
                    raise self._failed("it was stopped before it was ready")
                self._process = launch(
                    command,
                    folder=self._home.seen,
                    account=self._home.account,
                    output=log,
                    keep=(*self._home.keep, lock),
                )
            return self._process, logged
        finally:
            os.close(log)

    def _await_ready(
        self, process: "subprocess.Popen[bytes]", logged: int, deadline: float
    ) -> None:
        while not server.answers(self._home.sockets):
            if process.poll() is not None:
                raise self._failed(self._reason(process, logged))
            self._pause(deadline, "it did not answer in time")
        server.ensure_database(self._home)

    def _pause(self, deadline: float, late: str) -> None:
        if self._stopping.wait(_POLL_SECONDS):
            raise self._failed("it was stopped before it was ready")
        if time.monotonic() > deadline:
            raise self._failed(late)

    def _reason(self, process: "subprocess.Popen[bytes]", logged: int) -> str:
        failure = failure_in_log(self._home.log, logged)
        return failure or f"it ended with {process.returncode}"

    def _failed(self, reason: str) -> PostgresStartError:
        return PostgresStartError(
            f"The embedded Postgres in {self._home.folder} did not start: {reason.rstrip('.')}."
        )

    @staticmethod
    def _end(process: "subprocess.Popen[bytes]") -> None:
        if process.poll() is None:
            ask_to_stop(process)
        try:
            process.wait(_IMMEDIATE_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
