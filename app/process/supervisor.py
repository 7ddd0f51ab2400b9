"""A supervisor: forks the processes of a command, restarts them after a crash, and stops them.

It has one thread, no event loop and no connection, and can therefore fork at any time. Processes
start in waves: a wave starts once all processes of the previous one are up. If a process ends
before all waves have started, the command ends with its status. Afterwards it is restarted.

Two pipes show processes the end of others. The supervisor alone holds the write end of the first:
at its end, the processes stop. All but the processes that outlive others hold the write end of the
second: at its end, the outliving ones stop.
"""

import os
import select
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn

import structlog

from app.adapters.logs import set_process_name
from app.adapters.terminal import FAILED, OUTDATED
from app.process.listening import ServeError
from app.process.stopping import EXIT_CODE, ONE_SECONDS, SIGNALS

log = structlog.get_logger()

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 30.0
_DEATHS = 5
_WITHIN_SECONDS = 60.0
_TOLD_BYTES = 4096


@dataclass(frozen=True)
class Start:
    """The arguments of a forked process.

    Attributes:
        is_first: whether this is the first start of its role.
        tell: reports to the supervisor that the process is up, with a word for later processes.
        others: the end of the pipe of living processes; it reaches its end when they have ended.
    """

    is_first: bool
    tell: Callable[[str], None]
    others: int


@dataclass(frozen=True)
class ProcessRole:
    """The role of one process, which may end only after all others (`outlives`).

    Attributes:
        hear: called in the supervisor with the word that the process reports when it is up.
    """

    name: str
    run: Callable[[Start], int]
    hear: Callable[[str], None] = lambda _: None
    outlives: bool = False


@dataclass
class _Child:
    role: ProcessRole
    pid: int | None = None
    report: int | None = None
    """The descriptor from which the supervisor reads the report that the process is up."""
    is_up: bool = False
    starts: int = 0
    began: float = 0.0
    pause: float = _FIRST_PAUSE_SECONDS
    due: float | None = None
    """The time of the restart."""

    def postpone(self, now: float) -> float:
        if now - self.began > _WITHIN_SECONDS:
            self.pause = _FIRST_PAUSE_SECONDS
        pause, self.pause = self.pause, min(2 * self.pause, _LONGEST_PAUSE_SECONDS)
        self.due = now + pause
        return pause


