"""A command of the service in a terminal of its own, as a person types it."""

import os
import pty
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from select import select

from tests.support import forks

_SECONDS = 120
"""Longer than anything takes beside load: to fail by, not to measure with."""
_INTERRUPT = b"\x03"
# As a shell does: Ctrl-C goes to the whole group in the foreground.
_PROGRAM = """
import os, runpy
os.login_tty(0)
runpy.run_module("app.process.cli", run_name="__main__", alter_sys=True)
"""


@dataclass
class Terminal:
    """A terminal with a process in its foreground."""

    process: forks.Process
    descriptor: int
    _shown: bytearray = field(default_factory=bytearray)

    @property
    def shown(self) -> str:
        """What is on the screen, with plain line breaks."""
        return self._shown.decode().replace("\r\n", "\n")

    def wait_for(self, text: str) -> None:
        """Read until the screen shows a text."""
        deadline = time.monotonic() + _SECONDS
        while text not in self.shown:
            assert time.monotonic() < deadline, self.shown
            assert self._read() or text in self.shown, self.shown

    def press_ctrl_c(self) -> None:
        os.write(self.descriptor, _INTERRUPT)

    def end(self) -> int:
        """Read until the process ends; return its status."""
        while self._read():
            pass
        return self.process.wait(_SECONDS)

    def _read(self) -> bool:
        """Read what comes next; return False at the end."""
        ready, _, _ = select([self.descriptor], [], [], _SECONDS)
        assert ready, self.shown
        try:
            read = os.read(self.descriptor, 65_536)
        except OSError:
            return False  # the end of a terminal on Linux
        self._shown += read
        return bool(read)


@contextmanager
def terminal(*arguments: str, **settings: str) -> Iterator[Terminal]:
    """Run a command in a terminal beside the block; settings by their names in lower case."""
    given = {f"MEMORY_BANK_{name.upper()}": value for name, value in settings.items()}
    with _opened(["-c", _PROGRAM, *arguments], given) as found:
        yield found


@contextmanager
def _opened(arguments: Sequence[str], given: Mapping[str, str]) -> Iterator[Terminal]:
    own, theirs = pty.openpty()
    variables = {**os.environ, "MEMORY_BANK_EMBEDDER": "hash", **given}
    try:
        with os.fdopen(theirs, "r+b", buffering=0) as screen:
            process = forks.start(arguments, variables, screen, screen, screen)
        try:
            yield Terminal(process, own)
        finally:
            process.kill()
            process.wait()
    finally:
        os.close(own)
