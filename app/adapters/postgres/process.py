"""Start of the embedded Postgres's programs, as a given user and tied to this process.

On Linux a program receives SIGINT when the *thread* that started it ends, also by kill -9 of the
whole process: start a server only from a thread that lives as long as the server. Other systems
have no signal for this; there the next start stops a leftover server.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_LAUNCHER = Path(__file__).with_name("launcher.py")
_PROBE_SECONDS = 10


class PostgresStartError(RuntimeError):
    """The embedded Postgres cannot run; the message is one sentence for the operator."""


@dataclass(frozen=True)
class Account:
    """The user that runs Postgres when this process runs as root."""

    name: str
    uid: int
    gid: int


def launch(
    command: Sequence[str],
    *,
    folder: str,
    account: Account | None,
    output: int,
    keep: Sequence[int] = (),
) -> "subprocess.Popen[bytes]":
    """Start a program in its own session, which Ctrl-C in the terminal does not reach.

    Args:
        command: the program's absolute path and its arguments.
        folder: the working folder, as the program's user sees it.
        account: the user to become; None keeps the present one.
        output: the descriptor for both standard streams.
        keep: further descriptors to inherit, under the same numbers.
    """
    if sys.platform == "win32":
        return subprocess.Popen(  # noqa: S603 - a program of the installed package
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    uid, gid = (account.uid, account.gid) if account else (-1, -1)
    death_signal = int(signal.SIGINT) if sys.platform == "linux" else 0
    numbers = map(str, (os.getpid(), uid, gid, death_signal))
    return subprocess.Popen(  # noqa: S603 - the launcher and the programs of the installed package
        [sys.executable, "-I", "-S", str(_LAUNCHER), *numbers, folder, *command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=keep,
        start_new_session=True,
        # The caller's environment (PGDATA, PGOPTIONS, LC_*) must not influence the server.
        env={"LC_ALL": "C", "PATH": os.defpath},
    )


def can_run(program: Path, account: Account, *, folder: str, keep: Sequence[int] = ()) -> bool:
    """Return True if a user can execute `program` from within `folder`, by running it."""
    tried = launch(
        [str(program), "--version"],
        folder=folder,
        account=account,
        output=subprocess.DEVNULL,
        keep=keep,
    )
    try:
        return tried.wait(_PROBE_SECONDS) == 0
    except subprocess.TimeoutExpired:
        tried.kill()
        tried.wait()
        return False


def ask_to_stop(process: "subprocess.Popen[bytes]", *, at_once: bool = False) -> None:
    """Ask a server to close its connections and stop; `at_once` relies on later crash recovery."""
    if sys.platform == "win32":
        process.terminate()  # no such signals on Windows; committed rows are in the WAL
    else:
        process.send_signal(signal.SIGQUIT if at_once else signal.SIGINT)
