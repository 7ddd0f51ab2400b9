"""Imports: memories from a stream of any length, one chunk at a time.

While one chunk is written, in a transaction of its own, the next is read and embedded. If an import
ends early, all that it has written stays. It can be sent again as a whole, since a memory that
exists under its id and with its content is skipped.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from app.adapters.cooperative import each
from app.adapters.db.conditions import scopes_of
from app.adapters.db.session import Session
from app.kernel.errors import AlreadyExists, Reason, ResourceExhausted, ServiceError
from app.kernel.names import EngineName
from app.memory.bulk.logic.chunks import ImportLine, chunked
from app.memory.bulk.schemas import MAX_ERRORS, ImportMemoriesResponse, LineError
from app.memory.bulk.services.bulk import BulkService, Creating, Outcome, id_taken
from app.memory.bulk.services.plan import BulkItem, read_line, repeated
from app.memory.bulk.store import repository
from app.memory.memories.schemas.memories import stored_type
from app.memory.memories.store import repository as memories
from app.memory.memories.store.tables import MemoryRow
from app.memory.memories.store.vectors import Vector
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow
from app.platform.operations.logic.states import type_url
from app.platform.operations.store import repository as operations
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.platform.privacy.logic.guard import noted

IMPORT = "memories.import"
"""Kind of the operation that stands for an import."""
_RETRY_SECONDS = 1.0
_LONG_BYTES = 32 * 1024

Charge = Callable[[], Awaitable[None]]
"""Charges a chunk to the rate limits; raises an error with the waiting time if it must wait."""


@dataclass(frozen=True)
class _Chunk:
    """The memories that lines ask for.

    Attributes:
        last_line: the number of the last line.
        existing: the number of memories that exist already.
        failed: the errors of lines that cannot be created, by line.
        masked: the number of masked values, by kind.
    """

    last_line: int
    items: Sequence[BulkItem]
    vectors: dict[str, Vector]
    existing: int
    failed: dict[int, ServiceError]
    masked: Mapping[str, int]


@dataclass
class _Counts:
    """Counts of the lines so far."""

    lines: int = 0
    imported: int = 0
    existing: int = 0
    failed: int = 0
    errors: list[LineError] = field(default_factory=list)
    masked: Counter[str] = field(default_factory=Counter)

    def add(self, chunk: _Chunk, imported: int) -> None:
        """Add the counts of a chunk; the errors of the first lines are kept."""
        self.lines = chunk.last_line
        self.imported += imported
        self.existing += chunk.existing
        self.failed += len(chunk.failed)
        self.masked.update(chunk.masked)
        room = MAX_ERRORS - len(self.errors)
        self.errors += [
            LineError(line=line, error=error.as_operation_error())
            for line, error in sorted(chunk.failed.items())[:room]
        ]


class Import:
    """One import.

    Args:
        service: the service with the caller's reach.
        name: the name of the engine.
        charge: called before each chunk but the first, which the request has paid for.
    """

    def __init__(self, service: BulkService, name: EngineName, charge: Charge) -> None:
        self._service = service
        self._name = name
        self._charge = charge
        self._counts = _Counts()
        self._has_begun = False
        self._new: NewOperation | None = None
        self._operation: OperationRow | None = None
        self._writing: asyncio.Task[None] | None = None

    async def run(self, pieces: AsyncIterator[bytes]) -> ImportMemoriesResponse:
        """Create a memory for each valid line.

        Raises:
            NotFound: the engine does not exist.
            ServiceError: the import cannot go on; the error's metadata have the counts so far.
        """
        try:
            async for lines in chunked(pieces):
                if self._has_begun:
                    await self._pay()
                self._has_begun = True
                chunk = await self._prepare(lines)
                await self._await_write()
                self._writing = asyncio.create_task(self._write(chunk))
            await self._await_write()
            if self._operation is None:
                await self._audit_empty()
        except ServiceError as error:
            await self._settled()
            raise self._with_counts(error) from None
        finally:
            await self._settled()
        return self._response()

    async def _pay(self) -> None:
        """Wait until the rate limits allow another chunk."""
        while True:
            try:
                await self._charge()
            except ResourceExhausted as error:
                if error.reason is not Reason.RATE_LIMIT_EXCEEDED:
                    raise
                await asyncio.sleep(error.retry_after_seconds or _RETRY_SECONDS)
            else:
                return

    async def _prepare(self, lines: Sequence[ImportLine]) -> _Chunk:
        """Read lines, skip memories that exist already, and embed the others."""
        settings = self._service.memories.settings
        # A long line cannot be divided between event-loop turns, so a thread reads it.
        is_long = any(len(line.text or b"") > _LONG_BYTES for line in lines)
        reading = partial(read_line, settings)
        if is_long:
            read = await asyncio.to_thread(lambda: [reading(line) for line in lines])
        else:
            read = await each(lines, reading)
        read, masked = await self._service.admitted(self._name, read, lambda _: "")
        failed = {
            line.number: result
            for line, result in zip(lines, read, strict=True)
            if isinstance(result, ServiceError)
        }
        items = [result for result in read if isinstance(result, BulkItem)]
        async with self._service.memories.db.snapshot() as session:
            existing = await self._existing(session, items)
        left = [item for item in items if item.place not in existing]
        vectors = await self._service.embedded(self._name.engine, left)
        return _Chunk(lines[-1].number, left, vectors, len(existing), failed, masked)

    async def _existing(self, session: Session, items: Sequence[BulkItem]) -> set[int]:
        """Return the lines of memories that exist already with the same content."""
        ids = [item.memory_id for item in items if item.memory_id is not None]
        live = memories.is_live(self._service.memories.clock.now())
        rows = await repository.find_all(session, self._name.engine, ids, live)
        chosen = [item for item in items if item.memory_id in rows]
        same = await each(chosen, lambda item: _is_same(rows[str(item.memory_id)], item))
        return {item.place for item, is_same in zip(chosen, same, strict=True) if is_same}

    async def _write(self, chunk: _Chunk) -> None:
        """Create the memories of a chunk in one transaction; then count the results."""
        imported = 0
        if chunk.items:
            again = {item.place for item in repeated(chunk.items)}
            items = [item for item in chunk.items if item.place not in again]
            async with self._service.memories.db.transaction() as session:
                engine = await engines.get(session, self._name, Lock.SHARED)
                new = self._operation_now(session, engine)
                creating = Creating(self._service.memories, session, engine, new, chunk.vectors)
                created = await creating.create(items)
                results = {item.place: done for item, done in zip(items, created, strict=True)}
                results |= dict.fromkeys(again, id_taken("memoryId"))
                taken = [
                    item for item in chunk.items if isinstance(results[item.place], AlreadyExists)
                ]
                existing = await self._existing(session, taken)
                imported = sum(isinstance(result, MemoryRow) for result in results.values())
                if imported:
                    await self._note(session, creating.noting_revisions(new), imported, chunk)
            chunk = _with_results(chunk, results, existing)
        self._counts.add(chunk, imported)

    def _operation_now(self, session: Session, engine: EngineRow) -> NewOperation:
        """Return the operation, with the present time."""
        service = self._service.memories
        now = service.clock.now()
        if self._new is None:
            new = service.operation(engine, IMPORT, "ImportMemories", now)
            self._new = replace(new, scopes=scopes_of(session))
        return replace(self._new, now=now)

    async def _note(
        self, session: Session, new: NewOperation, imported: int, chunk: _Chunk
    ) -> None:
        """Store the operation with the first memories; update its response afterwards."""
        count = self._counts.imported + imported
        response = {"@type": type_url("ImportMemoriesResponse"), "imported": count}
        masked = noted(self._counts.masked + Counter(chunk.masked))
        if self._operation is None:
            self._operation = await operations.insert_done(session, new.noting(**masked), response)
        else:
            await operations.update_done(session, self._operation, response, masked)

    async def _audit_empty(self) -> None:
        """Record an import that has created nothing in the audit log."""
        async with self._service.memories.db.transaction() as session:
            await engines.get(session, self._name)

    async def _await_write(self) -> None:
        """Wait for the chunk that is being written, if any.

        Raises:
            ServiceError: the chunk could not be written.
        """
        if self._writing is not None:
            await asyncio.wait({self._writing})
            # Until the write has ended, a cancellation must still find it and wait for it.
            writing, self._writing = self._writing, None
            writing.result()

    async def _settled(self) -> None:
        """Wait for the chunk that is being written, whether it succeeds or not."""
        if self._writing is not None:
            await asyncio.wait({self._writing})
            if not self._writing.cancelled():
                # Retrieved, so that asyncio does not log it: an earlier failure is reported.
                self._writing.exception()

    def _with_counts(self, error: ServiceError) -> ServiceError:
        """Return the error with the counts so far in its metadata."""
        counts = self._counts
        numbers = {
            "lines": counts.lines,
            "imported": counts.imported,
            "existing": counts.existing,
            "failed": counts.failed,
        }
        return type(error)(
            error.message,
            error.reason,
            violations=error.violations,
            metadata={**error.metadata, **{key: str(numbers[key]) for key in numbers}},
            retry_after_seconds=error.retry_after_seconds,
            http=error.http_status,
        )

    def _response(self) -> ImportMemoriesResponse:
        counts = self._counts
        return ImportMemoriesResponse(
            imported=counts.imported,
            existing=counts.existing,
            failed=counts.failed,
            errors=counts.errors,
            operation=self._operation and self._operation.name,
        )


def _is_same(row: MemoryRow, item: BulkItem) -> bool:
    """Return True if a memory has the content that an item asks for, whatever its expiry."""
    content: dict[str, Any] = {
        **item.request.content(),
        "scope": item.request.scope,
        "memory_type": stored_type(item.request.memory_type),
    }
    return all(getattr(row, name) == value for name, value in content.items())


def _with_results(chunk: _Chunk, results: dict[int, Outcome], existing: set[int]) -> _Chunk:
    """Return a chunk with the results of its items."""
    failed = {
        line: result
        for line, result in results.items()
        if isinstance(result, ServiceError) and line not in existing
    }
    return replace(
        chunk, existing=chunk.existing + len(existing), failed={**chunk.failed, **failed}
    )
