"""Backups of the embedded Postgres, by the bundled `pg_basebackup`, and their restores.

The programs run as the user of this process, which therefore owns the backups. They reach the
running server over its socket, which only that user and the server's can open.

An incremental backup combined with a parent of another history would be corrupt, and Postgres does
not detect it: a restore keeps the system identifier and the timeline. So the folder of the cluster
lists the manifests of its backups, and only these backups can be parents.
"""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import psycopg

from app.adapters.postgres import server
from app.adapters.postgres.catalog import (
    MANIFEST,
    Backup,
    BackupError,
    BackupFolder,
    BackupKind,
    Manifest,
    Report,
    damages,
    list_wal,
    read_manifest,
)
from app.adapters.postgres.embedded import COPIES
from app.adapters.postgres.home import FOLDER, PostgresHome, open_home
from app.adapters.postgres.programs import (
    MAJOR,
    failure_in_log,
    find_binaries,
    launch,
    open_private,
    postgres_program,
)
from app.adapters.postgres.supervisor import Supervisor
from app.kernel.clock import SystemClock
from app.kernel.release import RELEASE
from app.settings.settings import Settings

BACKUPS = "backups"
"""The folder within the data folder for backups before migrations."""
ROOM = 1.1
"""The required free space, as a multiple of the bytes to write."""
MADE = "backed-up"
"""The file in the folder of the embedded Postgres that lists the backups of its cluster."""
_MOST_MADE = 1_000
_WAL_BYTES = 64 * 1024 * 1024
_MOST_NAMED = 20
_POLL_SECONDS = 0.1
_PROGRESS = re.compile(rb"(\d+)/(\d+) kB")
_KIB = 1024
_NO_PARENT = re.compile("WAL summar|manifest|timeline")
_NOT_LET_IN = "no pg_hba.conf entry"
_FACTS = b"""
    select split_part(current_setting('server_version'), ' ', 1),
    (select system_identifier::text from pg_control_system()),
    (select sum(pg_database_size(oid))::bigint from pg_database),
    to_regclass('alembic_version') is not null
"""
_REVISION = b"select version_num from alembic_version"


@dataclass(frozen=True)
class RunningCluster:
    """A cluster with a running server, to back up."""

    data_dir: Path
    url: str

    @property
    def made(self) -> Path:
        """The file that lists this cluster's backups."""
        return self.data_dir / FOLDER / MADE


@dataclass(frozen=True)
class Taken:
    """A finished backup; `why_full`: the reason why an incremental backup was not possible."""

    backup: Backup
    why_full: str | None = None


def take_full(
    cluster: RunningCluster, folder: BackupFolder, report: Report, *, prefix: str = ""
) -> Backup:
    """Make a full backup in a locked folder. Blocking.

    Raises:
        BackupError: the backup failed; its files were removed.
    """
    _check_room(cluster, folder)
    return _taken(cluster, folder, None, report, prefix=prefix)


def take_incremental(cluster: RunningCluster, folder: BackupFolder, report: Report) -> Taken:
    """Make a backup of the changes since the newest backup, or a full one without a usable parent.

    Raises:
        BackupError: the backup failed; its files were removed.
    """
    parent = _find_parent(cluster, folder)
    if parent is None:
        reason = f"no backup of this database in {folder.path} can be continued"
        return Taken(take_full(cluster, folder, report), reason)
    try:
        return Taken(_taken(cluster, folder, parent, report))
    except BackupError as error:
        if not _NO_PARENT.search(str(error)):
            raise
        return Taken(take_full(cluster, folder, report), str(error).rstrip("."))


def _find_parent(cluster: RunningCluster, folder: BackupFolder) -> Backup | None:
    known = [backup for backup in folder.list_all() if not backup.is_before_migration]
    if not known or known[-1].manifest not in _list_made(cluster.made):
        return None
    try:
        for backup in folder.chain_of(known[-1]):
            read_manifest(folder.place_of(backup.id))
    except BackupError:
        return None
    return known[-1]


def _list_made(path: Path) -> list[str]:
    return path.read_text(encoding="ascii").split() if path.exists() else []


def _note_made(path: Path, digest: str) -> None:
    known = [*_list_made(path), digest][-_MOST_MADE:]
    made = path.with_name(f"{path.name}.part")
    made.unlink(missing_ok=True)
    with os.fdopen(open_private(made), "w", encoding="ascii") as file:
        file.write("\n".join(known) + "\n")
    made.replace(path)


def _check_room(cluster: RunningCluster, folder: BackupFolder) -> None:
    need = int(ROOM * (_facts(cluster).bytes + _WAL_BYTES))
    check_room(folder.path, need)


