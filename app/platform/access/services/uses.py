"""When API keys were last used, written beside the requests and never on their way."""

import asyncio
from collections.abc import Collection
from datetime import datetime, timedelta

import structlog

from app.adapters.db.session import Database
from app.kernel.failures import describe
from app.platform.access.store import repository

log = structlog.get_logger()

PRECISION = timedelta(minutes=1)
"""A use is written down unless one that was less than this before is."""
_MAX_KNOWN = 4_096


class LastUses:
    """The uses that one process has seen: at most one write for each key in `PRECISION`.

    One write is under way at a time; what is used meanwhile goes with the next.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._noted: dict[str, datetime] = {}
        self._unwritten: dict[str, datetime] = {}
        self._writing: asyncio.Task[None] | None = None

    def note(self, key_id: str, now: datetime, stored: datetime | None) -> None:
        """Remember that a key is used now; `stored` is what the database has of it."""
        noted = self._noted.get(key_id)
        if _is_near(stored, now) or _is_near(noted, now):
            return
        if noted is None and len(self._noted) >= _MAX_KNOWN:
            del self._noted[next(iter(self._noted))]
        self._noted[key_id] = self._unwritten[key_id] = now
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all())

    async def settle(self) -> None:
        """Return when everything that was noted is written, or has failed to be."""
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
            # Not `exception`: nothing more is known of its text than of any other.
            log.warning("keys.use_not_written", error=describe(error))


def _is_near(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and abs(now - moment) < PRECISION
