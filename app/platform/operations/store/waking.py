"""The waking of workers: by a notification at commit, or on a distributed database by hints."""

from datetime import datetime

import structlog
from sqlalchemy import func, select

from app.adapters.db.session import Database, Session, after_commit, is_distributed
from app.kernel.errors import describe
from app.platform.operations.logic.states import SOON
from app.platform.operations.store import hints
from app.platform.operations.store.hints import CHANNEL

log = structlog.get_logger()

_PENDING = "hints"


async def wake(session: Session, engine_id: int, due: datetime, now: datetime) -> None:
    """Announce an engine's work at commit; wake the workers if it is due before their next poll."""
    is_soon = due <= now + SOON
    if is_distributed(session):
        _noted(session).add(engine_id, due, is_soon=is_soon)
    elif is_soon:
        await session.execute(select(func.pg_notify(CHANNEL, "")))


def tell(session: Session, engine_id: int, due: datetime) -> None:
    """Announce an engine's work to the workers of a distributed database, without waking them.

    On a single server, workers poll the operations themselves.
    """
    if is_distributed(session):
        _noted(session).add(engine_id, due, is_soon=False)


class _Hints:
    """The hints of one transaction."""

    def __init__(self) -> None:
        self._due: dict[int, datetime] = {}
        self._woken: set[int] = set()

    def add(self, engine_id: int, due: datetime, *, is_soon: bool) -> None:
        self._due[engine_id] = min(due, self._due.get(engine_id, due))
        if is_soon:
            self._woken.add(engine_id)

    async def leave(self, db: Database) -> None:
        """Store the hints after the commit; a lost hint delays its work by a few seconds."""
        try:
            # Hints belong to the service: the conditions of the caller do not apply to them.
            await hints.leave(db.of_service(), self._due, self._woken)
        except Exception as error:  # noqa: BLE001 - the change is committed
            log.warning("operations.hint_lost", error=describe(error))


def _noted(session: Session) -> _Hints:
    """Return the hints of a transaction, which are stored after its commit."""
    noted = session.info.get(_PENDING)
    if noted is None:
        noted = session.info[_PENDING] = _Hints()
        after_commit(session, noted.leave)
    result: _Hints = noted
    return result
