"""Commands and checks of the embedded Postgres: create, start, probe, identify.

The lock that each server process inherits shows whether an earlier server has fully ended: the
number in `postmaster.pid` may belong to a stranger.
"""

import os
import shutil
import signal
import tempfile
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from app.adapters.postgres.home import CLUSTER, FOLDER, SOCKETS, PostgresHome
from app.adapters.postgres.programs import open_private, postgres_program, sync_folder, try_lock

DATABASE = "memory_bank"
_ROLE = "memory_bank"
_MAINTENANCE_DATABASE = "postgres"
_PORT = "5432"  # part of the socket's name; the server does not listen on a network
_CONNECT_SECONDS = 5

# Initial values; an operator may change them in the cluster's postgresql.conf.
_TUNABLE = {
    "max_connections": "100",
    "max_wal_size": "512MB",
    "shared_buffers": "128MB",
    # The pages of a scope are in the system's cache; an I/O worker would only add latency.
    "io_method": "sync",
}
# Set at every start; otherwise an old file or ALTER SYSTEM could weaken them. Acknowledged rows are
# on disk. Failed statements, and messages or details that may quote a value, stay out of the log:
# `log_min_messages` ranks `log` above `error`. Incremental backups need the summaries of the WAL.
_FIXED = {
    "fsync": "on",
    "full_page_writes": "on",
    "listen_addresses": "",
    "log_checkpoints": "off",
    "log_destination": "stderr",
    "log_error_verbosity": "terse",
    "log_min_duration_statement": "-1",
    "log_min_error_statement": "panic",
    "log_min_messages": "log",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    "log_statement": "none",
    "log_timezone": "UTC",
    "logging_collector": "off",
    "max_replication_slots": "10",
    "max_wal_senders": "10",
    "port": _PORT,
    "summarize_wal": "on",
    "synchronous_commit": "on",
    "timezone": "UTC",
    "unix_socket_permissions": "0700",
    "wal_level": "replica",
}


def url_of(sockets: Path, database: str = DATABASE) -> str:
    """Return the address of a database at a socket, for psycopg."""
    return f"postgresql://{_ROLE}@/{database}?host={quote(str(sockets), safe='/')}&port={_PORT}"


def variables_of(url: str) -> dict[str, str]:
    """Return the environment variables that lead a program of Postgres to a database."""
    parts = conninfo_to_dict(url)
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE"}
    return {variable: str(parts[name]) for name, variable in names.items()}


def new_cluster_folder(home: PostgresHome) -> Path:
    """Create an empty folder to initialise, and remove the folders of failed attempts."""
    for failed in home.folder.glob("cluster.new-*"):
        shutil.rmtree(failed, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix="cluster.new-", dir=home.folder))
    home.give(made)
    return made


def initdb_command(home: PostgresHome, target: Path) -> list[str]:
    """Return the command that initialises the folder `target`."""
    tunable = [f"--set={name}={value}" for name, value in _TUNABLE.items()]
    return [
        str(postgres_program(home.binaries, "initdb")),
        f"--pgdata={home.seen_path(target)}",
        f"--username={_ROLE}",
        "--auth=trust",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--data-checksums",
        "--no-instructions",
        *tunable,
    ]


def server_command(home: PostgresHome, connections: int | None = None) -> list[str]:
    """Return the command that serves the cluster."""
    allowed = {} if connections is None else {"max_connections": str(connections)}
    placed = {
        "hba_file": home.seen_path(home.folder / "pg_hba.conf"),
        "unix_socket_directories": '"' + home.seen_path(home.sockets).replace('"', '""') + '"',
    }
    options = [f"--{name}={value}" for name, value in (_FIXED | placed | allowed).items()]
    program = str(postgres_program(home.binaries, "postgres"))
    return [program, "-D", home.seen_path(home.cluster), *options]


def adopt_cluster(home: PostgresHome, made: Path) -> None:
    """Rename an initialised folder to its final name, durably."""
    made.rename(home.cluster)
    sync_folder(home.folder)


def try_claim(home: PostgresHome) -> int | None:
    """Acquire the lock of the server's processes, and remove its PID file and socket; else None."""
    lock = open_private(home.folder / "server.lock")
    if not try_lock(lock):
        os.close(lock)
        return None
    (home.cluster / "postmaster.pid").unlink(missing_ok=True)
    home.clear_sockets()
    return lock


def stop_left_over(home: PostgresHome) -> None:
    """Ask a server that outlived its service to stop, if it still answers."""
    left = _left_behind(home.folder)
    # A server that answers on a socket of this folder wrote this file, so its PID is in it.
    if left and any(answers(sockets) for sockets in (home.folder / SOCKETS, left[1])):
        os.kill(left[0], signal.SIGINT)


def find_running(data_dir: Path) -> str | None:
    """Return the address of a data folder's running server, which another process owns, or None."""
    folder = data_dir.resolve() / FOLDER
    left = _left_behind(folder)
    for sockets in (folder / SOCKETS, left and left[1]):
        if sockets and answers(sockets):
            return url_of(sockets)
    return None


def has_cluster(data_dir: Path) -> bool:
    """Return True if a data folder has a database, or if permissions prevent the check."""
    try:
        return (data_dir / FOLDER / CLUSTER).exists()
    except PermissionError:
        return True


def _left_behind(folder: Path) -> tuple[int, Path] | None:
    try:
        lines = (folder / CLUSTER / "postmaster.pid").read_text().splitlines()
        return int(lines[0]), Path(lines[4])
    except (OSError, ValueError, IndexError):
        return None


def answers(sockets: Path) -> bool:
    """Return True if a server accepts connections there."""
    try:
        psycopg.connect(
            url_of(sockets, _MAINTENANCE_DATABASE), connect_timeout=_CONNECT_SECONDS
        ).close()
    except psycopg.OperationalError:
        return False
    return True


def ensure_database(home: PostgresHome) -> None:
    """Create the service's database if it is absent."""
    url = url_of(home.sockets, _MAINTENANCE_DATABASE)
    opened = psycopg.connect(url, autocommit=True, connect_timeout=_CONNECT_SECONDS)
    with closing(opened) as connection:
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
        if known.fetchone() is None:
            connection.execute(f"CREATE DATABASE {DATABASE}")
