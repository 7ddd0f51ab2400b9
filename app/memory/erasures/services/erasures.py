"""Erasures: their start, their certificates, and the list of them outside the database."""

import asyncio
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prometheus_client import Counter

from app.adapters.batches import SweepBatches, paced
from app.adapters.db.conditions import check_scope
from app.adapters.db.session import Session, note
from app.adapters.db.spread import Key
from app.adapters.db.subjects import Subject
from app.adapters.resources import Resources
from app.kernel.auth import JWT_PREFIX, Reach
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import NotFound
from app.kernel.ids import NO_BUCKET, new_id
from app.kernel.limits import exhausted
from app.kernel.names import EngineName, OperationName
from app.kernel.release import RELEASE
from app.kernel.wire.scalars import format_timestamp
from app.memory.erasures import store
from app.memory.erasures.logic import ERASURE_LIST, Pseudonyms, alias_of
from app.memory.erasures.schemas import RESIDUE, EraseScopeRequest, EraseScopeResponse
from app.memory.erasures.services.traces import Traces
from app.memory.erasures.store import ErasureRow
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import name_of
from app.platform.operations.logic.states import ERASE_SCOPE, OperationState, type_url
from app.platform.operations.schemas import Operation
from app.platform.operations.services.mutation import insert_queued
from app.platform.operations.store import erasure as stored
from app.platform.operations.store import idempotency
from app.platform.operations.store import repository as operations
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.settings.settings import Settings

_ERASURES = Counter(
    "memory_bank_erasures_total",
    "Runs of erasures by their end; one that FAILED is continued by the next attempt or request.",
    ["state"],
)

MOST_RUNNING = 10
"""Limit for unfinished erasures of an engine."""

USER = "user_id"


@contextmanager
def counted() -> Iterator[None]:
    """Count the end of the block in the metric of erasures."""
    try:
        yield
    except Exception:
        _ERASURES.labels(OperationState.FAILED.value).inc()
        raise
    _ERASURES.labels(OperationState.SUCCEEDED.value).inc()


def traces_of(
    resources: Resources, subject: Subject, pseudonym: str, *, is_service_wide: bool
) -> Traces:
    """Return the traces of a scope; a token's subject is its user where the settings say so."""
    tokens: set[str] = set()
    if len(subject.scope) == 1:
        ((key, value),) = subject.scope.items()
        claims = resources.settings.jwt_condition_claims
        if claims.get(key, "sub" if key == USER else None) == "sub":
            tokens.add(JWT_PREFIX + value)
    alias = alias_of(pseudonym)
    return Traces(resources.registry.erasures, subject, alias, tokens, is_service_wide)


