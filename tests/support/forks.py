"""Processes of the service without the seconds that its imports take, for tests that start many.

Another process has imported what a command needs, and forks for each. The program, its arguments
and its variables are those of a process that begins anew, and so is how it ends. Where a system
cannot fork safely, each process does begin anew.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import types
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Protocol

_ROOT = Path(__file__).parents[2]
_REQUEST_BYTES = 1 << 17
_REPORT_BYTES = 20
_PRELOADED = ("app.process.serving", "app.process.commands.keys", "app.process.remote_api")


class Process(Protocol):
    """What tests use of a `subprocess.Popen`."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, sig: int) -> None: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


class _Forked:
    """A process that another one has forked, which reports its number and its end."""

    def __init__(self, reports: socket.socket) -> None:
        self._reports = reports
        self.pid = int(reports.recv(_REPORT_BYTES))
        self._code: int | None = None

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        if self._code is None:
            self._reports.settimeout(timeout)
            try:
                self._code = int(self._reports.recv(_REPORT_BYTES))
            except (BlockingIOError, TimeoutError) as error:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0) from error
            self._reports.close()
        return self._code

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start(
    arguments: Sequence[str],
    variables: Mapping[str, str],
    output: IO[bytes] | None = None,
    errors: IO[bytes] | None = None,
    given: IO[bytes] | None = None,
) -> Process:
    """Start Python with arguments that begin with `-m` and a module, or `-c` and a program."""
    if sys.platform != "linux":
        return start_anew(arguments, variables, output, errors, given)
    here, there = _pair()
    files = enumerate((given, output, errors))
    standard = [number if file is None else file.fileno() for number, file in files]
    request = json.dumps([list(arguments), dict(variables), str(Path.cwd())]).encode()
    with there:
        socket.send_fds(_forking(), [request], [there.fileno(), *standard])
    return _Forked(here)


def start_anew(
    arguments: Sequence[str],
    variables: Mapping[str, str],
    output: IO[bytes] | None = None,
    errors: IO[bytes] | None = None,
    given: IO[bytes] | None = None,
) -> Process:
    """Start Python as `start` does, with nothing imported yet, as an operator starts it."""
    command = [sys.executable, *arguments]
    return subprocess.Popen(command, env=variables, stdin=given, stdout=output, stderr=errors)


def run(
    arguments: Sequence[str],
    variables: Mapping[str, str],
    timeout: float | None = None,
    given: str = "",
) -> "subprocess.CompletedProcess[str]":
    """Run a process to its end, with a text to read; return what `subprocess.run` does."""
    with TemporaryFile() as entered, TemporaryFile() as output, TemporaryFile() as errors:
        entered.write(given.encode())
        entered.seek(0)
        process = start(arguments, variables, output, errors, entered)
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        said = []
        for file in (output, errors):
            file.seek(0)
            said.append(file.read().decode())
    return subprocess.CompletedProcess(arguments, code, *said)


def _pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


@cache
def _forking() -> socket.socket:
    """Start the process that forks; it ends with this one, which holds the other socket."""
    here, there = _pair()
    with there:
        command = [sys.executable, "-m", __name__, str(there.fileno())]
        process = subprocess.Popen(command, pass_fds=[there.fileno()], cwd=_ROOT)

    def end() -> None:
        here.close()
        process.wait()

    atexit.register(end)
    return here


def _fork_for_each(requests: socket.socket) -> None:
    """Return in each forked process; end as soon as nobody can ask for more."""
    while True:
        said, received, _, _ = socket.recv_fds(requests, _REQUEST_BYTES, 4)
        if not said:
            os._exit(0)
        reports, *standard = received
        if os.fork() == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if (pid := os.fork()) == 0:
                os.close(reports)
                _become(standard, *json.loads(said))
                return
            _keep(pid, reports, standard)
        for descriptor in received:
            os.close(descriptor)


def _keep(pid: int, reports: int, standard: Sequence[int]) -> None:
    """Report a process's number and its end, like its parent."""
    for descriptor in standard:
        os.close(descriptor)
    os.write(reports, f"{pid}\n".encode())
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.write(reports, str(code).encode())
    os._exit(0)


def _become(
    standard: Sequence[int], arguments: Sequence[str], variables: Mapping[str, str], folder: str
) -> None:
    """Take over what a process that begins anew is given."""
    for number, descriptor in enumerate(standard):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv[:] = arguments


def _run_program() -> None:
    option, program, *options = sys.argv
    sys.argv[:] = [option, *options]
    if option == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
        return
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(program, vars(main))


if __name__ == "__main__":
    for name in _PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    # Who reports an end is itself not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _fork_for_each(socket.socket(fileno=int(sys.argv[1])))
    _run_program()
