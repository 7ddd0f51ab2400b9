"""Worker job that undoes an operation.

First, outside any transaction, the job embeds the facts that need vectors again. Then one
transaction locks and changes the memories, and ends the operation. A memory that has changed in
between is skipped and reported. Only a conflict with another transaction makes the runner repeat
the job.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.adapters.db.session import Session
from app.adapters.resources import Resources
from app.kernel.names import EngineName, MemoryName, RevisionName
from app.memory.memories.logic.policy import ahead
from app.memory.memories.schemas.memories import RevisionFields
from app.memory.memories.services.memories import MemoryService
from app.memory.memories.store import ledger, listing
from app.memory.memories.store import repository as memories
from app.memory.memories.store.changes import Action, Change, ChangeContext, Deletion, Hold
from app.memory.memories.store.columns import content_of
from app.memory.memories.store.vectors import Vector
from app.memory.undo import store
from app.memory.undo.logic import Before, Present, Skipped, Trace, Undone, expiry, verdict
from app.memory.undo.schemas import QueuedUndo
from app.memory.undo.store import UndoTarget
from app.platform.engines.logic.config import MemoryBankConfig
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import config_of
from app.platform.operations.logic.states import type_url
from app.platform.operations.services.runner import Job

_EMBEDDED_AT_A_TIME = 256
"""Facts embedded between two checks for cancellation; MiniLM needs about a second for them."""

Verdict = tuple[UndoTarget, Undone | Skipped | None]


async def undo(job: Job, resources: Resources) -> None:
    """Run a queued undo."""
    request = QueuedUndo.model_validate(job.claim.request)
    engine = EngineName.parse(job.claim.engine_name)
    await _Undo(job, MemoryService.of(resources), engine, request).run()


def judged(targets: Sequence[UndoTarget], now: datetime) -> list[Verdict]:
    """Return each target with its effect."""
    return [
        (target, verdict(target.trace, _present(target), _before(target), now))
        for target in targets
    ]


def _present(target: UndoTarget) -> Present | None:
    row = target.row
    if row is None:
        return None
    return Present(
        row.version,
        row.delete_time is not None,
        row.expire_time,
        row.recover_until,
        target.put_back,
    )


def _before(target: UndoTarget) -> Before | None:
    if target.before is None:
        return None
    return Before(target.before.action == Action.DELETED, target.before.memory_expire_time)


def fact_to_embed(target: UndoTarget, effect: Undone | Skipped | None) -> str | None:
    """Return the fact that needs a new vector, or None."""
    if effect not in {Undone.UPDATED, Undone.RESTORED}:
        return None
    assert target.row is not None
    fact = (target.before or target.row).fact
    is_there = effect is Undone.UPDATED and target.row.fact == fact
    return None if is_there else fact


@dataclass(frozen=True)
class UndoWriter:
    """Writes verdicts through the ledger; facts that `vectors` lacks are embedded later."""

    session: Session
    config: MemoryBankConfig
    writing: ChangeContext
    vectors: Mapping[str, Vector]

    async def write(self, verdicts: Sequence[Verdict]) -> None:
        """Apply the changes; skipped memories stay unchanged."""
        changes = [self._change(target, effect) for target, effect in verdicts]
        wanted = [change for change in changes if change is not None]
        await ledger.apply(self.session, self.writing, wanted)

    def _change(
        self, target: UndoTarget, effect: Undone | Skipped | None
    ) -> Change | Deletion | None:
        if not isinstance(effect, Undone):
            return None
        row, before = target.row, target.before
        assert row is not None
        if effect is Undone.DELETED:
            return Deletion(row)
        fact = fact_to_embed(target, effect)
        ended = row.expire_time if before is None else before.memory_expire_time
        return Change(
            row=row,
            content=content_of(before or row),
            expire_time=expiry(
                self.config, ended, ahead(row.expire_time, self.writing.now), self.writing.now
            ),
            vector=None if fact is None else self.vectors.get(fact),
            restores=None if before is None else before.revision_id,
            is_undeletion=before is None,
            hold=Hold.SET,
        )


@dataclass(frozen=True)
class Report:
    """Report of the effect on each memory; `engine` is the stored full name."""

    engine: EngineName
    undone: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)

    def add(self, trace: Trace, effect: Undone | Skipped | None) -> None:
        """Record the effect on a memory; unchanged memories are not reported."""
        name = MemoryName(self.engine, trace.memory_id)
        if isinstance(effect, Skipped):
            self.skip(trace.memory_id, effect)
        elif effect is not None:
            entry: dict[str, Any] = {"memory": {"name": str(name)}, "action": effect}
            if trace.revision_id is not None:
                entry["previousRevision"] = str(RevisionName(name, trace.revision_id))
            self.undone.append(entry)

    def skip(self, memory_id: str, reason: Skipped) -> None:
        """Record a skipped memory."""
        name = MemoryName(self.engine, memory_id)
        self.skipped.append({"memory": {"name": str(name)}, "reason": reason})

    def response(self) -> dict[str, Any]:
        """Return the operation's response, with names only."""
        lists = {"undoneMemories": self.undone, "skippedMemories": self.skipped}
        return {
            "@type": type_url("UndoOperationResponse"),
            **{name: entries for name, entries in lists.items() if entries},
        }

    def details(self) -> dict[str, Any]:
        """Return the counts for the operation's metadata."""
        return {"undoneCount": len(self.undone), "skippedCount": len(self.skipped)}


