"""Replacement of this process by a program with fewer rights, tied to its parent. A script.

    python -I -S launcher.py PARENT UID GID DEATH_SIGNAL FOLDER PROGRAM [ARGUMENT ...]

It is a separate script because the code between fork and exec must not run inside a process with
threads. It imports only the standard library, before the rights are dropped.
"""

import ctypes
import os
import signal
import sys

_KEEP_USER = -1
_PR_SET_PDEATHSIG = 1


def _drop_rights(uid: int, gid: int) -> None:
    os.setgroups([gid])
    os.setgid(gid)
    os.setuid(uid)


def _die_with(parent: int, death_signal: int) -> None:
    """Ask Linux to send a signal when the thread that started this process ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != parent:
        sys.exit("error: the process that started this one has ended")


def main(arguments: list[str]) -> None:
    """Prepare the process, then replace it by the program."""
    parent, uid, gid, death_signal = (int(number) for number in arguments[:4])
    folder, *command = arguments[4:]
    # A shell starts background jobs with SIGINT ignored, and a signal mask is inherited.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(0o077)
    if uid != _KEEP_USER:
        _drop_rights(uid, gid)
    if death_signal:
        _die_with(parent, death_signal)  # last: a change of user clears it
    os.chdir(folder)
    os.execv(command[0], command)  # noqa: S606 - becoming the given program is the purpose


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except OSError as error:
        sys.exit(f"error: {error.strerror}: {error.filename}")
