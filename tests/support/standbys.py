"""A primary and a streaming standby that follows it, both of the bundled Postgres."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from app.adapters.db import migrate
from app.adapters.postgres.embedded import EmbeddedPostgres
from app.adapters.postgres.programs import find_binaries, postgres_program
from app.settings.settings import Settings
from tests.support.clusters import fill

_CATCHING_UP_SECONDS = 20
_IS_BEHIND = b"""
    select count(*) = 0 or bool_or(replay_lsn < pg_current_wal_lsn()) from pg_stat_replication
"""


@dataclass
class OneServer:
    """A server that can be stopped, and started again at the same address."""

    folder: Path
    running: EmbeddedPostgres | None = None

    @property
    def url(self) -> str:
        assert self.running is not None
        return self.running.url

    def start(self) -> None:
        self.running = EmbeddedPostgres(Settings(data_dir=self.folder))
        self.running.start()

    def stop(self) -> None:
        if self.running is not None:
            self.running.stop()

    def send_to_all(self, number: int) -> None:
        """Send a signal to each of its processes."""
        assert self.running is not None
        first = self.running.process_id
        assert first is not None
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        for process in [first, *map(int, children)]:
            # Those of connections may end meanwhile.
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def told(self, statement: bytes) -> None:
        """Send a statement."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)


@dataclass(frozen=True)
class Pair:
    """A primary and its standby."""

    primary: OneServer
    standby: OneServer

    @property
    def url(self) -> str:
        """The address of both, of which the one that takes writes is wanted."""
        return f"{self.any_url} target_session_attrs=read-write"

    @property
    def any_url(self) -> str:
        """The address of both, of which any is wanted."""
        first, second = (conninfo_to_dict(one.url) for one in (self.primary, self.standby))
        return (
            f"host={first['host']},{second['host']} port={first['port']},{second['port']}"
            f" user={first['user']} dbname={first['dbname']}"
        )

    def until_followed(self) -> None:
        """Wait until the standby has replayed all that the primary has written."""
        deadline = time.monotonic() + _CATCHING_UP_SECONDS
        with psycopg.connect(self.primary.url, autocommit=True) as connection:
            while connection.execute(_IS_BEHIND).fetchone() != (False,):
                assert time.monotonic() < deadline
                time.sleep(0.05)


@contextmanager
def replicated() -> Iterator[Pair]:
    """Run a migrated primary with its standby."""
    with ExitStack() as stack:
        servers = []
        for _ in range(2):
            # Short, since a Unix socket's path may have about 100 characters.
            folder = Path(tempfile.mkdtemp(prefix="omb-"))
            folder.chmod(0o755)
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            server = OneServer(folder)
            stack.callback(server.stop)
            servers.append(server)
        primary, standby = servers
        fill(primary.folder)
        primary.start()
        migrate.upgrade(primary.url)
        _copy(primary, standby.folder / "postgres")
        standby.start()
        yield Pair(primary, standby)


def _copy(primary: OneServer, target: Path) -> None:
    """Make a standby of a running server, which is given access for that."""
    home = primary.folder / "postgres"
    with (home / "pg_hba.conf").open("a") as access:
        access.write("local replication all trust\n")
    primary.told(b"select pg_reload_conf()")
    target.mkdir(mode=0o711)
    copying = str(postgres_program(find_binaries(), "pg_basebackup"))
    cluster = target / "cluster"
    command = [copying, "-d", primary.url, "-D", str(cluster), "-R", "--checkpoint=fast"]
    subprocess.run(command, check=True, capture_output=True)
    owner = (home / "cluster").stat()
    for path in (cluster, *cluster.rglob("*")):
        shutil.chown(path, owner.st_uid, owner.st_gid)
