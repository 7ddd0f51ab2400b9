"""Last use of API keys, written in the background and never on a request's path."""

import asyncio
from collections.abc import Collection
from datetime import datetime, timedelta

import structlog

from app.adapters.db.session import Database
from app.kernel.errors import describe
from app.platform.access.store import repository

log = structlog.get_logger()

PRECISION = timedelta(minutes=1)
"""A use is written only if the last written one is at least this old."""
_MAX_KNOWN = 4_096


class LastUses:
    """The uses seen by one process: at most one write per key in `PRECISION`.

    One write runs at a time; keys used meanwhile are in the next one.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._noted: dict[str, datetime] = {}
        self._unwritten: dict[str, datetime] = {}
        self._writing: asyncio.Task[None] | None = None

    def note(self, key_id: str, now: datetime, stored: datetime | None) -> None:
        """Note that a key is used now; `stored` is its last use in the database."""
        noted = self._noted.get(key_id)
        if _is_recent(stored, now) or _is_recent(noted, now):
            return
        if noted is None and len(self._noted) >= _MAX_KNOWN:
            del self._noted[next(iter(self._noted))]
        self._noted[key_id] = self._unwritten[key_id] = now
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all())

    async def settle(self) -> None:
        """Wait until all noted uses are written or have failed."""
        if self._writing is not None:
            await asyncio.shield(self._writing)

    async def _write_all(self) -> None:
        try:
            while self._unwritten:
                uses, self._unwritten = self._unwritten, {}
                await self._write(uses.keys(), max(uses.values()))
        finally:
            self._writing = None

    async def _write(self, key_ids: Collection[str], now: datetime) -> None:
        try:
            async with self._db.transaction() as session:
                await repository.note_uses(session, key_ids, now)
        except Exception as error:  # noqa: BLE001 - the requests have their answers without it
            # Not `exception`: see `describe`.
            log.warning("keys.use_not_written", error=describe(error))


def _is_recent(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and abs(now - moment) < PRECISION
