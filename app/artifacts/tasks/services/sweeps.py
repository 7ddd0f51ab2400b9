"""Sweep that frees expired content of task memory, namespace by namespace.

Each step is a transaction of its own. A namespace that fails does not block the others.
"""

from datetime import timedelta

import structlog

from app.adapters.db.session import Database
from app.artifacts.tasks.store import erasure
from app.artifacts.tasks.store.erasure import Key
from app.kernel.errors import ServiceError

log = structlog.get_logger()

_MOST_LEFT = 1_000
"""Failing namespaces that one sweep skips; at this number the sweep ends."""


async def remove_expired(db: Database, grace: timedelta, limit: int) -> int:
    """Free expired content; return the number of rows.

    Args:
        db: the database.
        grace: minimum time since expiry.
        limit: maximum rows freed by one transaction.

    Raises:
        ServiceError: the search for expired content failed. The failure of one namespace is only
            logged and left to the next sweep.
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
    """Free a namespace's expired content; return the row count, and True if nothing is left."""
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
