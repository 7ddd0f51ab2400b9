"""A fence against writes by a process whose release the schema no longer fits.

Every process looks for it with its heartbeat: at the revision of the database, and at a forced
migration that is about to change it.
"""

import asyncio

import structlog
from sqlalchemy import Connection, text

from app.kernel.errors import Reason, Unavailable

log = structlog.get_logger()

LOCK = 7_260_110_421
"""The lock of a migration. Any constant will do if it is the same in every release."""
_LOOK = text(
    "select (select max(version_num) from alembic_version),"
    " (select max(schema) from processes where kind = 'MIGRATION')"
)
_IS_MIGRATING = text(
    "select exists (select from pg_catalog.pg_locks where locktype = 'advisory' and granted"
    " and database = (select oid from pg_catalog.pg_database where datname = current_database())"
    " and classid = cast(:high as bigint) and objid = cast(:low as bigint) and objsubid = 1)"
).bindparams(high=LOCK >> 32, low=LOCK & 0xFFFFFFFF)
"""The mark of a migration that was killed has no effect: its lock is gone."""


def other_revision(connection: Connection, wanted: str) -> str | None:
    """Return the revision that the database has, or is about to get, unless it is `wanted`."""
    revision, coming = connection.execute(_LOOK).one()
    if revision not in {None, wanted}:
        return str(revision)
    if coming in {None, wanted} or not connection.execute(_IS_MIGRATING).scalar_one():
        return None
    return str(coming)


class Fence:
    """The fence of one process; once closed, it stays so until the process ends.

    Attributes:
        closed: set when the process has to end.
    """

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    def close(self, revision: str) -> None:
        """Stop all writes, since the database has another revision or is about to get it."""
        if not self.closed.is_set():
            log.critical("schema.changed", revision=revision)
        self.closed.set()

    def check(self) -> None:
        """Check that the process may write.

        Raises:
            Unavailable: it may not.
        """
        if self.closed.is_set():
            message = "The database has the schema of another release; this process ends."
            raise Unavailable(message, Reason.SCHEMA_CHANGED, retry_after_seconds=1)