def check_room(folder: Path, need: int) -> None:
    """Check that a folder's file system has `need` bytes of free space."""
    free = shutil.disk_usage(folder).free
    if free < need:
        raise BackupError(f"{folder} needs {need:,} bytes of free space; it has {free:,}.")


@dataclass(frozen=True)
class _Facts:
    """The facts of a cluster that a backup records; `bytes` is the size of its databases."""

    postgres: str
    system_identifier: str
    bytes: int
    schema_revision: str


def _facts(cluster: RunningCluster) -> _Facts:
    try:
        with closing(psycopg.connect(cluster.url, autocommit=True)) as connection:
            row = connection.execute(_FACTS).fetchone()
            assert row is not None
            version, identifier, size, is_migrated = row
            revision = connection.execute(_REVISION).fetchone() if is_migrated else None
    except psycopg.Error as error:
        reason = str(error).partition("\n")[0]
        raise BackupError(f"The database cannot be read: {reason}") from error
    return _Facts(version, identifier, size, revision[0] if revision else "")


def _taken(
    cluster: RunningCluster,
    folder: BackupFolder,
    parent: Backup | None,
    report: Report,
    prefix: str = "",
) -> Backup:
    began = SystemClock().now()
    kind = BackupKind.INCREMENTAL if parent else BackupKind.FULL
    name = _new_name(folder, prefix, kind)
    part = folder.part_of(name)
    options = [f"--incremental={folder.place_of(parent.id) / MANIFEST}"] if parent else []
    try:
        _copy(cluster, part, options, report)
        manifest = read_manifest(part)
        wal = list_wal(part)
        check_readable(part, manifest)
        raise_first(damages(part, {**manifest.files, **wal}, report))
        facts = _facts(cluster)
        backup = Backup(
            id=name,
            kind=kind,
            parent=parent.id if parent else None,
            release=RELEASE,
            schema_revision=facts.schema_revision,
            postgres=facts.postgres,
            system_identifier=facts.system_identifier,
            bytes=size_of(part),
            start_time=began,
            end_time=SystemClock().now(),
            manifest=manifest.digest,
            wal=wal,
        )
        folder.add(backup)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    _note_made(cluster.made, manifest.digest)
    return backup


def _new_name(folder: BackupFolder, prefix: str, kind: BackupKind) -> str:
    """Return an unused name with the current time; wait if this second's name is taken."""
    ending = "" if prefix else f"-{'incr' if kind is BackupKind.INCREMENTAL else 'full'}"
    while True:
        name = f"{prefix}{SystemClock().now():%Y%m%dT%H%M%SZ}{ending}"
        if not folder.place_of(name).exists():
            return name
        time.sleep(_POLL_SECONDS)


def _copy(cluster: RunningCluster, part: Path, options: Sequence[str], report: Report) -> None:
    def look(output: Path) -> None:
        if written := _PROGRESS.findall(output.read_bytes()[-_KIB:]):
            done, total = map(int, written[-1])
            report("copying", done * _KIB, total * _KIB)

    try:
        run_program(
            "pg_basebackup",
            f"--dbname={cluster.url}",
            f"--pgdata={part}",
            "--wal-method=stream",
            "--checkpoint=fast",
            "--manifest-checksums=SHA256",
            "--label=memory-bank",
            "--progress",
            "--no-password",
            *options,
            look=look,
        )
    except BackupError as error:
        if _NOT_LET_IN not in str(error):
            raise
        raise BackupError(
            "The running service is of a release without backups; restart it with this one."
        ) from error


def run_program(name: str, *arguments: str, look: Callable[[Path], None] | None = None) -> None:
    """Run a bundled program to its end. Blocking; an interruption ends the program.

    `look` is called at intervals, with the file of the program's output so far.
    """
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "output"
        with path.open("wb") as output:
            command = [str(postgres_program(find_binaries(), name)), *arguments]
            process = launch(command, folder="/", account=None, output=output.fileno())
        try:
            while process.poll() is None:
                if look is not None:
                    look(path)
                time.sleep(_POLL_SECONDS)
        except BaseException:
            process.terminate()
            process.wait()
            raise
        if process.returncode != 0:
            reason = failure_in_log(path, 0) or f"it ended with {process.returncode}"
            raise BackupError(f"{name} failed: {reason.rstrip('.')}.")


