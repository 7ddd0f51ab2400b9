"""Restoration of memories through the ledger, and its report in the operation's response."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.adapters.db.session import Session
from app.kernel.names import EngineName, MemoryName, RevisionName
from app.memory.memories.logic.policy import ahead
from app.memory.memories.store import ledger
from app.memory.memories.store.changes import Action, Change, ChangeContext, Deletion, Hold
from app.memory.memories.store.columns import content_of
from app.memory.memories.store.vectors import Vector
from app.memory.undo.logic.plan import Before, Present, Skipped, Trace, Undone, expiry, verdict
from app.memory.undo.store.repository import UndoTarget
from app.platform.engines.logic.config import MemoryBankConfig
from app.platform.operations.logic.states import type_url

Verdict = tuple[UndoTarget, Undone | Skipped | None]


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
    """Writes verdicts through the ledger, inside the caller's transaction.

    `vectors` has vectors of the facts from `fact_to_embed`; missing ones are embedded later.
    """

    session: Session
    config: MemoryBankConfig
    writing: ChangeContext
    vectors: Mapping[str, Vector]

    async def write(self, verdicts: Sequence[Verdict]) -> None:
        """Apply the changes; skipped memories stay unchanged.

        Raises:
            Aborted: a memory was changed since it was read; this cannot happen to locked memories.
        """
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
