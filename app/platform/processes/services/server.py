"""The state of the whole service, for its administrators."""

import asyncio
import platform
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from app.adapters.db.clock import database_now
from app.adapters.db.readiness import OK, schema_state
from app.adapters.db.session import Session
from app.adapters.lag import RecentLag, recent_lag
from app.adapters.resources import Resources
from app.kernel.errors import Reason, ServiceError, Unavailable
from app.kernel.release import RELEASE
from app.platform.operations.store import queue
from app.platform.processes.schemas import (
    EventLoopLag,
    ServerDatabase,
    ServerEmbedder,
    ServerEventLoop,
    ServerInfo,
    ServerProcess,
    ServerQueue,
    ServerSetting,
)
from app.platform.processes.services.processes import Activity, seen_for
from app.platform.processes.store import repository
from app.platform.processes.store.tables import ProcessRow
from app.settings.described import shown_settings

_ANSWER_SECONDS = 5.0
_DAY = timedelta(days=1)
_MILLISECOND = timedelta(milliseconds=1)


async def read_server(resources: Resources) -> ServerInfo:
    """Return the state; without the database, only the facts known to this process."""
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            told = await _from_database(resources)
    except (ServiceError, TimeoutError):
        told = {"database": ServerDatabase(error=Reason.DATABASE_UNAVAILABLE)}
    lag = recent_lag()
    return ServerInfo(
        version=RELEASE,
        start_time=Activity.of(resources).start_time,
        python_version=platform.python_version(),
        event_loop=None if lag is None else _event_loop(lag),
        embedder=_embedder(resources),
        model=resources.models.writer,
        settings=[
            ServerSetting(
                name=shown.name,
                description=shown.description,
                is_default=shown.is_default,
                value=shown.value,
            )
            for shown in shown_settings(resources.settings)
        ],
        **told,
    )


def _embedder(resources: Resources) -> ServerEmbedder:
    embedder = resources.embedder
    return ServerEmbedder(
        model=embedder.model_id,
        dimensions=embedder.dimensions or None,
        is_lexical_only=embedder.lexical_only,
        is_ready=embedder.ready,
    )


async def _from_database(resources: Resources) -> dict[str, Any]:
    """Return the fields read from the database; with another schema, only `database`."""
    state = await schema_state(resources.db)
    skew = resources.skew.found
    async with resources.db.snapshot() as session:
        facts = await repository.describe_database(session)
        database = ServerDatabase(
            schema_=state,
            clock_skew_milliseconds=None if skew is None else round(skew / _MILLISECOND),
            **asdict(facts),
        )
        if state != OK:
            return {"database": database}
        rows = await repository.list_live(session, seen_for(resources))
    return {
        "database": database,
        "processes": [_process(row) for row in rows],
        "queue": await _read_queue(resources),
    }


async def _read_queue(resources: Resources) -> ServerQueue | None:
    """Return the queue, or None while a node of a distributed database does not answer."""
    try:
        return await resources.db.read_all(_queue)
    except Unavailable:
        if resources.db.is_distributed:
            return None
        raise


def _event_loop(lag: RecentLag) -> ServerEventLoop:
    return ServerEventLoop(lag_seconds=EventLoopLag(p50=lag.p50, p99=lag.p99))


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