def size_of(folder: Path) -> int:
    """Return the size in bytes of all files in a folder; files may change meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def check_readable(place: Path, manifest: Manifest) -> None:
    """Check that the write-ahead log needed at the start of a restored server is readable."""
    for needed in manifest.ranges:
        try:
            run_program(
                "pg_waldump",
                "--quiet",
                f"--path={place / 'pg_wal'}",
                f"--timeline={needed.timeline}",
                f"--start={needed.start}",
                f"--end={needed.end}",
            )
        except BackupError as error:
            raise BackupError(f"{place / 'pg_wal'} cannot be read: {error}") from error


def raise_first(found: Iterator[str]) -> None:
    """Raise `BackupError` with the first damages, if there are any."""
    if named := list(islice(found, _MOST_NAMED)):
        raise BackupError(" ".join(named))


def verify(folder: BackupFolder, backup: Backup, report: Report) -> None:
    """Check that every byte of a backup is unchanged. Blocking.

    Raises:
        BackupError: files differ; the message names at most 20 of them.
    """
    place = folder.place_of(backup.id)
    manifest = read_manifest(place)
    if manifest.digest != backup.manifest:
        raise BackupError(f"{place / MANIFEST} is not the one that the catalog names.")
    raise_first(damages(place, {**manifest.files, **backup.wal}, report))
    check_readable(place, manifest)


def keep(folder: BackupFolder, count: int, report: Report) -> list[str]:
    """Remove all chains of a locked folder but the `count` newest; return the backups' ids.

    Backups before migrations stay.

    Raises:
        BackupError: none of the chains to keep is whole; none was removed.
    """
    chains: list[list[Backup]] = []
    listed = folder.list_all()
    for backup in listed:
        # Backups of another database do not count: it may exist only because a volume was missing.
        is_other = backup.system_identifier != listed[-1].system_identifier
        if backup.is_before_migration or is_other:
            continue
        if backup.parent is None or not chains:
            chains.append([])
        chains[-1].append(backup)
    removed = [backup.id for chain in chains[:-count] for backup in chain]
    if removed:
        # A full backup that was just made has been verified.
        if len(chains[-1]) > 1 and not any(
            _is_whole(folder, chain, report) for chain in chains[-count:]
        ):
            raise BackupError("None of the backups to keep is whole, so none was removed.")
        folder.remove(removed)
    return removed


def _is_whole(folder: BackupFolder, chain: Sequence[Backup], report: Report) -> bool:
    try:
        for backup in folder.chain_of(chain[-1]):
            verify(folder, backup, report)
    except BackupError:
        return False
    return True


_START_SECONDS = 86_400


@contextmanager
def restored(
    settings: Settings, folder: BackupFolder, backup: Backup, report: Report
) -> Iterator[str]:
    """Restore a backup, and run a server on it for the block; yield its address. Blocking.

    The data folder contains the database only after the block has ended without an error. After an
    error, the restored files are removed.
    """
    chain = folder.chain_of(backup)
    _check_version(backup)
    if server.has_cluster(settings.data_dir):
        raise BackupError(
            f"{settings.data_dir} has a database already; name an empty folder with --data-dir."
        )
    with ExitStack() as stack:
        home = open_home(settings.data_dir, user=settings.postgres_user, copies=COPIES)
        stack.callback(home.close)
        check_room(home.folder, int(ROOM * sum(each.bytes for each in chain)))
        for each in chain:
            verify(folder, each, report)
        made = server.new_cluster_folder(home)
        unwanted = stack.enter_context(ExitStack())
        unwanted.callback(shutil.rmtree, made, ignore_errors=True)
        _join(home, made, [folder.place_of(each.id) for each in chain], report)
        with _served(replace(home, cluster_name=made.name)) as url:
            yield url
        # After the server's stop: `pg_checksums` refuses a cluster that was not shut down, like a
        # backup.
        run_program("pg_checksums", "--check", f"--pgdata={made}")
        # Backups of a former cluster here have another history.
        (home.folder / MADE).unlink(missing_ok=True)
        server.adopt_cluster(home, made)
        unwanted.pop_all()


def _check_version(backup: Backup) -> None:
    major = backup.postgres.partition(".")[0]
    if major != MAJOR:
        raise BackupError(f"This backup is of Postgres {major}; this release carries {MAJOR}.")


def _join(home: PostgresHome, made: Path, parts: Sequence[Path], report: Report) -> None:
    total = sum(map(size_of, parts))
    run_program(
        "pg_combinebackup",
        *map(str, parts),
        f"--output={made}",
        look=lambda _: report("joining", size_of(made), total),
    )
    (made / MANIFEST).unlink()  # the next backup of this cluster writes its own
    for path, folders, files in os.walk(made):
        for name in (*folders, *files):
            home.give(Path(path) / name)


@contextmanager
def _served(home: PostgresHome) -> Iterator[str]:
    # A long time limit: the start replays all WAL that was written during the backup.
    supervisor = Supervisor(home, _START_SECONDS)
    url = server.url_of(home.sockets)
    try:
        supervisor.start()
        yield url
        # Otherwise the final checkpoint may exceed the time limit of the server's stop.
        with closing(psycopg.connect(url, autocommit=True)) as connection:
            connection.execute("checkpoint")
    finally:
        supervisor.stop()
