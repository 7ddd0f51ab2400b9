"""Frees what of task memory has expired, namespace by namespace.

Each part is a transaction of its own. A namespace that fails takes no other one's turn.
"""

from datetime import timedelta

import structlog

from app.adapters.db.session import Database
from app.artifacts.tasks.store import erasure
from app.artifacts.tasks.store.erasure import Key
from app.kernel.errors import ServiceError

log = structlog.get_logger()

_MOST_LEFT = 1_000
"""Namespaces that one sweep leaves as they are; with more, it leaves all others as well."""


async def remove_expired(db: Database, grace: timedelta, limit: int) -> int:
    """Free what no longer can be read; return how many rows that were.

    Args:
        db: where.
        grace: how long ago it has expired.
        limit: rows that one transaction frees at most.

    Raises:
        ServiceError: what there is to free cannot be found; what of a namespace cannot be freed is
            only logged, and left to the next sweep.
    """
    removed = 0
    left: set[Key] = set()
    while len(left) < _MOST_LEFT:
        async with db.transaction() as session:
            due = await erasure.list_expired(session, grace, limit, left)
        if not due:
            break
        for key in due:
            count, is_done = await _remove_of(db, key, grace, limit)
            removed += count
            if not is_done:
                left.add(key)
    return removed


async def _remove_of(db: Database, key: Key, grace: timedelta, limit: int) -> tuple[int, bool]:
    """Return how many rows of a namespace were freed, and whether those were all."""
    removed = 0
    try:
        while True:
            async with db.transaction() as session:
                count = await erasure.remove_expired(session, key, grace, limit)
            removed += count or 0
            if not count:
                return removed, count is not None
    except ServiceError as error:
        log.warning("sweep.failed", what="artifacts", engine=key[0], reason=error.reason)
        return removed, False
