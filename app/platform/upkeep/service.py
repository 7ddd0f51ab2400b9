"""The use cases of upkeep: delete an engine, and run the sweeps that free space."""

from collections.abc import Awaitable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog
from prometheus_client import Counter, Gauge

from app.adapters.db.session import Session
from app.adapters.metrics import of_all
from app.adapters.resources import Registry, Resources
from app.kernel.changes import IdempotencyKey, check_etag
from app.kernel.errors import FailedPrecondition, NotFound, Reason, ServiceError, describe
from app.kernel.names import EngineName
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import name_of
from app.platform.operations.services.mutation import insert_queued
from app.platform.operations.store import erasure, idempotency, kept_requests, queue
from app.platform.operations.store import repository as operations
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow

log = structlog.get_logger()

DELETE_ENGINE = "engines.delete"
"""The kind of the operation that removes an engine's children."""
_REMOVED = Counter(
    "memory_bank_sweep_removed_rows_total",
    "Rows that sweeps of this process have removed or caught up with.",
    ["what"],
)
_LAST = of_all(
    Gauge,
    "memory_bank_sweep_last_timestamp_seconds",
    "Time of the last sweep by any process that succeeded, in seconds since 1970.",
    ["what"],
)


@dataclass(frozen=True)
class UpkeepService:
    """The removal of rows through the hooks of features."""

    resources: Resources

    async def delete_engine(
        self, name: EngineName, etag: str | None, once: IdempotencyKey | None, *, force: bool
    ) -> OperationRow:
        """Hide an engine at once; a worker then removes its children and the engine itself.

        Raises:
            Aborted: the etag is stale.
            FailedPrecondition: the engine has contents, and `force` is not set.
        """
        now = self.resources.clock.now()
        keep = self.resources.settings.operation_retention
        new = NewOperation.of(name, DELETE_ENGINE, "DeleteReasoningEngine", now, keep)
        async with self.resources.db.transaction() as session:
            # First, since the same request before, or at this moment, has removed the engine.
            known = await idempotency.begin(
                session, once, name.engine, now, operation=new, even_expired=True
            )
            if known is not None:
                return await known.operation(session, name, now)
            engine = await engines.get(session, name, Lock.EXCLUSIVE, even_restoring=True)
            new = replace(new, engine_name=str(name_of(engine)))
            check_etag(engine.version, etag)
            if not force and await self._holds_anything(session, engine.engine_id, now):
                raise FailedPrecondition(
                    f"{name} has memories, sessions, waiting events or artifacts; set force to"
                    " delete them too.",
                    Reason.ENGINE_NOT_EMPTY,
                )
            await engines.mark_deleted(session, engine.engine_id, now)
            await erasure.withdraw_texts(session, engine.engine_id)
            await erasure.forget_sessions(session, engine.engine_id)
            await kept_requests.clear(session, engine.engine_id, kept_requests.EVERYTHING)
            # Such operations could wait for hours, although no work is left.
            gone = NotFound.of(name_of(engine))
            for kind in self._registry.waiting_kinds:
                await operations.fail_waiting(session, engine.engine_id, kind, (now, keep), gone)
            return await insert_queued(session, once, name.engine, begun=new, operation=new)

    async def sweep(self) -> None:
        """Run every sweep; the failure of one does not stop the others."""
        done = [
            _tick_of(sweep.name)
            for sweep in self._registry.sweeps
            if await _swept(sweep.name, sweep.run(self.resources))
        ]
        async with self.resources.db.transaction() as session:
            await queue.note_done(session, done)

    async def show_sweeps(self) -> None:
        """Update the metric with the time of the last success of each sweep."""
        sweeps = {_tick_of(sweep.name): sweep.name for sweep in self._registry.sweeps}
        async with self.resources.db.snapshot() as session:
            done = await queue.list_done(session, sweeps)
        for tick, time in done.items():
            _LAST.labels(sweeps[tick]).set(time.timestamp())

    async def take_tick(self, name: str) -> bool:
        """Claim the present slot of a periodic task for this process; False if another has it."""
        interval = timedelta(seconds=self.resources.settings.tuning.sweep_interval_seconds)
        async with self.resources.db.transaction() as session:
            return await queue.take_tick(session, name, interval)

    async def remove_engine_batch(self, session: Session, engine_id: int, limit: int) -> int:
        """Remove up to `limit` rows below a hidden engine, last the engine; return the count."""
        for remove in self._registry.children:
            if count := await remove(session, engine_id, limit):
                return count
        await engines.remove(session, engine_id)
        return 0

    @property
    def _registry(self) -> Registry:
        registry = self.resources.registry
        if not registry.sweeps:
            # An empty registry would silently remove only the engine itself.
            raise RuntimeError("The features of this process are not registered.")
        return registry

    async def _holds_anything(self, session: Session, engine_id: int, now: datetime) -> bool:
        for holds in self._registry.holders:
            if await holds(session, engine_id, now):
                return True
        return False


def _tick_of(sweep: str) -> str:
    return f"swept {sweep}"


async def _swept(name: str, removing: Awaitable[int]) -> bool:
    try:
        removed = await removing
    except ServiceError as error:
        log.warning("sweep.failed", what=name, reason=error.reason)
        return False
    except Exception as error:  # noqa: BLE001 - no sweep may keep the others from running
        log.error("sweep.failed", what=name, error=describe(error))  # noqa: TRY400 - as in describe
        return False
    _REMOVED.labels(name).inc(removed)
    if removed:
        log.info("sweep.done", what=name, rows=removed)
    return True
