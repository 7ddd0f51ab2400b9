"""Execution of a scan in batches; each transaction also stores the progress.

If a worker is killed, the next one continues after the last batch. The counts therefore equal the
counts of an uninterrupted scan.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from app.adapters.db.clock import database_now
from app.adapters.db.rewriting import TextsOf
from app.adapters.db.session import Session
from app.adapters.db.subjects import Subject
from app.adapters.resources import Resources
from app.kernel.names import EngineName, MemoryName
from app.kernel.wire.labels import MAX_LABEL_CHARS, MAX_REVISION_LABEL_CHARS
from app.memory.memories.schemas.memories import RevisionFields
from app.memory.memories.schemas.metadata import MAX_METADATA_KEY_CHARS, MAX_METADATA_VALUE_CHARS
from app.memory.memories.services.memories import MemoryService
from app.memory.memories.store import ledger, redaction
from app.memory.memories.store.redaction import MASKED_FIELDS, MASKED_OF_REVISIONS, Redacted
from app.memory.memories.store.tables import MemoryRow, RevisionRow
from app.memory.memories.store.vectors import Vector
from app.memory.scans.logic.progress import PROGRESS, Found, ScanProgress
from app.memory.scans.schemas import (
    MAX_NAMES,
    ScanAction,
    ScanPrivacyRequest,
    ScanPrivacyResponse,
)
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow, privacy_of
from app.platform.operations.logic.states import type_url
from app.platform.operations.services.runner import Job
from app.platform.privacy.logic.guard import Guard
from app.platform.privacy.service import SCAN, count

_STRING = "stringValue"
_MOST_ROWS = 50
"""Maximum number of memories or texts per batch."""
_MOST_REVISIONS = 200
"""Maximum number of revisions per query, since a memory may have many."""


@dataclass(frozen=True)
class Looked:
    """New values of the columns that change, and counts of sensitive values by kind."""

    values: Mapping[str, Any]
    counts: Counter[str]


def look(guard: Guard, columns: Mapping[str, Any]) -> Looked:
    """Mask the columns of a row. Masks may be longer than values, so texts are cut to fit."""
    found = guard.without(dict(columns))
    changed = {name: found.value[name] for name in columns if found.value[name] != columns[name]}
    if "labels" in changed:
        changed["labels"] = {
            key[:MAX_LABEL_CHARS]: value[:MAX_REVISION_LABEL_CHARS]
            for key, value in changed["labels"].items()
        }
    if "user_metadata" in changed:
        changed["user_metadata"] = {
            key[:MAX_METADATA_KEY_CHARS]: _cut(value)
            for key, value in changed["user_metadata"].items()
        }
    return Looked(changed, found.counts)


def _cut(value: Mapping[str, Any]) -> dict[str, Any]:
    text = value.get(_STRING)
    return {**value, _STRING: text[:MAX_METADATA_VALUE_CHARS]} if text is not None else {**value}


@dataclass(frozen=True)
class ScanWork:
    """One run of one scan."""

    job: Job
    resources: Resources

    async def run(self) -> None:
        """Scan all tables, then end the operation.

        Raises:
            Cancelled: the client has cancelled the operation; values masked before stay masked.
        """
        request = ScanPrivacyRequest.model_validate(self.job.claim.request)
        engine = EngineName.parse(self.job.claim.engine_name)
        async with self.job.db.snapshot() as session:
            row = await engines.get(session, engine)
        defaults = self.resources.settings.privacy_defaults
        guard = Guard.seeking(privacy_of(row), defaults, request.kinds or ())
        scanning = _Scanning(self.job, self.resources, engine, request, guard)
        steps: list[Callable[[ScanProgress], Awaitable[ScanProgress]]] = [
            scanning.memories,
            *(partial(scanning.texts, texts) for texts in self.resources.registry.texts),
        ]
        progress = ScanProgress.of(self.job.claim.details)
        while progress.step < len(steps):
            await self.job.step()
            progress = await steps[progress.step](progress)
        await self._finish(request.action, progress)

    async def _finish(self, action: ScanAction, progress: ScanProgress) -> None:
        is_report = action is ScanAction.REPORT
        response = ScanPrivacyResponse(
            action=action,
            counts={table: dict(kinds) for table, kinds in progress.counts.items()},
            names=list(progress.names) if is_report else None,
            has_more_names=progress.has_more_names or None,
        )
        done = {"@type": type_url("ScanPrivacyResponse"), **response.wire()}
        async with self.job.db.transaction() as session:
            await self.job.finish(session, done, {PROGRESS: None})


@dataclass(frozen=True)
class _Scanning:
    job: Job
    resources: Resources
    engine: EngineName
    request: ScanPrivacyRequest
    guard: Guard

    @property
    def _masks(self) -> bool:
        return self.request.action is ScanAction.MASK

    @property
    def _limit(self) -> int:
        return min(self.resources.settings.tuning.sweep_batch_rows, _MOST_ROWS)

    @property
    def _subject(self) -> Subject:
        return Subject(self.engine.engine, self.request.scope or {})

    async def memories(self, progress: ScanProgress) -> ScanProgress:
        """Scan a batch of memories with all their revisions."""
        now = self.resources.clock.now()
        after = progress.after[0] if progress.after else ""
        async with self.job.db.snapshot() as session:
            rows = await redaction.list_known(session, self._subject, after, self._limit, now)
        vectors = await self._vectors(rows) if self._masks else {}
        ids = [row.memory_id for row in rows]
        async with self.job.db.transaction() as session:
            # Excludes erasures, which clear quotes in revisions that this batch may rewrite.
            lock = Lock.UPDATE if self._masks else Lock.SHARED
            engine = await engines.get(session, self.engine, lock)
            redacted, found = await self._looked(session, ids, vectors)
            if self._masks:
                await self._redact(session, engine, redacted)
            last = ids[-1:] if len(ids) == self._limit else None
            progress = await self._noted(session, found, last)
        self._count(found)
        return progress

    async def _vectors(self, rows: Sequence[MemoryRow]) -> Mapping[str, Vector]:
        """Return vectors of the masked facts. Facts that change before the lock have none."""
        looked = await self._look([{"fact": row.fact} for row in rows])
        facts = [look.values["fact"] for look in looked if "fact" in look.values]
        embedding = MemoryService.of(self.resources).embedding
        return await embedding.facts(self.engine.engine, list(dict.fromkeys(facts)))

    async def _look(self, rows: Sequence[Mapping[str, object]]) -> list[Looked]:
        return await asyncio.to_thread(lambda: [look(self.guard, row) for row in rows])

    async def _looked(
        self, session: Session, ids: Sequence[str], vectors: Mapping[str, Vector]
    ) -> tuple[Redacted, Found]:
        """Search memories and their revisions; lock the memories if they may change."""
        engine_id, now = self.engine.engine, self.resources.clock.now()
        rows = await redaction.list_all(session, engine_id, ids, now, for_update=self._masks)
        looked = await self._look([{n: getattr(row, n) for n in MASKED_FIELDS} for row in rows])
        changed: list[tuple[RevisionRow, Mapping[str, Any]]] = []
        sums = {MemoryRow.__tablename__: sum((one.counts for one in looked), Counter[str]())}
        holders = {row.memory_id for row, one in zip(rows, looked, strict=True) if one.counts}
        after, table = 0, redaction.REVISIONS
        while revisions := await redaction.list_revisions(
            session, engine_id, [row.memory_id for row in rows], after, _MOST_REVISIONS
        ):
            columns = [{n: getattr(one, n) for n in MASKED_OF_REVISIONS} for one in revisions]
            seen = await self._look(columns)
            changed += [
                (row, one.values) for row, one in zip(revisions, seen, strict=True) if one.values
            ]
            sums[table] = sum((one.counts for one in seen), sums.get(table, Counter()))
            holders |= {
                row.memory_id for row, one in zip(revisions, seen, strict=True) if one.counts
            }
            after = revisions[-1].revision_id
        names = [str(MemoryName(self.engine, memory_id)) for memory_id in sorted(holders)]
        memories = [(row, one.values) for row, one in zip(rows, looked, strict=True)]
        redacted = Redacted(memories, changed, vectors, await database_now(session))
        return redacted, Found(sums, names)

    async def _redact(self, session: Session, engine: EngineRow, redacted: Redacted) -> None:
        service = MemoryService.of(self.resources)
        claim, now = self.job.claim, self.resources.clock.now()
        writing = service.writing_for(
            engine, claim.owned.operation_id, now, RevisionFields(), claim.caller
        )
        await ledger.redact(session, writing, redacted)

    async def texts(self, texts: TextsOf, progress: ScanProgress) -> ScanProgress:
        """Scan a batch of a table's texts; masked texts are written back in place."""
        async with self.job.db.transaction() as session:
            await engines.get(session, self.engine, Lock.SHARED)
            rows = await texts.page(
                session, self._subject, progress.after, self._limit, for_update=self._masks
            )
            looked = await self._look([{"text": text} for _, text in rows])
            holders = [(key, one) for (key, _), one in zip(rows, looked, strict=True) if one.counts]
            if self._masks:
                new = {key: str(one.values["text"]) for key, one in holders if one.values}
                await texts.rewrite(session, self.engine.engine, new)
            sums = {texts.table: sum((one.counts for _, one in holders), Counter[str]())}
            names = [f"{self.engine}/{texts.name(key)}" for key, _ in holders]
            last = rows[-1][0] if len(rows) == self._limit else None
            found = Found(sums, names)
            progress = await self._noted(session, found, last)
        self._count(found)
        return progress

    async def _noted(
        self, session: Session, found: Found, last: Sequence[str] | None
    ) -> ScanProgress:
        """Store the progress in the transaction of the batch; return it."""
        named = found if not self._masks else Found(found.counts)
        # Read again, since an erasure may have removed names from the stored progress.
        before = ScanProgress.of(await self.job.lock_details(session))
        progress = before.with_batch(named, last, MAX_NAMES)
        await self.job.note(session, progress.details())
        await self.job.advance(session)
        return progress

    def _count(self, found: Found) -> None:
        if self._masks:
            for kinds in found.counts.values():
                count(SCAN, kinds)
