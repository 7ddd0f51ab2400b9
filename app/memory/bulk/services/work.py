"""Imports: memories from a stream of any length, a chunk at a time.

While one chunk is written, in a transaction of its own, the next is read and embedded. Whatever
ends an import before its end, what was written stays; and since a memory that is there already,
under its id and with its content, is passed over, the whole can be sent again.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from app.adapters.cooperative import each
from app.adapters.db.conditions import scopes_of
from app.adapters.db.session import Session
from app.kernel.errors import AlreadyExists, Reason, ResourceExhausted, ServiceError
from app.kernel.names import EngineName
from app.memory.bulk.logic.chunks import Line, chunked
from app.memory.bulk.schemas import MAX_ERRORS, ImportMemoriesResponse, LineError
from app.memory.bulk.services.bulk import BulkService, Creating, Outcome, id_taken
from app.memory.bulk.services.plan import Item, read_line, repeated
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

IMPORT = "memories.import"
"""The kind of the operation that stands for an import."""
_RETRY_SECONDS = 1.0
_LONG_BYTES = 32 * 1024

Charge = Callable[[], Awaitable[None]]
"""Takes the cost of a chunk from the rates, or raises what says when there will be enough."""


@dataclass(frozen=True)
class _Chunk:
    """What lines ask for.

    Attributes:
        last_line: the number of the last.
        existing: how many there are already.
        failed: why others cannot be created, by their lines.
    """

    last_line: int
    items: Sequence[Item]
    vectors: dict[str, Vector]
    existing: int
    failed: dict[int, ServiceError]


@dataclass
class _Counts:
    """What came of the lines so far."""

    lines: int = 0
    imported: int = 0
    existing: int = 0
    failed: int = 0
    errors: list[LineError] = field(default_factory=list)

    def add(self, chunk: _Chunk, imported: int) -> None:
        """Count what came of a chunk; the errors of the first lines are kept."""
        self.lines = chunk.last_line
        self.imported += imported
        self.existing += chunk.existing
        self.failed += len(chunk.failed)
        room = MAX_ERRORS - len(self.errors)
        self.errors += [
            LineError(line=line, error=error.as_operation_error())
            for line, error in sorted(chunk.failed.items())[:room]
        ]


class Import:
    """One import.

    Args:
        service: as the caller sees the database.
        name: of the engine.
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
        """Create the memories of all lines that can be.

        Raises:
            NotFound: there is no such engine.
            ServiceError: it cannot go on; the metadata have what came of the lines so far.
        """
        try:
            async for lines in chunked(pieces):
                if self._has_begun:
                    await self._pay()
                self._has_begun = True
                chunk = await self._ready(lines)
                await self._written()
                self._writing = asyncio.create_task(self._write(chunk))
            await self._written()
            if self._operation is None:
                await self._leave_word()
        except ServiceError as error:
            await self._settled()
            raise self._broken_off(error) from None
        finally:
            await self._settled()
        return self._response()

    async def _pay(self) -> None:
        """Wait until the rates allow another chunk."""
        while True:
            try:
                await self._charge()
            except ResourceExhausted as error:
                if error.reason is not Reason.RATE_LIMIT_EXCEEDED:
                    raise
                await asyncio.sleep(error.retry_after_seconds or _RETRY_SECONDS)
            else:
                return

    async def _ready(self, lines: Sequence[Line]) -> _Chunk:
        """Read lines, pass over what is there already, and embed the others."""
        settings = self._service.memories.settings
        # A long line cannot be cut into turns, so that it is read beside the event loop.
        is_long = any(len(line.text or b"") > _LONG_BYTES for line in lines)
        reading = partial(read_line, settings)
        if is_long:
            read = await asyncio.to_thread(lambda: [reading(line) for line in lines])
        else:
            read = await each(lines, reading)
        failed = {
            line.number: one
            for line, one in zip(lines, read, strict=True)
            if isinstance(one, ServiceError)
        }
        items = [one for one in read if isinstance(one, Item)]
        async with self._service.memories.db.snapshot() as session:
            existing = await self._existing(session, items)
        left = [one for one in items if one.place not in existing]
        vectors = await self._service.embedded(self._name.engine, left)
        return _Chunk(lines[-1].number, left, vectors, len(existing), failed)

    async def _existing(self, session: Session, items: Sequence[Item]) -> set[int]:
        """Return the lines of those that are there already, with the same content."""
        ids = [one.memory_id for one in items if one.memory_id is not None]
        live = memories.is_live(self._service.memories.clock.now())
        rows = await repository.find_all(session, self._name.engine, ids, live)
        chosen = [one for one in items if one.memory_id in rows]
        same = await each(chosen, lambda one: _is_same(rows[str(one.memory_id)], one))
        return {one.place for one, is_same in zip(chosen, same, strict=True) if is_same}

    async def _write(self, chunk: _Chunk) -> None:
        """Create what a chunk asks for, in one transaction; then count what came of it."""
        imported = 0
        if chunk.items:
            again = {one.place for one in repeated(chunk.items)}
            items = [one for one in chunk.items if one.place not in again]
            async with self._service.memories.db.transaction() as session:
                engine = await engines.get(session, self._name, Lock.SHARED)
                new = self._begun(session, engine)
                creating = Creating(self._service.memories, session, engine, new, chunk.vectors)
                created = await creating.create(items)
                found = {one.place: done for one, done in zip(items, created, strict=True)}
                found |= dict.fromkeys(again, id_taken("memoryId"))
                taken = [one for one in chunk.items if isinstance(found[one.place], AlreadyExists)]
                existing = await self._existing(session, taken)
                imported = sum(isinstance(one, MemoryRow) for one in found.values())
                if imported:
                    await self._note(session, creating.noting_revisions(new), imported)
            chunk = _with(chunk, found, existing)
        self._counts.add(chunk, imported)

    def _begun(self, session: Session, engine: EngineRow) -> NewOperation:
        """Return the operation, as of now."""
        service = self._service.memories
        now = service.clock.now()
        if self._new is None:
            new = service.operation(engine, IMPORT, "ImportMemories", now)
            self._new = replace(new, scopes=scopes_of(session))
        return replace(self._new, now=now)

    async def _note(self, session: Session, new: NewOperation, imported: int) -> None:
        """Store, with the first memories, the operation; then what came of it."""
        count = self._counts.imported + imported
        response = {"@type": type_url("ImportMemoriesResponse"), "imported": count}
        if self._operation is None:
            self._operation = await operations.insert_done(session, new, response)
        else:
            await operations.update_done(session, self._operation, response, {})

    async def _leave_word(self) -> None:
        """Let the audit log have an import that has created nothing."""
        async with self._service.memories.db.transaction() as session:
            await engines.get(session, self._name)

    async def _written(self) -> None:
        """Wait for the chunk that is being written, if any.

        Raises:
            ServiceError: it was not written.
        """
        if self._writing is not None:
            await asyncio.wait({self._writing})
            # Until it has ended, whoever cancels this must find it, and wait for it.
            writing, self._writing = self._writing, None
            writing.result()

    async def _settled(self) -> None:
        """Wait for the chunk that is being written, whatever becomes of it."""
        if self._writing is not None:
            await asyncio.wait({self._writing})
            if not self._writing.cancelled():
                # Looked at: another failure is told already.
                self._writing.exception()

    def _broken_off(self, error: ServiceError) -> ServiceError:
        """Say how far it came, too."""
        found = self._counts
        numbers = {
            "lines": found.lines,
            "imported": found.imported,
            "existing": found.existing,
            "failed": found.failed,
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
        found = self._counts
        return ImportMemoriesResponse(
            imported=found.imported,
            existing=found.existing,
            failed=found.failed,
            errors=found.errors,
            operation=self._operation and self._operation.name,
        )


def _is_same(row: MemoryRow, item: Item) -> bool:
    """Say whether a memory is what an item asks for, its expiry aside."""
    content: dict[str, Any] = {
        **item.request.content(),
        "scope": item.request.scope,
        "memory_type": stored_type(item.request.memory_type),
    }
    return all(getattr(row, name) == value for name, value in content.items())


def _with(chunk: _Chunk, found: dict[int, Outcome], existing: set[int]) -> _Chunk:
    """Return a chunk with what came of its items."""
    failed = {
        line: one
        for line, one in found.items()
        if isinstance(one, ServiceError) and line not in existing
    }
    return replace(
        chunk, existing=chunk.existing + len(existing), failed={**chunk.failed, **failed}
    )
