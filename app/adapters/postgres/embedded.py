"""The embedded Postgres: started in the data folder, restarted if it dies, stopped with us.

Acknowledged rows survive any end of the service and of the server. After kill -9 of the service,
Linux stops the server at once. macOS and Windows have no signal for this: there the server keeps
running until the next start, which stops it first.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Lock
from typing import Self

from app.adapters.postgres.home import FOLDER, Holder, PostgresHome, open_home
from app.adapters.postgres.programs import PostgresStartError
from app.adapters.postgres.server import find_running, has_cluster, url_of
from app.adapters.postgres.supervisor import Supervisor
from app.settings.settings import Settings

__all__ = [
    "EmbeddedPostgres",
    "Holder",
    "PostgresStartError",
    "check_exists",
    "embedded_postgres",
    "holder_of",
    "running_postgres",
]

COPIES = Path("/var/lib/open-memory-bank")
"""The folder for copies of binaries that the server's user could not execute in place."""


class EmbeddedPostgres:
    """One server on one data folder. Blocking, from any thread; started at most once.

    `copies` and `holder` are as for `open_home`, `connections` as for `server_command`.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        copies: Path = COPIES,
        connections: int | None = None,
        holder: Holder | None = None,
    ) -> None:
        self._settings = settings
        self._holder = holder
        self._connections = connections
        self._copies = copies
        self._guard = Lock()
        self._stopped = False
        self._home: PostgresHome | None = None
        self._supervisor: Supervisor | None = None

    @property
    def url(self) -> str:
        """The address of the database, for psycopg; the same for every server on the folder."""
        if self._home is None:
            raise RuntimeError("The embedded Postgres was not started.")
        return url_of(self._home.sockets)

    @property
    def process_id(self) -> int | None:
        """The id of the server's first process, once it exists."""
        return self._supervisor.process_id if self._supervisor else None

    def start(self) -> None:
        """Start the server; return once it accepts connections and the database exists."""
        supervisor = self._open()
        try:
            supervisor.start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server and release the folder. May be repeated, or called while `start` runs."""
        with self._guard:
            self._stopped = True
        if self._supervisor:
            self._supervisor.stop()
        if self._home:
            self._home.close()

    def _open(self) -> Supervisor:
        with self._guard:
            if self._stopped or self._home:
                raise PostgresStartError("The embedded Postgres was started or stopped before.")
            self._home = open_home(
                self._settings.data_dir,
                user=self._settings.postgres_user,
                copies=self._copies,
                holder=self._holder,
            )
            seconds = self._settings.tuning.postgres_start_seconds
            self._supervisor = Supervisor(self._home, seconds, self._connections)
            return self._supervisor

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def holder_of(data_dir: Path) -> Holder | None:
    """Return the process that holds a data folder; None: no live one, or it cannot be read."""
    return Holder.of(data_dir / FOLDER)


def check_exists(data_dir: Path) -> None:
    """Check that a data folder has a database; pass if permissions prevent the check."""
    if not has_cluster(data_dir):
        raise PostgresStartError(
            f"There is no database in {data_dir}; name its folder with --data-dir, or set"
            " MEMORY_BANK_DATABASE_URL."
        )


@contextmanager
def running_postgres(settings: Settings) -> Iterator[str]:
    """Yield the address of an existing database; start its server for the block if none runs."""
    running = find_running(settings.data_dir)
    if running is not None:
        yield running
        return
    check_exists(settings.data_dir)
    with EmbeddedPostgres(settings) as server:
        yield server.url


@asynccontextmanager
async def embedded_postgres(
    settings: Settings, connections: int | None = None, holder: Holder | None = None
) -> AsyncIterator[EmbeddedPostgres]:
    """Run the server for the block, without blocking the event loop.

    Raises:
        PostgresStartError: the server cannot run; all its processes have ended.
    """
    server = EmbeddedPostgres(settings, connections=connections, holder=holder)
    try:
        await asyncio.to_thread(server.start)
        yield server
    finally:
        # A cancelled start continues in its thread; stopping ends it.
        await asyncio.shield(asyncio.to_thread(server.stop))