@dataclass
class ProcessSupervisor:
    """The supervisor of the processes of one command.

    Attributes:
        stop_seconds: the time after which processes that have not stopped are killed.
        on_stop: called when the stop begins, on request or after an error.
        on_asked: called before `on_stop` if a signal requested the stop.
        on_end: called with the name of each process that has ended.
    """

    stop_seconds: float
    on_stop: Callable[[], None]
    on_end: Callable[[str], None]
    on_asked: Callable[[], None] = lambda: None
    _children: list[_Child] = field(default_factory=list)
    _waves: deque[Sequence[ProcessRole]] = field(default_factory=deque)
    _deaths: deque[float] = field(default_factory=lambda: deque(maxlen=_DEATHS))
    _status: int | None = None
    """The exit status of the command; set when the stop begins."""
    _asked: float = 0.0
    _living: tuple[int, int] = (-1, -1)
    """The pipe whose end shows that all processes except the outliving ones have ended."""
    _alive: tuple[int, int] = (-1, -1)
    """The pipe whose end shows that the supervisor has ended."""
    _woken: tuple[int, int] = (-1, -1)

    def run(self, waves: Sequence[Sequence[ProcessRole]]) -> int:
        """Run all processes until they are asked to stop or an error ends them; return the status.

        Raises:
            ServeError: a process cannot be started, or a restarted one reports another address.
        """
        self._waves.extend(waves)
        with self._signals():
            try:
                while self._status is None:
                    self._begin()
                    self._wait()
                    self._reap()
            except BaseException:
                if self._status is None:
                    self._stop(FAILED)
                raise
            finally:
                while self._running():
                    self._wait()
                    self._reap()
        return self._status

    def _running(self) -> list[_Child]:
        return [child for child in self._children if child.pid is not None]

    def _begin(self) -> None:
        now = time.monotonic()
        if self._waves and all(child.is_up for child in self._children):
            begun = [_Child(role) for role in self._waves.popleft()]
            self._children += begun
            for child in begun:
                self._start(child)
        for child in self._children:
            if child.due is not None and child.due <= now:
                self._start(child)

    def _start(self, child: _Child) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        report, tell = os.pipe()
        with _blocked():
            try:
                pid = os.fork()
            except OSError as error:
                os.close(report)
                os.close(tell)
                if child.starts:
                    # The machine lacks memory or process ids at the moment; the others continue.
                    child.postpone(time.monotonic())
                    return
                message = f"The system cannot start another process: {error.strerror}."
                raise ServeError(message) from error
            if pid == 0:
                _end_with(partial(self._be, child, tell))
        os.close(tell)
        child.pid, child.report, child.due = pid, report, None
        child.began = time.monotonic()
        child.starts += 1

    def _be(self, child: _Child, tell: int) -> int:
        signal.set_wakeup_fd(-1)
        for number in (*SIGNALS, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        set_process_name(child.role.name)
        os.close(self._alive[1])
        if child.role.outlives:
            os.close(self._living[1])
            for number in SIGNALS:
                # Ignored, because a terminal sends these signals to all of its processes.
                signal.signal(number, signal.SIG_IGN)
        else:
            threading.Thread(target=self._end_with_supervisor, name="parent", daemon=True).start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*SIGNALS, signal.SIGCHLD))
        return child.role.run(Start(child.starts == 0, _teller(tell), self._living[0]))

    def _end_with_supervisor(self) -> None:
        """Wait until the supervisor has ended for any reason; then ask this process to stop."""
        os.read(self._alive[0], 1)
        os.kill(os.getpid(), signal.SIGTERM)

    def _wait(self) -> None:
        reports = {child.report: child for child in self._children if child.report is not None}
        readable, _, _ = select.select([self._woken[0], *reports], [], [], self._seconds())
        for descriptor in readable:
            if descriptor in reports:
                self._hear(reports[descriptor])
            else:
                self._note(os.read(descriptor, _TOLD_BYTES))
        if self._status is not None and time.monotonic() >= self._asked + self.stop_seconds:
            self._kill()

    def _seconds(self) -> float | None:
        moments = [child.due for child in self._children if child.due is not None]
        if self._status is not None:
            moments = [self._asked + self.stop_seconds]
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    def _hear(self, child: _Child) -> None:
        assert child.report is not None
        report = os.read(child.report, _TOLD_BYTES)
        os.close(child.report)
        child.report = None
        if report and self._status is None:
            child.is_up = True
            child.role.hear(report.decode().rstrip("\n"))

    def _note(self, numbers: bytes) -> None:
        now = time.monotonic()
        for number in set(numbers) & set(SIGNALS):
            if self._status is None:
                self.on_asked()
                self._stop(0, signal.Signals(number))
            elif now - self._asked >= ONE_SECONDS:
                self._kill()

    def _stop(self, status: int, number: signal.Signals = signal.SIGTERM) -> None:
        self._status, self._asked = status, time.monotonic()
        self.on_stop()
        os.close(self._living[1])
        self._living = (self._living[0], -1)
        for child in self._running():
            if not child.role.outlives:
                _send(child, number)

    def _kill(self) -> None:
        """Kill all processes except those that outlive others; kill these only if they are left."""
        running = self._running()
        for child in [child for child in running if not child.role.outlives] or running:
            log.error("process.killed", name=child.role.name)
            _send(child, signal.SIGKILL)
            self._status = self._status or EXIT_CODE
        self._asked = time.monotonic()

    def _reap(self) -> None:
        for child in self._running():
            assert child.pid is not None
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                child.pid, child.is_up = None, False
                if child.report is not None:
                    os.close(child.report)
                    child.report = None
                self.on_end(child.role.name)
                if self._status is None:
                    self._restart_or_stop(child, os.waitstatus_to_exitcode(status))

    def _restart_or_stop(self, child: _Child, code: int) -> None:
        now = time.monotonic()
        if self._waves or code == OUTDATED:
            # The process has printed the reason, or an outer supervisor starts another release.
            self._stop(code if code > 0 else FAILED)
            return
        self._deaths.append(now)
        if len(self._deaths) == _DEATHS and now - self._deaths[0] <= _WITHIN_SECONDS:
            log.critical("processes.keep_dying", name=child.role.name, status=code)
            self._stop(FAILED)
            return
        seconds = child.postpone(now)
        log.error("process.died", name=child.role.name, status=code, restart_seconds=seconds)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Install handlers that make signals wake the supervisor instead of ending it."""
        self._living, self._alive, self._woken = os.pipe(), os.pipe(), os.pipe()
        os.set_blocking(self._woken[1], False)
        os.set_blocking(self._woken[0], False)
        signal.set_wakeup_fd(self._woken[1], warn_on_full_buffer=False)
        for number in (*SIGNALS, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        yield


@contextmanager
def _blocked() -> Iterator[None]:
    """Block signals around a fork: the child has the parent's handlers until it sets its own."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (*SIGNALS, signal.SIGCHLD))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(run: Callable[[], int]) -> NoReturn:
    status = FAILED
    try:
        status = run()
    except BaseException:  # noqa: BLE001 - nothing may reach the frames of the parent
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _teller(tell: int) -> Callable[[str], None]:
    def say(word: str) -> None:
        # The write fails if the supervisor has ended.
        with suppress(OSError):
            os.write(tell, f"{word}\n".encode())
        os.close(tell)

    return say


def _send(child: _Child, number: signal.Signals) -> None:
    assert child.pid is not None
    # Safe: a child that has ended keeps its process id until it is reaped.
    os.kill(child.pid, number)