@dataclass(frozen=True)
class ErasureService:
    """Queues erasures, and counts what they would erase."""

    resources: Resources

    async def start(
        self,
        name: EngineName,
        request: EraseScopeRequest,
        once: IdempotencyKey | None,
        reach: Reach,
    ) -> Operation:
        """Queue the erasure of a scope, or count what it would erase.

        Keys that reach other engines end only if the caller reaches all engines.

        Raises:
            NotFound: the engine does not exist, or the caller does not reach the whole scope.
            ResourceExhausted: too many erasures of the engine run.
        """
        has_sessions = request.include_sessions is not False
        subject = Subject(name.engine, request.scope, has_sessions)
        is_wide = reach.projects is None and reach.engines is None
        if request.validate_only:
            return await self._counted(name, subject, is_service_wide=is_wide)
        async with self.resources.db.transaction() as session:
            row = await self._queued(session, name, subject, once, is_service_wide=is_wide)
            return Operation.from_row(row)

    async def _queued(
        self,
        session: Session,
        name: EngineName,
        subject: Subject,
        once: IdempotencyKey | None,
        *,
        is_service_wide: bool,
    ) -> OperationRow:
        # Nobody writes below the engine meanwhile: whoever does so later sees the erasure.
        engine = name_of(await engines.get(session, name, Lock.EXCLUSIVE))
        check_scope(session, subject.scope)
        new = self._operation(engine, subject)
        running = await store.list_running(session, engine.engine)
        same = next((row for row in running if _is_of(row, subject)), None)
        if same is not None:
            queued = await self._find(session, engine, same)
            if queued is not None and not OperationState(queued.state).is_final:
                note(session, operation=queued.name)
                return queued
        known = await idempotency.begin(session, once, engine.engine, new.now, operation=new)
        if known is not None:
            return await known.operation(session, engine, new.now)
        if same is None and len(running) >= MOST_RUNNING:
            raise exhausted(
                f"{engine} has reached its limit of runningErasures: {MOST_RUNNING}.",
                "runningErasures",
                limit=MOST_RUNNING,
            )
        row = await insert_queued(session, once, engine.engine, begun=new, operation=new)
        if same is not None:
            await store.resume(session, same, row.operation_id)
            return row
        values = {"is_service_wide": is_service_wide}
        await self._insert(session, engine, subject, row.operation_id, values)
        return row

    async def _insert(
        self,
        session: Session,
        engine: EngineName,
        subject: Subject,
        operation_id: str,
        values: Mapping[str, Any],
    ) -> None:
        """Insert the record of an erasure, which ends writes to its scope and work on it."""
        now = self.resources.clock.now()
        pseudonyms = await pseudonyms_of(session, self.resources.settings)
        columns = {
            "engine_id": engine.engine,
            # It outlives the scope, of whose digest it must tell no part.
            "certificate_id": f"er_{new_id(now, NO_BUCKET)}",
            "engine_name": str(engine),
            "subject": pseudonyms.of(subject.scope),
            "pseudonym_key_id": pseudonyms.key_id,
            "has_sessions": subject.has_sessions,
            "scope": dict(subject.scope),
            "operation_id": operation_id,
            "counts": {},
            "pseudonymised": {},
            "start_time": now,
            **values,
        }
        is_known = "certificate_id" in values
        await store.add(session, columns, is_known=is_known)
        await stored.stop_running(session, subject)

    async def repeat(
        self, session: Session, name: EngineName, subject: Subject, values: Mapping[str, Any]
    ) -> OperationName:
        """Queue an erasure once more, with values that it had before a restore."""
        engine = name_of(await engines.get(session, name, Lock.EXCLUSIVE))
        row = await operations.insert(session, self._operation(engine, subject))
        await self._insert(session, engine, subject, row.operation_id, values)
        return OperationName(engine, row.operation_id)

    async def take_up(self, session: Session, engine_id: int, keys: Sequence[Key]) -> int:
        """Queue failed erasures of an engine again, under their certificates; return the count."""
        rows = await store.lock_failed(session, engine_id, keys)
        for row in rows:
            subject = Subject(engine_id, row.scope or {}, row.has_sessions)
            new = self._operation(EngineName.parse(row.engine_name), subject)
            queued = await operations.insert(session, new)
            await store.resume(session, row, queued.operation_id)
        return len(rows)

    def _operation(self, engine: EngineName, subject: Subject) -> NewOperation:
        now, keep = self.resources.clock.now(), self.resources.settings.operation_retention
        new = NewOperation.of(engine, ERASE_SCOPE, "EraseScope", now, keep)
        # Not `concerning`: all scopes with these pairs are meant, and the certificate keeps the id.
        return replace(new, scopes={key: [value] for key, value in subject.scope.items()})

    async def _find(
        self, session: Session, engine: EngineName, row: ErasureRow
    ) -> OperationRow | None:
        """Return the operation of an erasure, if it is still kept."""
        name = OperationName(engine, row.operation_id)
        try:
            return await operations.get(session, name, self.resources.clock.now())
        except NotFound:
            return None

    async def _counted(
        self, name: EngineName, subject: Subject, *, is_service_wide: bool
    ) -> Operation:
        """Return an operation that is stored nowhere, with the counts of an erasure."""
        now = self.resources.clock.now()
        # Nothing is renamed, so any alias will do.
        traces = traces_of(self.resources, subject, "", is_service_wide=is_service_wide)
        async with self.resources.db.snapshot() as session:
            engine = name_of(await engines.get(session, name))
            check_scope(session, subject.scope)
            bound = await traces.keys(session, engine)
        counts, pseudonymised = await self._all_counts(traces, traces.callers(bound))
        new = self._operation(engine, subject).noting(validateOnly=True)
        new = replace(new, caller=self.resources.db.caller)
        values: dict[str, Any] = {
            "engine": str(engine),
            "start_time": now,
            "end_time": now,
            "counts": counts,
            "pseudonymised": pseudonymised | {"api_keys": len(bound.changed)},
            "verified": False,
            "not_covered": not_covered(subject, spares_keys=bound.are_spared),
        }
        row = OperationRow(**new.columns(OperationState.SUCCEEDED, certificate(values)))
        return Operation.from_row(row)

    async def _all_counts(
        self, traces: Traces, callers: Collection[str]
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Count what would be removed and changed, a batch a snapshot, as an erasure works."""
        limit = self.resources.settings.tuning.sweep_batch_rows
        counts: dict[str, int] = {}
        pseudonymised: dict[str, int] = {}
        for erasure in traces.erasures:
            async with paced(self.resources.db.snapshot()) as session:
                counts |= await erasure.count(session, traces.subject)
        for step in traces.steps(callers, is_dry=True):
            after = None
            while True:
                async with paced(self.resources.db.snapshot()) as session:
                    count, after = await step.run(session, after, limit)
                sums = counts if step.removes else pseudonymised
                sums[step.table] = sums.get(step.table, 0) + count
                if after is None:
                    break
        return counts, pseudonymised


def _is_of(row: ErasureRow, subject: Subject) -> bool:
    return row.scope == subject.scope and row.has_sessions == subject.has_sessions


async def take_up_failed(batches: SweepBatches) -> int:
    """Queue the erasures again that failed, after pauses that grow; return how many."""
    take_up = ErasureService(batches.resources).take_up
    return await batches.spread(store.find_failed, take_up)


async def pseudonyms_of(session: Session, settings: Settings) -> Pseudonyms:
    """Return the pseudonyms for the key in the settings, else for the key in the database."""
    if settings.pseudonym_key:
        return Pseudonyms(settings.pseudonym_key.get_secret_value().encode())
    return Pseudonyms(await store.pseudonym_key(session))


def certificate(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response of an erasure."""
    response = EraseScopeResponse(release=RELEASE, residue=list(RESIDUE), **values)
    return {"@type": type_url("EraseScopeResponse"), **response.wire()}


def not_covered(subject: Subject, *, spares_keys: bool) -> list[str]:
    """Return the kinds of data left out; sessions are erased only for the scope of a user."""
    is_of_user = USER in subject.scope
    has_sessions = subject.has_sessions and len(subject.scope) == 1
    left = ["sessions"] if is_of_user and not has_sessions else []
    return [*left, "api_keys"] if spares_keys else left


def line_of(row: ErasureRow) -> str:
    """Return the line of an erasure in the list."""
    line = {
        "certificateId": row.certificate_id,
        "engine": row.engine_name,
        "subject": row.subject,
        "keyId": row.pseudonym_key_id,
        "includeSessions": row.has_sessions,
        "serviceWide": row.is_service_wide,
        "time": format_timestamp(row.start_time),
    }
    return json.dumps(line) + "\n"


async def append(settings: Settings, row: ErasureRow) -> None:
    """Append an erasure to the list, if this service has a data folder; readers drop repeats."""
    if settings.database_url is None:
        await asyncio.to_thread(_append, settings.data_dir / ERASURE_LIST, line_of(row))


def _append(path: Path, line: str) -> None:
    with path.open("ab+") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            # End a line that was cut off: it must not damage the next one.
            file.write(b"" if file.read() == b"\n" else b"\n")
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())