@dataclass(frozen=True)
class _Undo:
    job: Job
    service: MemoryService
    engine: EngineName
    request: QueuedUndo

    async def run(self) -> None:
        vectors = {} if self.request.validate_only else await self._vectors()
        await self.job.step()
        async with self.job.db.transaction(writes_vectors=bool(vectors)) as session:
            engine = await engines.get(session, self.engine, Lock.SHARED)
            writing = self.service.writing_for(
                engine,
                self.job.claim.owned.operation_id,
                self.job.clock.now(),
                RevisionFields(revision_labels=self.request.revision_labels),
                self.job.claim.caller,
            )
            writer = UndoWriter(session, config_of(engine), writing, vectors)
            report = await self._apply(writer)
            details = report.details()
            if not writing.keeps_revisions:
                details["revisionsDisabled"] = True
            await self.job.finish(session, report.response(), details)

    async def _vectors(self) -> dict[str, Vector]:
        # The facts of too many memories are embedded later.
        now, count = self.job.clock.now(), 0
        # A dict serves as an ordered set of facts.
        wanted: dict[str, None] = {}
        async with self.job.db.snapshot(statement_seconds=0) as session:
            async for targets in self._pages(session, now, for_update=False):
                count += len(targets)
                if count > self.service.settings.tuning.undo_embedded_memories:
                    return {}
                needed = [fact_to_embed(*verdict) for verdict in judged(targets, now)]
                wanted |= dict.fromkeys(fact for fact in needed if fact is not None)
        facts = list(wanted)
        vectors: dict[str, Vector] = {}
        for at in range(0, len(facts), _EMBEDDED_AT_A_TIME):
            batch = facts[at : at + _EMBEDDED_AT_A_TIME]
            vectors |= await self.service.embedding.facts(self.engine.engine, batch)
            await self.job.step()
        return vectors

    async def _apply(self, writer: UndoWriter) -> Report:
        now, is_dry = writer.writing.now, bool(self.request.validate_only)
        report = Report(writer.writing.engine)
        seen: set[str] = set()
        async for targets in self._pages(writer.session, now, for_update=not is_dry):
            verdicts = judged(targets, now)
            if not is_dry:
                await writer.write(verdicts)
            for target, outcome in verdicts:
                report.add(target.trace, outcome)
                seen.add(target.trace.memory_id)
        await self._add_traceless(writer.session, report, seen, now)
        return report

    async def _pages(
        self, session: Session, now: datetime, *, for_update: bool
    ) -> AsyncIterator[list[UndoTarget]]:
        engine_id, operation_id = self.engine.engine, self.request.operation
        limit, last = self.service.settings.tuning.sweep_batch_rows, ""
        while True:
            targets = await store.list_targets(
                session, engine_id, operation_id, limit, last, now, for_update=for_update
            )
            if not targets and not last:
                targets = await store.list_deleted(
                    session, engine_id, operation_id, now, for_update=for_update
                )
            yield targets
            if len(targets) < limit:
                return
            last = targets[-1].trace.memory_id

    async def _add_traceless(
        self, session: Session, report: Report, seen: set[str], now: datetime
    ) -> None:
        """Report memories in the operation's response that have no revision any more."""
        engine_id = self.engine.engine
        source = await store.find_operation(session, engine_id, self.request.operation, now)
        named = _changed_ids(source.response) if source is not None and source.response else []
        lost = [memory_id for memory_id in named if memory_id not in seen]
        limit, is_known = self.service.settings.tuning.sweep_batch_rows, memories.is_known(now)
        for at in range(0, len(lost), limit):
            batch = lost[at : at + limit]
            rows = await listing.list_named(session, engine_id, batch, is_known)
            there = {row.memory_id for row in rows}
            for memory_id in batch:
                is_there = memory_id in there
                report.skip(memory_id, Skipped.REVISION_NOT_KEPT if is_there else Skipped.ERASED)


def _changed_ids(response: Mapping[str, Any]) -> list[str]:
    entries = [
        entry for key in ("generatedMemories", "undoneMemories") for entry in response.get(key, [])
    ]
    names = [entry["memory"]["name"] for entry in entries]
    names += [entry["name"] for entry in response.get("memories", [])]
    return [name.rpartition("/")[2] for name in names]
