"""Writes planned changes through the ledger, and tells them as the operation's response does."""

from collections.abc import Mapping, Sequence
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

    async def check(self, changes: Sequence[PlannedChange]) -> None:
        """See that all memories that would change are as they were when they were read.

        Raises:
            Aborted: one of the memories was changed, deleted or has expired since.
        """
        await self._locked(changes)

    async def write(
        self, changes: Sequence[PlannedChange], vectors: Mapping[str, Vector]
    ) -> list[dict[str, Any]]:
        """Make the changes; return them as the operation's response tells them.

        `vectors` has that of each change's fact.

        Raises:
            Aborted: one of the memories was changed, deleted or has expired since it was read.
        """
        rows = await self._locked(changes)
        previous = await revisions.latest_ids(
            self.session, self.engine.engine_id, list(rows), self.writing.now
        )
        return [
            await self._write(
                change,
                vectors[change.fact],
                rows.get(change.memory_id or ""),
                previous.get(change.memory_id or ""),
            )
            for change in changes
        ]

    async def _write(
        self, change: PlannedChange, vector: Vector, row: MemoryRow | None, previous: int | None
    ) -> dict[str, Any]:
        if row is None:
            memory_id = await self._create(change, vector)
        else:
            memory_id = row.memory_id
            await self._change(change, row, vector)
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

    async def _change(self, change: PlannedChange, row: MemoryRow, vector: Vector) -> None:
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

    async def _locked(self, changes: Sequence[PlannedChange]) -> dict[str, MemoryRow]:
        """Return the memories that are to change, all as they were when they were read.

        They are locked before the first is written, so that their order is that of every writer.
        """
        read = {one.memory_id: one.version for one in changes if one.memory_id is not None}
        live = memories.is_live(self.writing.now)
        rows = await memories.lock(self.session, self.engine.engine_id, list(read), live)
        if {row.memory_id: row.version for row in rows} != read:
            raise Aborted("A memory was changed meanwhile; retry.", Reason.CONCURRENT_CHANGE)
        return {row.memory_id: row for row in rows}

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
