"""Live processes of another schema, which prevent a migration unless it is forced."""

import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import structlog
from sqlalchemy import Connection, Engine, text

from app.kernel.release import RELEASE

log = structlog.get_logger()

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


@dataclass(frozen=True)
class Beside:
    """The treatment of processes of another schema.

    Attributes:
        is_forced: True if they are stopped; otherwise they prevent the migration.
        seen_seconds: age of the last heartbeat up to which a process counts as live.
        beat_seconds: pause between two heartbeats of a process.
    """

    is_forced: bool
    seen_seconds: float
    beat_seconds: float

    @property
    def stop_seconds(self) -> float:
        """Time within which all processes see the mark; a heartbeat in progress may miss it."""
        return 2 * self.beat_seconds


def list_live(connection: Connection, target: str, seen_seconds: float) -> Sequence[str]:
    """Return the names of the live processes that need a schema other than `target`.

    Processes of the same kind, host and release share one name.
    """
    if not connection.execute(_HAS_TABLE).scalar_one():
        return []
    rows = connection.execute(_LIVE, {"target": target, "seconds": seen_seconds})
    return [
        f"{kind.lower().replace('_', ' ')} {host} of {release}"
        + (f" ({count} processes)" if count > 1 else "")
        for kind, host, release, count in rows
    ]


@contextmanager
def stopped(
    engine: Engine, target: str, names: Sequence[str], stop_seconds: float
) -> Iterator[None]:
    """Stop processes by a mark in the database, and keep others from starting during the block.

    A separate connection commits the mark. It is valid while the migration holds its lock.
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
