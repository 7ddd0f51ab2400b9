"""Writes planned changes through the ledger, and tells them as the operation's response does."""

from dataclasses import dataclass
from typing import Any

from app.core.errors import Aborted, Reason
from app.core.names import MemoryName, RevisionName
from app.db.session import Session
from app.engines.schemas import config_of
from app.engines.tables import EngineRow
from app.generation.plan import PlannedChange
from app.generation.schemas import GenerateMemoriesRequest, MetadataMergeStrategy
from app.generation.turns import metadata_column, topic_columns
from app.memories import ledger
from app.memories import repository as memories
from app.memories.ledger import CONTENT_FIELDS, Change, Creation, Vector, Writing
from app.memories.policy import Cause, memory_expiry
from app.memories.schemas import DEFAULT_MEMORY_TYPE
from app.memories.tables import MemoryRow
from app.revisions import repository as revisions


@dataclass(frozen=True)
class Writer:
    """Writes planned changes through the ledger, inside the caller's transaction."""

    session: Session
    engine: EngineRow
    writing: Writing
    request: GenerateMemoriesRequest

    async def write(self, change: PlannedChange, vector: Vector) -> dict[str, Any]:
        """Make one change; return it as the operation's response tells it."""
        if change.memory_id is None:
            memory_id, previous = await self._create(change, vector), None
        else:
            memory_id = change.memory_id
            known = await revisions.latest_ids(
                self.session, self.engine.engine_id, [memory_id], self.writing.now
            )
            previous = known.get(memory_id)
            await self._change(change, memory_id, vector)
        name = MemoryName(self.writing.engine, memory_id)
        generated: dict[str, Any] = {"memory": {"name": str(name)}, "action": change.action}
        if previous is not None:
            generated["previousRevision"] = str(RevisionName(name, previous))
        return generated

    async def _create(self, change: PlannedChange, vector: Vector) -> str:
        config = config_of(self.engine)
        empty: dict[str, Any] = dict.fromkeys(CONTENT_FIELDS)
        creation = Creation(
            memory_id=None,
            scope=self.request.scope or {},
            memory_type=DEFAULT_MEMORY_TYPE,
            content={
                **empty,
                "fact": change.fact,
                "topics": topic_columns(change.topics),
                "user_metadata": metadata_column(self.request),
            },
            expire_time=memory_expiry(config, Cause.GENERATE_CREATED, self.writing.now, None, None),
            vector=vector,
            extracted=_extracted(change),
        )
        return (await ledger.create(self.session, self.writing, creation)).row.memory_id

    async def _change(self, change: PlannedChange, memory_id: str, vector: Vector) -> None:
        row = await self._locked(memory_id, change.version)
        if change.action == "DELETED":
            await ledger.delete(self.session, self.writing, [row], _extracted(change))
            return
        present = {name: getattr(row, name) for name in CONTENT_FIELDS}
        wanted = Change(
            row=row,
            content={
                **present,
                "fact": change.fact,
                "topics": topic_columns(change.topics),
                "user_metadata": self._merged_metadata(row),
            },
            expire_time=memory_expiry(
                config_of(self.engine),
                Cause.GENERATE_UPDATED,
                self.writing.now,
                None,
                row.expire_time,
            ),
            vector=vector,
            extracted=_extracted(change),
        )
        await ledger.change(self.session, self.writing, wanted)

    async def _locked(self, memory_id: str, version: int | None) -> MemoryRow:
        """Return the memory as it was when it was read.

        Raises:
            Aborted: it was changed, deleted or has expired since.
        """
        name = MemoryName(self.writing.engine, memory_id)
        live = memories.is_live(self.writing.now)
        row = await memories.find(self.session, name, live, for_update=True)
        if row is None or row.version != version:
            raise Aborted("A memory was changed meanwhile; retry.", Reason.CONCURRENT_CHANGE)
        return row

    def _merged_metadata(self, row: MemoryRow) -> dict[str, Any]:
        """Return an updated memory's metadata; without any in the request it stays."""
        given = metadata_column(self.request)
        if self.request.metadata is None:
            return row.user_metadata
        if self.request.metadata_merge_strategy is MetadataMergeStrategy.MERGE:
            return {**row.user_metadata, **given}
        return given


def _extracted(change: PlannedChange) -> list[dict[str, Any]]:
    return [{"fact": fact} for fact in change.extracted]
