"""The folder of the embedded Postgres, held by one process at a time, and who runs the server.

    <data_dir>/postgres/
      cluster/       the database; belongs to the user that runs the server
      run/           the socket, which only that user and root can reach
      postgres.log   what the server says; never a statement or a value
      service.lock   held by the service
      server.lock    held by the server and each of its processes
      pg_hba.conf    who may connect: whoever reaches the socket, over nothing but the socket

Postgres refuses to run as root. Started by root it runs as an unprivileged user, and what root
writes lies outside the folders of that user. Where that user cannot enter the folders above (a
checkout below /root, say), the server receives the open folder and reaches everything through
/proc/self/fd. The data stays in the data folder all the same, and no permission is widened.
"""

import os
import shutil
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from app.adapters.postgres.files import (
    binaries_for,
    is_root,
    open_private,
    postgres_program,
    try_lock,
)
from app.adapters.postgres.process import Account, PostgresStartError, can_run

if sys.platform != "win32":
    import pwd

FOLDER = "postgres"
"""Of all this, in the data folder."""
CLUSTER = "cluster"
SOCKETS = "run"
SOCKET_NAME = ".s.PGSQL.5432"
_SOCKET_PATH_MAX_BYTES = 100  # the systems allow 103 to 107
_ACCESS = "local all all trust\n"


@dataclass(frozen=True)
class PostgresHome:
    """A folder that this process holds until `close`."""

    folder: Path
    """As this process names it."""
    seen: str
    """As the server's user names it."""
    binaries: Path
    sockets: Path
    account: Account | None
    """Who runs the server; None: the user of this process."""
    keep: tuple[int, ...]
    """Descriptors that every program must inherit."""
    undo: ExitStack

    @property
    def cluster(self) -> Path:
        """The database itself."""
        return self.folder / CLUSTER

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.folder / "postgres.log"

    def seen_path(self, path: Path) -> str:
        """Name a path as the server's user names it."""
        if path.is_relative_to(self.folder):
            return str(Path(self.seen, path.relative_to(self.folder)))
        return str(path)

    def give(self, path: Path) -> None:
        """Make a folder that was made with mode 0700 the server's own."""
        if self.account:
            os.chown(path, self.account.uid, self.account.gid, follow_symlinks=False)

    def clear_sockets(self) -> None:
        """Empty the socket folder; the lock file of a killed server would stop the next."""
        self.sockets.mkdir(mode=0o700, exist_ok=True)
        self.give(self.sockets)
        for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
            (self.sockets / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Let another process use the folder."""
        self.undo.close()


def open_home(data_dir: Path, *, user: str, copies: Path) -> PostgresHome:
    """Take the folder below `data_dir`, and find out as whom and by what name it can be used.

    Args:
        data_dir: made when absent.
        user: who runs the server when root starts it and the folder belongs to nobody else yet.
        copies: where binaries are copied to which that user could not execute in place.

    Raises:
        PostgresStartError: the folder cannot be used, or another process uses it.
    """
    folder = data_dir.resolve() / FOLDER
    with ExitStack() as undo:
        try:
            _make(folder)
            _hold(folder, undo)
            return _home(folder, user, copies, undo)
        except OSError as error:
            raise PostgresStartError(
                f"The database folder {folder} cannot be used: {error.strerror}: {error.filename}."
            ) from error


def _make(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    if is_root() and folder.stat().st_uid == 0:
        folder.chmod(0o711)  # the server's user passes through to its own folders


def _hold(folder: Path, undo: ExitStack) -> None:
    lock = open_private(folder / "service.lock")
    undo.callback(os.close, lock)
    if not try_lock(lock):
        raise PostgresStartError(f"Another process of this service uses the data folder {folder}.")


def _home(folder: Path, user: str, copies: Path, undo: ExitStack) -> PostgresHome:
    account = _account(folder, user) if is_root() else None
    binaries = binaries_for(account, copies)
    seen, keep = _seen(folder, binaries, account, undo)
    sockets = _sockets(folder, undo)
    _write_access(folder / "pg_hba.conf")
    return PostgresHome(folder, seen, binaries, sockets, account, keep, undo.pop_all())


def _write_access(path: Path) -> None:
    path.unlink(missing_ok=True)
    with path.open("x", encoding="ascii") as access:
        access.write(_ACCESS)
        if is_root():
            os.fchmod(access.fileno(), 0o644)  # the server's user reads it


def _account(folder: Path, user: str) -> Account:
    """Choose the user: a database keeps its owner; a new one is given to `user`."""
    for path in (folder / CLUSTER, folder):
        if path.exists() and (owner := path.stat()).st_uid != 0:
            return Account(str(owner.st_uid), owner.st_uid, owner.st_gid)
    try:
        entry = pwd.getpwnam(user)
    except KeyError as error:
        raise PostgresStartError(
            f"The user {user}, which is to run Postgres in place of root, does not exist:"
            " set MEMORY_BANK_POSTGRES_USER to one that does."
        ) from error
    if entry.pw_uid == 0:
        raise PostgresStartError(
            "Postgres refuses to run as root: set MEMORY_BANK_POSTGRES_USER to another user."
        )
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _seen(
    folder: Path, binaries: Path, account: Account | None, undo: ExitStack
) -> tuple[str, tuple[int, ...]]:
    """Return a name of the folder by which that user reaches it, and what must be inherited."""
    program = postgres_program(binaries, "postgres")
    if account is None or can_run(program, account, folder=str(folder)):
        return str(folder), ()
    descriptor = os.open(folder, os.O_RDONLY)
    undo.callback(os.close, descriptor)
    seen = f"/proc/self/fd/{descriptor}"
    if not can_run(program, account, folder=seen, keep=(descriptor,)):
        raise PostgresStartError(
            f"The user {account.name}, which runs Postgres in place of root, cannot reach {folder}:"
            " choose a --data-dir that it can enter, or set MEMORY_BANK_POSTGRES_USER."
        )
    return seen, (descriptor,)


def _sockets(folder: Path, undo: ExitStack) -> Path:
    """Return the folder of the socket: beside the database, or short where that is too long."""
    beside = folder / SOCKETS
    if len(os.fsencode(beside / SOCKET_NAME)) <= _SOCKET_PATH_MAX_BYTES:
        return beside
    short = tempfile.mkdtemp(prefix="memory-bank-")
    undo.callback(shutil.rmtree, short, ignore_errors=True)
    return Path(short)
