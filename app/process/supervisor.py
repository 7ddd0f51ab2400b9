"""A supervisor: forks the processes of a command, restarts those that die, and stops all.

It has one thread, no event loop and no connection, so that it can fork at any time. Processes begin
in waves: those of a wave once all of the one before are up. Until all waves have begun, the end of
a process is a refusal and ends the command with its status; afterwards the process is restarted.

If the supervisor itself dies, the others are asked to stop: by a signal of Linux, elsewhere by the
end of a pipe. Processes that outlive the others learn by the end of another pipe, of which each of
the others has an end, that all of these are gone.
"""

import ctypes
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

from app.adapters.siblings import become
from app.adapters.terminal import FAILED, OUTDATED
from app.process.listening import ServeError
from app.process.watchdog import EXIT_CODE, ONE_SECONDS, SIGNALS

log = structlog.get_logger()

_PR_SET_PDEATHSIG = 1
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 30.0
_DEATHS = 5
_WITHIN_SECONDS = 60.0
_TOLD_BYTES = 4096


@dataclass(frozen=True)
class Start:
    """The things that a forked process is given.

    Attributes:
        is_first: whether it is the first of its role.
        tell: tells the supervisor that it is up, with a word for the processes that follow.
        others: for a process that outlives the others, a descriptor that ends with them.
    """

    is_first: bool
    tell: Callable[[str], None]
    others: int


@dataclass(frozen=True)
class ProcessRole:
    """One of the processes.

    Attributes:
        name: its name in the log and in metrics.
        run: its work, in the forked process; returns its status.
        hear: called in the supervisor with what it tells once it is up.
        outlives: whether it ends only after all others.
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
    """The descriptor from which the supervisor reads that the process is up."""
    is_up: bool = False
    starts: int = 0
    began: float = 0.0
    pause: float = _FIRST_PAUSE_SECONDS
    due: float | None = None
    """The time at which it is restarted."""

    def postpone(self, now: float) -> float:
        """Plan the restart of a process that has just died; return the pause before it."""
        if now - self.began > _WITHIN_SECONDS:
            self.pause = _FIRST_PAUSE_SECONDS
        pause, self.pause = self.pause, min(2 * self.pause, _LONGEST_PAUSE_SECONDS)
        self.due = now + pause
        return pause


@dataclass
class ProcessSupervisor:
    """The processes of one command.

    Attributes:
        stop_seconds: after which what has not stopped is killed.
        on_stop: called as soon as the processes are asked to stop, or have to.
        on_asked: called first if it is a signal that asks.
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
    """The status with which the command ends, once it stops."""
    _asked: float = 0.0
    _living: tuple[int, int] = (-1, -1)
    """The pipe that ends with the processes which others outlive."""
    _alive: tuple[int, int] = (-1, -1)
    """The pipe that ends with the supervisor."""
    _woken: tuple[int, int] = (-1, -1)

    def run(self, waves: Sequence[Sequence[ProcessRole]]) -> int:
        """Run all processes until they are asked to stop, or cannot go on; return the status.

        Raises:
            ServeError: the system cannot start a process, or one came back as another.
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
        """Start the next wave if its time has come, and the processes whose pause has passed."""
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
            parent = os.getpid()
            try:
                pid = os.fork()
            except OSError as error:
                os.close(report)
                os.close(tell)
                if not child.starts:
                    message = f"The system cannot start another process: {error.strerror}."
                    raise ServeError(message) from error
                # The machine has no room for it at the moment, and the others go on.
                child.postpone(time.monotonic())
                return
            if pid == 0:
                _end_with(partial(self._be, child, report, tell, parent))
        os.close(tell)
        child.pid, child.report, child.due = pid, report, None
        child.began = time.monotonic()
        child.starts += 1

    def _be(self, child: _Child, report: int, tell: int, parent: int) -> int:
        """Run a forked process, without what is the supervisor's own; return its status."""
        signal.set_wakeup_fd(-1)
        for number in (*SIGNALS, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        reports = [other.report for other in self._children if other.report is not None]
        kept = self._living[0] if child.role.outlives else self._living[1]
        others = {report, *reports, *self._woken, *self._living, self._alive[1]} - {kept}
        for descriptor in others:
            os.close(descriptor)
        become(child.role.name)
        if child.role.outlives:
            for number in SIGNALS:
                # A terminal sends them to all its processes.
                signal.signal(number, signal.SIG_IGN)
        else:
            end_with_parent(parent, self._alive[0])
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*SIGNALS, signal.SIGCHLD))
        return child.role.run(Start(child.starts == 0, _teller(tell), kept))

    def _wait(self) -> None:
        """Wait for a signal, a report, or the next time at which something is due."""
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
        """Read what a process tells: it is up, or it has ended before."""
        assert child.report is not None
        told = os.read(child.report, _TOLD_BYTES)
        os.close(child.report)
        child.report = None
        if told and self._status is None:
            child.is_up = True
            child.role.hear(told.decode().rstrip("\n"))

    def _note(self, numbers: bytes) -> None:
        """Pass signals on; kill the rest at a second one."""
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
        """Kill all, but first those alone which others outlive: these then end in order."""
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
                    self._mourn(child, os.waitstatus_to_exitcode(status))

    def _mourn(self, child: _Child, code: int) -> None:
        """Restart a process that has died, unless that would be in vain."""
        now = time.monotonic()
        if self._waves or code == OUTDATED:
            # It has said why, or the command's own supervisor starts another release.
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
        """End the wait of the block, rather than the process, at a signal."""
        self._living, self._alive, self._woken = os.pipe(), os.pipe(), os.pipe()
        os.set_blocking(self._woken[1], False)
        os.set_blocking(self._woken[0], False)
        signal.set_wakeup_fd(self._woken[1], warn_on_full_buffer=False)
        for number in (*SIGNALS, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        yield


@contextmanager
def _blocked() -> Iterator[None]:
    """Hold signals back: between the fork and its own handlers, a child has its parent's."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (*SIGNALS, signal.SIGCHLD))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(run: Callable[[], int]) -> NoReturn:
    """Run a forked process to its end, without the parent's frames below it."""
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
        # Without a supervisor nobody listens.
        with suppress(OSError):
            os.write(tell, f"{word}\n".encode())
        os.close(tell)

    return say


def _send(child: _Child, number: signal.Signals) -> None:
    assert child.pid is not None
    # A child that has ended keeps its number until it is reaped.
    os.kill(child.pid, number)


def end_with_parent(parent: int, alive: int) -> None:
    """Ask this process to stop as soon as its parent has ended, however that ends.

    Args:
        parent: its process id.
        alive: a descriptor that ends with the parent, for systems without a signal for it.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)
    else:
        end_with_pipe(alive)


def end_with_pipe(alive: int) -> None:
    """Ask this process to stop at the end of a pipe."""

    def wait() -> None:
        os.read(alive, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="parent", daemon=True).start()
