"""Writing of planned changes through the ledger, and their form in the operation's response."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from app.adapters.db.session import Session
from app.kernel.errors import Aborted, Reason
from app.kernel.names import MemoryName, RevisionName
from app.memory.generation.logic.plan import PlannedChange
from app.memory.generation.schemas import GenerateMemoriesRequest, MetadataMergeStrategy
from app.memory.generation.services.conversation import Provenance
from app.memory.generation.services.turns import metadata_column, topic_columns
from app.memory.memories.logic.policy import Cause, memory_expiry
from app.memory.memories.schemas.memories import DEFAULT_MEMORY_TYPE, PROFILE_TYPE
from app.memory.memories.store import ledger
from app.memory.memories.store import repository as memories
from app.memory.memories.store.changes import Change, ChangeContext, Creation, Deletion, Hold
from app.memory.memories.store.columns import content_of
from app.memory.memories.store.tables import MemoryRow
from app.memory.memories.store.vectors import Vector
from app.memory.revisions import store as revisions
from app.platform.engines.logic.config import MemoryBankConfig
from app.platform.engines.store.tables import EngineRow, config_of


@dataclass(frozen=True)
class GenerationWriter:
    """Writes planned changes through the ledger, inside the caller's transaction."""

    session: Session
    engine: EngineRow
    writing: ChangeContext
    request: GenerateMemoriesRequest
    provenance: Provenance
    max_metadata_entries: int

    async def check(self, changes: Sequence[PlannedChange]) -> None:
        """Raise Aborted if a memory to be changed was changed, deleted or has expired meanwhile."""
        await self._lock(changes)

    async def write(
        self, changes: Sequence[PlannedChange], vectors: Mapping[str, Vector]
    ) -> list[dict[str, Any]]:
        """Apply the changes, and return them in the form of the operation's response.

        `vectors` maps the fact of each change to its vector; a profile's field has none.

        Raises:
            Aborted: one of the memories was changed, deleted or has expired since it was read.
        """
        rows = await self._lock(changes)
        previous = await revisions.latest_ids(
            self.session, self.engine.engine_id, list(rows), self.writing.now
        )
        wanted = [
            self._to_change(
                change, rows.get(change.memory_id or ""), vectors.get(change.fact or "")
            )
            for change in changes
        ]
        written = await ledger.apply(self.session, self.writing, wanted)
        return [
            self._render(change, result.row.memory_id, previous.get(result.row.memory_id))
            for change, result in zip(changes, written, strict=True)
        ]

    def _render(
        self, change: PlannedChange, memory_id: str, previous: int | None
    ) -> dict[str, Any]:
        name = MemoryName(self.writing.engine, memory_id)
        generated: dict[str, Any] = {"memory": {"name": str(name)}, "action": change.action}
        if previous is not None:
            generated["previousRevision"] = str(RevisionName(name, previous))
        return generated

    def _to_change(
        self, change: PlannedChange, row: MemoryRow | None, vector: Vector | None
    ) -> Creation | Change | Deletion:
        if row is None:
            return self._creation(change, vector)
        if change.action == "DELETED":
            said_at = None if change.turn is None else self.provenance.said_at(change.turn)
            return Deletion(row, change.extracted_memories(), said_at)
        said = self._said(change, row)
        return Change(
            row=row,
            content={
                **content_of(row),
                **_content(change),
                **said,
                "context": _context_of(change, row),
                "user_metadata": self._merged_metadata(row),
            },
            expire_time=self._expiry(Cause.GENERATE_UPDATED, row.expire_time),
            vector=vector,
            extracted=change.extracted_memories(),
            hold=Hold.SAID if said else Hold.KEEP,
        )

    def _said(self, change: PlannedChange, row: MemoryRow) -> dict[str, Any]:
        # A repetition of the same fact at an earlier time leaves the provenance as it is.
        said = self.provenance.of(change.turn)
        moment, before = said.get("event_time"), row.rests_on
        is_same = change.field is None and change.fact == row.fact
        if moment is None or (is_same and moment < before):
            return {}
        return {**said, "event_time": max(moment, row.event_time or moment)}

    def _creation(self, change: PlannedChange, vector: Vector | None) -> Creation:
        return Creation(
            memory_id=None,
            scope=self.request.scope or {},
            memory_type=PROFILE_TYPE if change.field is not None else DEFAULT_MEMORY_TYPE,
            content={
                **_content(change),
                **self.provenance.of(change.turn),
                "context": change.context,
                "user_metadata": metadata_column(self.request),
            },
            expire_time=self._expiry(Cause.GENERATE_CREATED, None),
            vector=vector,
            extracted=change.extracted_memories(),
        )

    def _expiry(self, cause: Cause, present: datetime | None) -> datetime | None:
        return memory_expiry(self._config, cause, self.writing.now, None, present)

    @cached_property
    def _config(self) -> MemoryBankConfig:
        return config_of(self.engine)

    async def _lock(self, changes: Sequence[PlannedChange]) -> dict[str, MemoryRow]:
        # All are locked before the first write, so every writer acquires locks in the same
        # order.
        read = {
            change.memory_id: change.version for change in changes if change.memory_id is not None
        }
        live = memories.is_live(self.writing.now)
        rows = await memories.lock(self.session, self.engine.engine_id, list(read), live)
        if {row.memory_id: row.version for row in rows} != read:
            raise Aborted("A memory was changed meanwhile; retry.", Reason.CONCURRENT_CHANGE)
        return {row.memory_id: row for row in rows}

    def _merged_metadata(self, row: MemoryRow) -> dict[str, Any]:
        # If merged metadata would have too many entries, only the request's metadata are
        # kept.
        sent = metadata_column(self.request)
        if self.request.metadata is None:
            return row.user_metadata
        if self.request.metadata_merge_strategy is MetadataMergeStrategy.MERGE:
            merged = {**row.user_metadata, **sent}
            return merged if len(merged) <= self.max_metadata_entries else sent
        return sent


def _context_of(change: PlannedChange, row: MemoryRow) -> str | None:
    # The context of another fact is not kept.
    if change.context is None and change.fact == row.fact:
        return row.context
    return change.context


def _content(change: PlannedChange) -> dict[str, Any]:
    if change.field is not None:
        return {"structured_content": change.field.structured_content(), "topics": []}
    return {"fact": change.fact, "topics": topic_columns(change.topics)}
