"""Protection of the schema from processes of a release that does not fit it.

With each heartbeat, a process checks the revision of the database, and looks for a forced migration
that is about to change it. A migration is prevented by live processes of another schema unless it
is forced.
"""

import asyncio
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import structlog
from sqlalchemy import Connection, Engine, text

from app.kernel.errors import Reason, Unavailable
from app.kernel.release import RELEASE

log = structlog.get_logger()
LOCK = 7_260_110_421
"""The advisory lock of a migration: any constant that is the same in every release."""
_LOOK = text(
    "select (select max(version_num) from alembic_version),"
    " (select max(schema) from processes where kind = 'MIGRATION')"
)
_IS_MIGRATING = text(
    "select exists (select from pg_catalog.pg_locks where locktype = 'advisory' and granted"
    " and database = (select oid from pg_catalog.pg_database where datname = current_database())"
    " and classid = cast(:high as bigint) and objid = cast(:low as bigint) and objsubid = 1)"
).bindparams(high=LOCK >> 32, low=LOCK & 0xFFFFFFFF)
"""Check of the lock, because the mark of a killed migration must have no effect."""
_HAS_TABLE = text("select to_regclass('processes') is not null")
# Uses only columns that the table has always had, because the table may be an older release's.
_LIVE = text(
    "select kind, host, release, count(*) from processes"
    " where schema <> :target and kind <> 'MIGRATION'"
    " and beat_time >= statement_timestamp() - make_interval(secs => :seconds)"
    " group by kind, host, release order by kind, host, min(start_time)"
)
_UNMARK = text("delete from processes where kind = 'MIGRATION'")
_MARK = text(
    "insert into processes"
    " (process_id, kind, release, schema, host, pid, start_time, beat_time, running) values"
    " ('migration', 'MIGRATION', :release, :target, :host, :pid,"
    " statement_timestamp(), statement_timestamp(), 0)"
)


def other_revision(connection: Connection, wanted: str) -> str | None:
    """Return the present or coming revision of the database; None: it is `wanted`."""
    revision, coming = connection.execute(_LOOK).one()
    if revision not in {None, wanted}:
        return str(revision)
    if coming in {None, wanted} or not connection.execute(_IS_MIGRATING).scalar_one():
        return None
    return str(coming)


class Fence:
    """The fence of one process; once closed, it stays closed until the process ends."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    def close(self, revision: str) -> None:
        """Stop all writes, because the database has or will soon have another revision."""
        if not self.closed.is_set():
            log.critical("schema.changed", revision=revision)
        self.closed.set()

    def check(self) -> None:
        """Check that the process may write."""
        if self.closed.is_set():
            message = "The database has the schema of another release; this process ends."
            raise Unavailable(message, Reason.SCHEMA_CHANGED, retry_after_seconds=1)


@dataclass(frozen=True)
class OldProcessPolicy:
    """The treatment of processes of another schema: stop them if `is_forced`, else do not migrate.

    Attributes:
        seen_seconds: age of the last heartbeat up to which a process counts as live.
    """

    is_forced: bool
    seen_seconds: float
    beat_seconds: float

    @property
    def stop_seconds(self) -> float:
        """Time within which all processes see the mark; a heartbeat in progress may miss it."""
        return 2 * self.beat_seconds


def live_processes(connection: Connection, target: str, seen_seconds: float) -> Sequence[str]:
    """Return the names of the live processes of another schema, one for each kind and host."""
    if not connection.execute(_HAS_TABLE).scalar_one():
        return []
    rows = connection.execute(_LIVE, {"target": target, "seconds": seen_seconds})
    return [
        f"{kind.lower().replace('_', ' ')} {host} of {release}"
        + (f" ({count} processes)" if count > 1 else "")
        for kind, host, release, count in rows
    ]


@contextmanager
def other_processes_stopped(
    engine: Engine, target: str, names: Sequence[str], stop_seconds: float
) -> Iterator[None]:
    """Stop processes by a committed mark, and keep others from starting during the block.

    The mark is valid while the migration holds its lock.
    """
    mark = {"release": RELEASE, "target": target}
    with engine.begin() as connection:
        connection.execute(_UNMARK)
        connection.execute(_MARK, {**mark, "host": socket.gethostname(), "pid": os.getpid()})
    log.warning("migration.stops_processes", processes=names, seconds=stop_seconds)
    try:
        time.sleep(stop_seconds)
        yield
    finally:
        with engine.begin() as connection:
            connection.execute(_UNMARK)
