"""The state of the whole service, for its administrators."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from app.adapters.db.clock import database_now
from app.adapters.db.readiness import OK, schema_state
from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.errors import Reason, ServiceError
from app.kernel.release import RELEASE
from app.platform.operations.store import queue
from app.platform.processes.schemas import ServerDatabase, ServerInfo, ServerProcess, ServerQueue
from app.platform.processes.services.processes import Activity, seen_for
from app.platform.processes.store import repository
from app.platform.processes.store.tables import ProcessRow

_ANSWER_SECONDS = 5.0
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class ServerService:
    """The use case of `getServer`."""

    resources: Resources

    async def get(self) -> ServerInfo:
        """Return what runs here; without the database, what this process knows of itself."""
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                told = await self._from_database()
        except (ServiceError, TimeoutError):
            told = {"database": ServerDatabase(error=Reason.DATABASE_UNAVAILABLE)}
        start_time = Activity.of(self.resources).start_time
        return ServerInfo(version=RELEASE, start_time=start_time, **told)

    async def _from_database(self) -> dict[str, Any]:
        """Return the fields that the database tells; of another schema, only its state."""
        state = await schema_state(self.resources.db)
        told: dict[str, Any] = {"database": ServerDatabase(schema_=state)}
        if state == OK:
            async with self.resources.db.snapshot() as session:
                rows = await repository.list_live(session, seen_for(self.resources))
                told["processes"] = [_process(row) for row in rows]
                told["queue"] = await _queue(session)
        return told


async def _queue(session: Session) -> ServerQueue:
    now = await database_now(session)
    due = await queue.queue_at(session, now)
    return ServerQueue(
        due_count=due.due,
        oldest_due_seconds=(now - (due.oldest_due_time or now)).total_seconds(),
        running_count=sum((await queue.running_by_kind(session)).values()),
        failed_count=await queue.count_failed(session, now - _DAY),
    )


def _process(row: ProcessRow) -> ServerProcess:
    return ServerProcess(
        process_id=row.process_id,
        kind=row.kind,
        release=row.release,
        schema_=row.schema,
        host=row.host,
        pid=row.pid,
        start_time=row.start_time,
        beat_time=row.beat_time,
        running=row.running,
        skew_seconds=row.skew_seconds,
        last_sweep_time=row.last_sweep_time,
    )
