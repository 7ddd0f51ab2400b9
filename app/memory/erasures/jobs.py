"""The worker's part of an erasure: batches, each a transaction that also counts its changed rows.

After a killed worker, the next one continues with the same counts. Names in rows outside the scope
are replaced first, while the resources that they name can still be recognised.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog

from app.adapters.batches import paced
from app.adapters.db.clock import database_now
from app.adapters.db.own_connections import DefinitionError, define
from app.adapters.db.session import Session
from app.adapters.db.subjects import Subject
from app.adapters.resources import Resources
from app.kernel.errors import Aborted, NotFound, Reason
from app.kernel.names import EngineName
from app.memory.erasures import store
from app.memory.erasures.services.erasures import (
    append,
    certificate,
    counted,
    not_covered,
    traces_of,
)
from app.memory.erasures.services.traces import BoundKeys, Traces
from app.memory.erasures.store import ErasureRow
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.operations.services.runner import Job
from app.platform.operations.store import erasure as operations

log = structlog.get_logger()

_ROUNDS = 5
"""Rounds of removal and counting before the erasure gives up."""
_MARGIN = timedelta(minutes=1)
"""Largest expected difference between the clocks of processes."""
_VACUUM_SECONDS = 20.0
"""Longest wait for a vacuum of the removed rows; otherwise autovacuum frees the space later."""

_Counts = Mapping[str, int]


async def erase_scope(job: Job, resources: Resources) -> None:
    """Run a queued erasure, or continue one that a killed worker has begun."""
    with counted():
        await _Erasure(job, resources).run()


@dataclass(frozen=True)
class _Erasure:
    job: Job
    resources: Resources

    async def run(self) -> None:
        """Erase until no rows are left; raise Aborted if rows keep appearing."""
        engine = EngineName.parse(self.job.claim.engine_name)
        async with self.job.db.snapshot() as session:
            row = await self._row(session)
        if row.scope is None:
            # The engine was deleted, and its erasures ended with it.
            raise NotFound.of(engine)
        subject = Subject(engine.engine, row.scope, row.has_sessions)
        is_wide = row.is_service_wide
        traces = traces_of(self.resources, subject, row.subject, is_service_wide=is_wide)
        await append(self.resources.settings, row)
        for _ in range(_ROUNDS):
            await self._remove_traces(traces, engine)
            for erasure in traces.erasures:
                await self._remove(erasure.remove, subject)
            await self._vacuum(traces)
            if await self._finish(traces, engine):
                return
        raise Aborted(
            "Rows of the scope kept appearing; ask for the erasure again.",
            Reason.SCOPE_KEEPS_CHANGING,
        )

    async def _row(self, session: Session, *, for_update: bool = False) -> ErasureRow:
        owned = self.job.claim.owned
        return await store.of_operation(
            session, owned.engine_id, owned.operation_id, for_update=for_update
        )

    @asynccontextmanager
    async def _batch(self) -> AsyncIterator[tuple[Session, dict[str, int], dict[str, int]]]:
        """Open the transaction of a batch; add the counts in both mappings to the erasure."""
        removed: dict[str, int] = {}
        renamed: dict[str, int] = {}
        async with paced(self.job.db.transaction()) as session:
            yield session, removed, renamed
            if any(removed.values()) or any(renamed.values()):
                row = await self._row(session, for_update=True)
                await store.count_up(session, row, removed, renamed)
                await self.job.advance(session)

    async def _remove(
        self, remove: Callable[[Session, Subject, int], Awaitable[_Counts]], subject: Subject
    ) -> None:
        while True:
            async with self._batch() as (session, removed, _):
                removed.update(await remove(session, subject, self._limit))
            if not removed:
                return

    async def _remove_traces(self, traces: Traces, engine: EngineName) -> None:
        async with self.job.db.snapshot() as session:
            callers = traces.callers(await traces.keys(session, engine))
        for step in traces.steps(callers):
            after = None
            while True:
                async with self._batch() as (session, removed, renamed):
                    counts = removed if step.removes else renamed
                    counts[step.table], after = await step.run(session, after, self._limit)
                if after is None:
                    break
        async with self._batch() as (session, _, renamed):
            renamed.update(await traces.rename_callers(session, callers))

    async def _finish(self, traces: Traces, engine: EngineName) -> bool:
        """End the erasure, or return False if rows of the scope are left."""
        subject = traces.subject
        async with self.job.db.transaction() as session:
            # With this lock, all transactions that wrote below the engine have ended.
            await engines.get(session, engine, Lock.EXCLUSIVE)
            counts: dict[str, int] = {}
            for erasure in traces.erasures:
                counts |= await erasure.count(session, subject)
            if any(counts.values()):
                return False
            now = await database_now(session)
            bound = await traces.keys(session, engine, for_update=True)
            left_out = not_covered(subject, spares_keys=bound.are_spared)
            removed, renamed = await traces.end_keys(session, bound, now)
            row = await self._row(session, for_update=True)
            renamed |= await self._end_traces(session, traces, bound, row)
            await store.count_up(session, row, {"request_ids": 0, **counts, **removed}, renamed)
            row = await self._row(session, for_update=True)
            await store.finish(session, row, now)
            await operations.forget_scope(session, subject)
            await self.job.finish(session, certificate(_certified(row, now, left_out)), {})
        log.info("scope.erased", certificate=row.certificate_id, rows=sum(row.counts.values()))
        return True

    async def _end_traces(
        self, session: Session, traces: Traces, bound: BoundKeys, row: ErasureRow
    ) -> dict[str, int]:
        since = row.start_time - _MARGIN
        renamed = await traces.rename_callers(session, traces.callers(bound), since)
        renamed["audit_events"] += await traces.rename_refusals(session, since)
        return renamed

    async def _vacuum(self, traces: Traces) -> None:
        """Vacuum the tables that lost rows; only log a failure or a timeout."""
        async with self.job.db.snapshot() as session:
            counts = (await self._row(session)).counts
        of_erasures = {table for erasure in traces.erasures for table in erasure.tables}
        tables = {table for table, count in counts.items() if count and table in of_erasures}
        if not tables:
            return
        url, settings = self.resources.database_url, self.resources.settings
        try:
            async with asyncio.timeout(_VACUUM_SECONDS):
                await define(url, settings, store.vacuum(tables))
        except (DefinitionError, TimeoutError) as error:
            log.info("erasure.not_vacuumed", error=type(error).__name__)

    @property
    def _limit(self) -> int:
        return self.resources.settings.tuning.sweep_batch_rows


def _certified(row: ErasureRow, now: datetime, left_out: Sequence[str]) -> dict[str, Any]:
    return {
        "certificate_id": row.certificate_id,
        "subject": row.subject,
        "engine": row.engine_name,
        "start_time": row.start_time,
        "end_time": now,
        "counts": dict(sorted(row.counts.items())),
        "pseudonymised": {table: count for table, count in row.pseudonymised.items() if count},
        "verified": True,
        "not_covered": left_out,
    }
