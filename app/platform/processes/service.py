"""The heartbeat of a process, the live workers, and the state of the whole service."""

import asyncio
import os
import platform
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from socket import gethostname
from typing import Any

import structlog
from prometheus_client import Gauge

from app.adapters.concurrency import in_background, raise_if_cancelled
from app.adapters.db.clock import database_now
from app.adapters.db.fence import other_revision
from app.adapters.db.readiness import OK, schema_state
from app.adapters.db.schema import wanted_revision
from app.adapters.db.session import Session
from app.adapters.lag import RecentLag, recent_lag
from app.adapters.metrics import of_all
from app.adapters.resources import Check, Resources
from app.kernel.errors import Reason, ServiceError, Unavailable, describe
from app.kernel.release import RELEASE
from app.platform.operations.store import queue
from app.platform.processes import store
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
from app.platform.processes.store import ProcessRow
from app.settings.described import shown_settings

log = structlog.get_logger()

_SEEN = of_all(
    Gauge, "memory_bank_workers_seen", "Workers with a heartbeat within the last 30 seconds."
)
_BEAT_SECONDS = 5.0
"""Longest wait for the database; the next heartbeat may succeed."""
_STOP_SECONDS = 1.0
"""Longest wait for the database at the end of a process; others notice its silence."""
KEPT_FOR = timedelta(hours=1)
"""Time after which a process without heartbeats is removed."""
_ANSWER_SECONDS = 5.0
_DAY = timedelta(days=1)
_MILLISECOND = timedelta(milliseconds=1)


class ProcessKind(StrEnum):
    """The work of a process."""

    API = "API"
    WORKER = "WORKER"
    API_AND_WORKER = "API_AND_WORKER"
    """A server with its own database, which also runs the worker."""


_WORKERS = (ProcessKind.WORKER, ProcessKind.API_AND_WORKER)


@dataclass
class Activity:
    """The work of this process, for its next heartbeat; `has_swept` since the last one."""

    start_time: datetime
    count_running: Callable[[], int] = lambda: 0
    has_swept: bool = False

    @classmethod
    def of(cls, resources: Resources) -> "Activity":
        """Return the activity of this process."""
        activity: Activity = resources.kept.setdefault(cls, cls(resources.clock.now()))
        return activity


@dataclass
class Heart:
    """The heartbeat of one process."""

    resources: Resources
    kind: ProcessKind
    process_id: str = field(default_factory=lambda: secrets.token_hex(8))
    _is_failing: bool = field(default=False, init=False)

    async def beat(self) -> None:
        """Look for the fence, then store the state of the process. Opens short transactions."""
        db, wanted = self.resources.db, await asyncio.to_thread(wanted_revision)
        # Another process may serve the metrics of this one.
        await db.show_pool()
        async with db.snapshot() as session:
            connection = await session.connection()
            other = await connection.run_sync(other_revision, wanted)
        if other is not None:
            db.fence.close(other)
        if db.fence.closed.is_set():
            return
        state = self._state(wanted)
        activity = Activity.of(self.resources)
        has_swept = activity.has_swept
        async with db.transaction() as session:
            await store.beat(session, state, has_swept=has_swept)
        # Sweeps that ended in the meantime are part of the next heartbeat.
        activity.has_swept = activity.has_swept and not has_swept

    async def stop(self) -> None:
        """Remove the process from the live ones. Opens a short transaction."""
        if self.resources.db.fence.closed.is_set():
            return
        async with self.resources.db.transaction() as session:
            await store.remove(session, self.process_id)

    async def keep_beating(self) -> None:
        """Beat until cancelled."""
        seconds = self.resources.settings.tuning.process_beat_seconds
        while True:
            await self.tried(self.beat, _BEAT_SECONDS)
            await asyncio.sleep(seconds)

    async def tried(self, send: Callable[[], Awaitable[None]], seconds: float) -> None:
        """Send, and continue after a failure: the next may succeed. Log only the first in a row."""
        try:
            async with asyncio.timeout(seconds):
                await send()
        except Exception as error:  # noqa: BLE001 - see the docstring
            raise_if_cancelled()
            if not self._is_failing:
                log.warning("process.beat_failed", error=describe(error))
            self._is_failing = True
        else:
            self._is_failing = False

    def _state(self, schema: str) -> dict[str, Any]:
        skew = self.resources.skew.found
        return {
            "process_id": self.process_id,
            "kind": self.kind,
            "release": RELEASE,
            "schema": schema,
            "host": gethostname(),
            "pid": os.getpid(),
            "running": Activity.of(self.resources).count_running(),
            "skew_seconds": None if skew is None else skew.total_seconds(),
        }


@asynccontextmanager
async def beating(resources: Resources, kind: ProcessKind) -> AsyncIterator[None]:
    """Send heartbeats while the block runs; then remove the process."""
    heart = Heart(resources, kind)
    try:
        async with in_background(heart.keep_beating()):
            yield
    finally:
        await heart.tried(heart.stop, _STOP_SECONDS)


async def count_workers(resources: Resources) -> int:
    """Return the number of live workers."""
    async with resources.db.snapshot() as session:
        return await store.count_live(session, _WORKERS, seen_for(resources))


def seen_for(resources: Resources) -> timedelta:
    """Return the age of the last heartbeat up to which a process counts as live."""
    return timedelta(seconds=resources.settings.tuning.process_seen_seconds)


async def refresh(resources: Resources) -> None:
    """Update the gauge of workers."""
    _SEEN.set(await count_workers(resources))


async def check_workers(resources: Resources) -> Check:
    """Return the check of workers for `/readyz`; it fails only if one is required and missing."""
    count = await count_workers(resources)
    return Check(f"{count} seen", is_passed=count > 0 or not resources.settings.require_worker)


def install(resources: Resources) -> None:
    """Record the start time of the process."""
    Activity.of(resources)


async def read_server(resources: Resources) -> ServerInfo:
    """Return the state; without the database, only the facts known to this process."""
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            state = await _from_database(resources)
    except (ServiceError, TimeoutError):
        state = {"database": ServerDatabase(error=Reason.DATABASE_UNAVAILABLE)}
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
        **state,
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
    state = await schema_state(resources.db)
    skew = resources.skew.found
    async with resources.db.snapshot() as session:
        facts = await store.describe_database(session)
        database = ServerDatabase(
            schema_=state,
            clock_skew_milliseconds=None if skew is None else round(skew / _MILLISECOND),
            **asdict(facts),
        )
        if state != OK:
            return {"database": database}
        rows = await store.list_live(session, seen_for(resources))
    return {
        "database": database,
        "processes": [_process(row) for row in rows],
        "queue": await _read_queue(resources),
    }


async def _read_queue(resources: Resources) -> ServerQueue | None:
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
    due, oldest_seconds = await queue.queue_at(session, now)
    return ServerQueue(
        due_count=due,
        oldest_due_seconds=oldest_seconds,
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
