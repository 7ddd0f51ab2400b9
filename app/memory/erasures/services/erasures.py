"""Erasures: their start, certificates, list outside the database, repetition after a restore."""

import asyncio
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

from prometheus_client import Counter
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.adapters.batches import SweepBatches, paced
from app.adapters.db.conditions import check_scope
from app.adapters.db.session import Session, note
from app.adapters.db.spread import Key
from app.adapters.db.subjects import Subject, list_scopes, scopes_within
from app.adapters.resources import Resources
from app.kernel.auth import JWT_PREFIX, Reach
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import FailedPrecondition, InvalidArgument, NotFound, Reason
from app.kernel.ids import NO_BUCKET, new_id
from app.kernel.limits import exhausted
from app.kernel.names import EngineName, OperationName
from app.kernel.release import RELEASE
from app.kernel.wire.scalars import Timestamp, format_timestamp
from app.memory.erasures import store
from app.memory.erasures.logic import ERASURE_LIST, Pseudonyms, alias_of
from app.memory.erasures.schemas import RESIDUE, EraseScopeRequest, EraseScopeResponse
from app.memory.erasures.services.traces import Traces
from app.memory.erasures.store import ErasureRow
from app.platform.access import store as keys
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
    "Runs of erasures by state at their end; the next attempt or request continues a FAILED one.",
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
            NotFound: the caller does not reach the engine or the whole scope.
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
            "pseudonymised": pseudonymised | bound.counts,
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


UNDER_WAY = timedelta(hours=1)
"""Time before an export; an erasure that began within it may not have ended by then."""


class ErasureLine(BaseModel):
    """A line of the list of erasures."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    certificate_id: str = Field(alias="certificateId")
    engine: str
    subject: str
    key_id: str = Field(alias="keyId")
    has_sessions: bool = Field(alias="includeSessions")
    is_service_wide: bool = Field(True, alias="serviceWide")
    time: Timestamp

    @property
    def key(self) -> tuple[str, str]:
        """The engine and the certificate: an engine that was restored twice has one twice."""
        return self.engine, self.certificate_id


def read_lines(text: str) -> Sequence[ErasureLine]:
    """Return the erasures of a list, each once, or raise InvalidArgument with a line's number."""
    lines: dict[tuple[str, str], ErasureLine] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            read = ErasureLine.model_validate_json(line)
            EngineName.parse(read.engine)
        except (ValidationError, InvalidArgument, NotFound):
            message = "must be a line that `memory-bank erasures export` has written."
            raise InvalidArgument.of_field(f"line {number}", message) from None
        lines[read.key] = read
    return list(lines.values())


async def queue_again(resources: Resources, lines: Sequence[ErasureLine]) -> list[OperationName]:
    """Queue the erasures in a list that this database does not know.

    Raises:
        FailedPrecondition: pseudonyms of the list were made with another key.
    """
    async with resources.db.transaction() as session:
        pseudonyms = await pseudonyms_of(session, resources.settings)
        rows = await store.list_all(session)
    known = {(row.engine_name, row.certificate_id) for row in rows}
    new = [line for line in lines if line.key not in known]
    for line in new:
        if line.key_id != pseudonyms.key_id:
            raise FailedPrecondition(
                f"The pseudonym of {line.certificate_id} was made with the key {line.key_id},"
                f" and this database has {pseudonyms.key_id}; set MEMORY_BANK_PSEUDONYM_KEY to"
                " the key of then.",
                Reason.FIELD_INVALID,
            )
    queued: list[OperationName] = []
    for name in sorted({line.engine for line in new}):
        of_engine = [line for line in new if line.engine == name]
        queued += await _of_engine(resources, EngineName.parse(name), of_engine, pseudonyms)
    return queued


async def _of_engine(
    resources: Resources, engine: EngineName, lines: Sequence[ErasureLine], pseudonyms: Pseudonyms
) -> list[OperationName]:
    async with resources.db.snapshot() as session:
        scopes = await list_scopes(session, engine.engine)
        for conditions in await keys.list_conditions(session):
            scopes += scopes_within(conditions)
    wanted = {line.subject for line in lines}
    matching = _matching(scopes, wanted, pseudonyms)
    queued = []
    for line in lines:
        async with resources.db.transaction() as session:
            queued += await _again(resources, session, engine, line, matching.get(line.subject))
    return queued


async def _again(
    resources: Resources,
    session: Session,
    engine: EngineName,
    line: ErasureLine,
    scope: Mapping[str, str] | None,
) -> list[OperationName]:
    """Queue one erasure under its certificate; without a scope to erase, only record it."""
    if scope is not None:
        service = ErasureService(resources)
        subject = Subject(engine.engine, scope, line.has_sessions)
        values = {
            "certificate_id": line.certificate_id,
            "is_service_wide": line.is_service_wide,
        }
        # The backup may be older than the engine, but not than a key bound to the scope.
        with suppress(NotFound):
            return [await service.repeat(session, engine, subject, values)]
    await store.add(session, _ended(engine, line), is_known=True)
    return []


def _ended(engine: EngineName, line: ErasureLine) -> dict[str, Any]:
    return {
        "engine_id": engine.engine,
        "certificate_id": line.certificate_id,
        "engine_name": line.engine,
        "subject": line.subject,
        "pseudonym_key_id": line.key_id,
        "has_sessions": line.has_sessions,
        "is_service_wide": line.is_service_wide,
        "operation_id": "",
        "counts": {},
        "pseudonymised": {},
        "start_time": line.time,
        "end_time": line.time,
    }


def _matching(
    scopes: Sequence[Mapping[str, str]], wanted: Collection[str], pseudonyms: Pseudonyms
) -> dict[str, Mapping[str, str]]:
    tried: set[frozenset[tuple[str, str]]] = set()
    matching: dict[str, Mapping[str, str]] = {}
    for scope in scopes:
        for pairs in _subsets(scope):
            if pairs not in tried:
                tried.add(pairs)
                part = dict(pairs)
                if (subject := pseudonyms.of(part)) in wanted:
                    matching[subject] = part
    return matching


def _subsets(scope: Mapping[str, str]) -> Iterator[frozenset[tuple[str, str]]]:
    """Yield the non-empty subsets of a scope's pairs; there are 31 at most."""
    pairs = sorted(scope.items())
    for size in range(1, len(pairs) + 1):
        yield from map(frozenset, combinations(pairs, size))
