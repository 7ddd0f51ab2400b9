"""Worker job of a scan; each batch stores the progress, so another worker can continue after it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from app.adapters.db.clock import database_now
from app.adapters.db.session import Session
from app.adapters.db.subjects import Subject, TextsOf
from app.adapters.resources import Resources
from app.kernel.names import EngineName, MemoryName
from app.kernel.wire.objects import MAX_LABEL_CHARS, MAX_REVISION_LABEL_CHARS
from app.memory.memories.schemas.memories import RevisionFields
from app.memory.memories.schemas.metadata import MAX_METADATA_KEY_CHARS, MAX_METADATA_VALUE_CHARS
from app.memory.memories.services.memories import MemoryService
from app.memory.memories.store import erasure, ledger
from app.memory.memories.store.erasure import MASKED_FIELDS, MASKED_OF_REVISIONS, Redacted
from app.memory.memories.store.tables import MemoryRow, RevisionRow
from app.memory.memories.store.vectors import Vector
from app.memory.scans.logic import PROGRESS, BatchResults, ScanProgress
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
from app.platform.privacy.logic import Guard
from app.platform.privacy.service import SCAN, count

_STRING = "stringValue"
_MOST_ROWS = 50
"""Maximum number of memories or texts per batch."""
_MOST_REVISIONS = 200
"""Maximum number of revisions per query, since a memory may have many."""


async def scan(job: Job, resources: Resources) -> None:
    """Run a queued scan, or continue one; values masked before a cancellation stay masked."""
    request = ScanPrivacyRequest.model_validate(job.claim.request)
    engine = EngineName.parse(job.claim.engine_name)
    async with job.db.snapshot() as session:
        row = await engines.get(session, engine)
    defaults = resources.settings.privacy_defaults
    guard = Guard.seeking(privacy_of(row), defaults, request.kinds or ())
    scanning = _Scanning(job, resources, engine, request, guard)
    steps: list[Callable[[ScanProgress], Awaitable[ScanProgress]]] = [
        scanning.memories,
        *(partial(scanning.texts, texts) for texts in resources.registry.texts),
    ]
    progress = ScanProgress.of(job.claim.details)
    while progress.step < len(steps):
        await job.step()
        progress = await steps[progress.step](progress)
    await _finish(job, request.action, progress)


async def _finish(job: Job, action: ScanAction, progress: ScanProgress) -> None:
    is_report = action is ScanAction.REPORT
    response = ScanPrivacyResponse(
        action=action,
        counts={table: dict(kinds) for table, kinds in progress.counts.items()},
        names=list(progress.names) if is_report else None,
        has_more_names=progress.has_more_names or None,
    )
    done = {"@type": type_url("ScanPrivacyResponse"), **response.wire()}
    async with job.db.transaction() as session:
        await job.finish(session, done, {PROGRESS: None})


class _Masked(NamedTuple):
    values: Mapping[str, Any]
    counts: Counter[str]


def _mask(guard: Guard, columns: Mapping[str, Any]) -> _Masked:
    # Masks may be longer than values, so texts are cut to fit.
    masked = guard.without(dict(columns))
    changed = {name: masked.value[name] for name in columns if masked.value[name] != columns[name]}
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
    return _Masked(changed, masked.counts)


def _cut(value: Mapping[str, Any]) -> dict[str, Any]:
    text = value.get(_STRING)
    return {**value, _STRING: text[:MAX_METADATA_VALUE_CHARS]} if text is not None else {**value}


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
        now = self.resources.clock.now()
        after = progress.after[0] if progress.after else ""
        async with self.job.db.snapshot() as session:
            rows = await erasure.list_known(session, self._subject, after, self._limit, now)
        vectors = await self._vectors(rows) if self._masks else {}
        ids = [row.memory_id for row in rows]
        async with self.job.db.transaction() as session:
            # Excludes erasures, which clear quotes in revisions that this batch may rewrite.
            lock = Lock.UPDATE if self._masks else Lock.SHARED
            engine = await engines.get(session, self.engine, lock)
            redacted, results = await self._search(session, ids, vectors)
            if self._masks:
                await self._redact(session, engine, redacted)
            last = ids[-1:] if len(ids) == self._limit else None
            progress = await self._note(session, results, last)
        self._count(results)
        return progress

    async def _vectors(self, rows: Sequence[MemoryRow]) -> Mapping[str, Vector]:
        # Facts that change before the lock have no vector.
        masked = await self._mask([{"fact": row.fact} for row in rows])
        facts = [columns["fact"] for columns, _ in masked if "fact" in columns]
        embedding = MemoryService.of(self.resources).embedding
        return await embedding.facts(self.engine.engine, list(dict.fromkeys(facts)))

    async def _mask(self, rows: Sequence[Mapping[str, object]]) -> list[_Masked]:
        return await asyncio.to_thread(lambda: [_mask(self.guard, row) for row in rows])

    async def _search(
        self, session: Session, ids: Sequence[str], vectors: Mapping[str, Vector]
    ) -> tuple[Redacted, BatchResults]:
        """Search memories and their revisions; lock the memories if they may change."""
        engine_id, now = self.engine.engine, self.resources.clock.now()
        rows = await erasure.list_all(session, engine_id, ids, now, for_update=self._masks)
        masked = await self._mask([{n: getattr(row, n) for n in MASKED_FIELDS} for row in rows])
        changed: list[tuple[RevisionRow, Mapping[str, Any]]] = []
        sums = {MemoryRow.__tablename__: sum((counts for _, counts in masked), Counter[str]())}
        holders = {row.memory_id for row, (_, counts) in zip(rows, masked, strict=True) if counts}
        after, table = 0, erasure.REVISIONS
        while revisions := await erasure.list_revisions(
            session, engine_id, [row.memory_id for row in rows], after, _MOST_REVISIONS
        ):
            texts = [{n: getattr(row, n) for n in MASKED_OF_REVISIONS} for row in revisions]
            for row, (columns, counts) in zip(revisions, await self._mask(texts), strict=True):
                sums[table] = sums.get(table, Counter()) + counts
                if columns:
                    changed.append((row, columns))
                if counts:
                    holders.add(row.memory_id)
            after = revisions[-1].revision_id
        names = [str(MemoryName(self.engine, memory_id)) for memory_id in sorted(holders)]
        memories = [(row, columns) for row, (columns, _) in zip(rows, masked, strict=True)]
        redacted = Redacted(memories, changed, vectors, await database_now(session))
        return redacted, BatchResults(sums, names)

    async def _redact(self, session: Session, engine: EngineRow, redacted: Redacted) -> None:
        service = MemoryService.of(self.resources)
        claim, now = self.job.claim, self.resources.clock.now()
        writing = service.writing_for(
            engine, claim.owned.operation_id, now, RevisionFields(), claim.caller
        )
        await ledger.redact(session, writing, redacted)

    async def texts(self, texts: TextsOf, progress: ScanProgress) -> ScanProgress:
        async with self.job.db.transaction() as session:
            await engines.get(session, self.engine, Lock.SHARED)
            rows = await texts.page(
                session, self._subject, progress.after, self._limit, for_update=self._masks
            )
            masked = await self._mask([{"text": text} for _, text in rows])
            results = zip(rows, masked, strict=True)
            holders = [(key, result) for (key, _), result in results if result.counts]
            if self._masks:
                new = {key: str(result.values["text"]) for key, result in holders if result.values}
                await texts.rewrite(session, self.engine.engine, new)
            sums = {texts.table: sum((result.counts for _, result in holders), Counter[str]())}
            names = [f"{self.engine}/{texts.name(key)}" for key, _ in holders]
            last = rows[-1][0] if len(rows) == self._limit else None
            batch = BatchResults(sums, names)
            progress = await self._note(session, batch, last)
        self._count(batch)
        return progress

    async def _note(
        self, session: Session, results: BatchResults, last: Sequence[str] | None
    ) -> ScanProgress:
        named = results if not self._masks else BatchResults(results.counts)
        # Read again, since an erasure may have removed names from the stored progress.
        before = ScanProgress.of(await self.job.lock_details(session))
        progress = before.with_batch(named, last, MAX_NAMES)
        await self.job.note(session, progress.details())
        await self.job.advance(session)
        return progress

    def _count(self, results: BatchResults) -> None:
        if self._masks:
            for kinds in results.counts.values():
                count(SCAN, kinds)
