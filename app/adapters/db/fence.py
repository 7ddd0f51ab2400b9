"""A fence against writes by a process of a release that no longer fits the schema.

With each heartbeat, a process checks the revision of the database, and looks for a forced migration
that is about to change it.
"""

import asyncio

import structlog
from sqlalchemy import Connection, text

from app.kernel.errors import Reason, Unavailable

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


def other_revision(connection: Connection, wanted: str) -> str | None:
    """Return the present or coming revision of the database; None: it is `wanted`."""
    revision, coming = connection.execute(_LOOK).one()
    if revision not in {None, wanted}:
        return str(revision)
    if coming in {None, wanted} or not connection.execute(_IS_MIGRATING).scalar_one():
        return None
    return str(coming)


class Fence:
    """The fence of one process; once closed, it stays closed until the process ends.

    Attributes:
        closed: set when the process has to end.
    """

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    def close(self, revision: str) -> None:
        """Stop all writes, because the database has or will soon have another revision."""
        if not self.closed.is_set():
            log.critical("schema.changed", revision=revision)
        self.closed.set()

    def check(self) -> None:
        """Check that the process may write.

        Raises:
            Unavailable: the fence is closed.
        """
        if self.closed.is_set():
            message = "The database has the schema of another release; this process ends."
            raise Unavailable(message, Reason.SCHEMA_CHANGED, retry_after_seconds=1)
