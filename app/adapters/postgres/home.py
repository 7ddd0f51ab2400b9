"""The folder of the embedded Postgres, held by one process at a time, and the server's user.

    <data_dir>/postgres/
      cluster/       the database; owned by the user that runs the server
      run/           the socket, accessible only to that user and root
      postgres.log   the server's log; never a statement or a value
      service.lock   held by the service; contains its process id and the address that it serves
      server.lock    held by the server and each of its processes
      pg_hba.conf    the access rules: only local connections over the socket; `all` does not
                     include connections of backups, which have a separate rule
      backed-up      the digests of the manifests of this cluster's backups

Postgres refuses to run as root. Started by root, it runs as an unprivileged user, and root's own
files lie outside the folders of that user. If that user cannot enter the folders above (a checkout
below /root, say), the server inherits the open folder and accesses everything through
/proc/self/fd. The data still stays in the data folder, and no permission is widened.
"""

import json
import os
import shutil
import stat
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Self

from app.adapters.postgres.programs import (
    Account,
    PostgresStartError,
    binaries_for,
    can_run,
    is_root,
    open_private,
    postgres_program,
    try_lock,
)

if sys.platform != "win32":
    import pwd

FOLDER = "postgres"
"""The name of this folder within the data folder."""
CLUSTER = "cluster"
SOCKETS = "run"
SOCKET_NAME = ".s.PGSQL.5432"
_SOCKET_PATH_MAX_BYTES = 100  # the systems allow 103 to 107
_ACCESS = "local all all trust\nlocal replication all trust\n"
_FILE = "service.lock"
_MAX_BYTES = 4_096


@dataclass(frozen=True)
class PostgresHome:
    """The folder of the embedded Postgres, held by this process until `close`."""

    folder: Path
    """The path of the folder for this process."""
    seen: str
    """The path of the folder for the server's user."""
    binaries: Path
    sockets: Path
    account: Account | None
    """The user that runs the server; None: the user of this process."""
    keep: tuple[int, ...]
    """Descriptors that every program must inherit."""
    undo: ExitStack
    cluster_name: str = CLUSTER

    @property
    def cluster(self) -> Path:
        """The folder of the database itself."""
        return self.folder / self.cluster_name

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.folder / "postgres.log"

    def seen_path(self, path: Path) -> str:
        """Return a path as the server's user sees it."""
        if path.is_relative_to(self.folder):
            return str(Path(self.seen, path.relative_to(self.folder)))
        return str(path)

    def give(self, path: Path) -> None:
        """Give the server's user a folder that was created with mode 0700."""
        if self.account:
            os.chown(path, self.account.uid, self.account.gid, follow_symlinks=False)

    def clear_sockets(self) -> None:
        """Empty the socket folder; the lock file of a killed server would block the next one."""
        self.sockets.mkdir(mode=0o700, exist_ok=True)
        self.give(self.sockets)
        for name in (SOCKET_NAME, f"{SOCKET_NAME}.lock"):
            (self.sockets / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Release the folder for other processes."""
        self.undo.close()


@dataclass(frozen=True)
class Holder:
    """A process that holds a data folder; `address` is where it serves the API, if it does."""

    pid: int = field(default_factory=os.getpid)
    address: str | None = None

    def hold(self, folder: Path) -> int | None:
        """Lock a folder and record this holder; return the lock, or None if another has it."""
        lock = open_private(folder / _FILE)
        if not try_lock(lock):
            os.close(lock)
            return None
        os.ftruncate(lock, 0)
        os.write(lock, json.dumps(asdict(self)).encode())
        return lock

    @classmethod
    def of(cls, folder: Path) -> Self | None:
        """Return the process that holds a folder; None: no live one, or the file is unreadable."""
        try:
            with (folder / _FILE).open("rb") as file:
                said = json.loads(file.read(_MAX_BYTES))
            holder = cls(int(said["pid"]), said["address"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return holder if _lives(holder.pid) else None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True  # it belongs to another user
    except OSError:
        return False
    return True


def open_home(
    data_dir: Path, *, user: str, copies: Path, holder: Holder | None = None
) -> PostgresHome:
    """Lock the folder below `data_dir`, and determine the server's user and its path.

    `user` runs the server if root starts it and the folder has no other owner yet. `copies` gets
    copies of binaries that this user could not execute in place.
    """
    folder = data_dir.resolve() / FOLDER
    with ExitStack() as undo:
        try:
            _make_folder(folder)
            _lock_folder(folder, holder or Holder(), undo)
            return _home(folder, user, copies, undo)
        except OSError as error:
            raise PostgresStartError(
                f"The database folder {folder} cannot be used: {error.strerror}: {error.filename}."
            ) from error


def _make_folder(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    if is_root() and folder.stat().st_uid == 0:
        folder.chmod(0o711)  # the server's user passes through to its own folders


def _lock_folder(folder: Path, holder: Holder, undo: ExitStack) -> None:
    lock = holder.hold(folder)
    if lock is None:
        raise PostgresStartError(_held(folder))
    undo.callback(os.close, lock)


def _held(folder: Path) -> str:
    other = Holder.of(folder)
    if other is None:
        process = "another process of this service"
    else:
        serving = f", which serves {other.address}" if other.address else ""
        process = f"process {other.pid} of this service{serving}"
    return (
        f"The data folder {folder.parent} is held by {process}: stop that process, or name another"
        " folder with --data-dir."
    )


def _home(folder: Path, user: str, copies: Path, undo: ExitStack) -> PostgresHome:
    account = _account(folder, user) if is_root() else None
    binaries = binaries_for(account, copies)
    seen, keep = _path_for_user(folder, binaries, account, undo)
    sockets = _sockets(folder, account, undo)
    _write_access(folder / "pg_hba.conf")
    return PostgresHome(folder, seen, binaries, sockets, account, keep, undo.pop_all())


def _write_access(path: Path) -> None:
    path.unlink(missing_ok=True)
    with path.open("x", encoding="ascii") as access:
        access.write(_ACCESS)
        if is_root():
            os.fchmod(access.fileno(), 0o644)  # the server's user reads it


def _account(folder: Path, user: str) -> Account:
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


def _path_for_user(
    folder: Path, binaries: Path, account: Account | None, undo: ExitStack
) -> tuple[str, tuple[int, ...]]:
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


def _sockets(folder: Path, account: Account | None, undo: ExitStack) -> Path:
    """Return the socket's folder: next to the cluster, or a short path if that is too long.

    Clients continue to use the path after a restart of the server, so it is deterministic.
    """
    beside = folder / SOCKETS
    if len(os.fsencode(beside / SOCKET_NAME)) <= _SOCKET_PATH_MAX_BYTES:
        return beside
    name = f"memory-bank-{sha256(os.fsencode(folder)).hexdigest()[:16]}"
    short = Path(tempfile.gettempdir(), name)
    short.mkdir(mode=0o700, exist_ok=True)
    status, owners = short.lstat(), {os.geteuid(), account.uid if account else os.geteuid()}
    if not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o077 or status.st_uid not in owners:
        raise PostgresStartError(
            f"The folder {short}, which is to hold the database's socket, belongs to somebody"
            " else: remove it, or choose a shorter --data-dir."
        )
    undo.callback(shutil.rmtree, short, ignore_errors=True)
    return short
