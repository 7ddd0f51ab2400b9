"""Import of memories from a stream of any length, one chunk at a time.

Each chunk is written in a separate transaction, while the next chunk is read and embedded. If an
import is interrupted, the chunks that are written stay. The client can send the whole import again:
lines whose memories exist with the same content are skipped.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, auto
from functools import partial

from pydantic.alias_generators import to_camel

from app.adapters.concurrency import WriteBehind, each
from app.adapters.db.conditions import scopes_of
from app.adapters.db.session import Session
from app.kernel.errors import AlreadyExists, NotFound, Reason, ServiceError
from app.kernel.limits import Counted
from app.kernel.names import EngineName, OperationName
from app.memory.bulk import store as bulk
from app.memory.bulk.logic import ImportLine, chunked
from app.memory.bulk.schemas import AnsweredImport, ImportMemoriesResponse, LineError
from app.memory.bulk.services.bulk import (
    BulkItem,
    BulkService,
    Creating,
    ImportOptions,
    Outcome,
    Read,
    id_taken,
    read_line,
    repeated,
)
from app.memory.memories.schemas.memories import stored_type
from app.memory.memories.store import repository as memories
from app.memory.memories.store.tables import ColumnRole, MemoryRow, columns_of
from app.memory.memories.store.vectors import Vector
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow
from app.platform.limits.services.quotas import check_room
from app.platform.operations.logic.states import type_url
from app.platform.operations.schemas import given
from app.platform.operations.store import idempotency
from app.platform.operations.store import repository as operations
from app.platform.operations.store.repository import NewOperation
from app.platform.operations.store.tables import OperationRow
from app.platform.privacy.logic import MASKED_COUNTS, noted

IMPORT = "memories.import"
"""Kind of the operation that records an import."""
_LONG_BYTES = 32 * 1024

Charge = Callable[[], Awaitable[None]]
"""Callback that charges a chunk to the rate limits, and waits until they allow it."""


_COUNTED = ("imported", "existing", "expired", "restored", "changed_here", "overwritten")
"""Counts in the response, besides `failed`."""
_RECORDED = tuple(AnsweredImport.model_fields)
"""Counts in the operation's response."""
_ADDED = ("imported", "restored")
"""Counts that the engine must have room for."""
_CONTENT = tuple(columns_of(MemoryRow, ColumnRole.CONTENT))


class Resolution(Enum):
    """Effect of a line on the memory with its id."""

    CREATE = auto()
    """No memory visible to the caller has the id."""
    SKIP = auto()
    """The memory exists with the same content."""
    KEEP = auto()
    """The memory exists with other content, and does not change."""
    OVERWRITE = auto()
    """The memory exists with other content, which the line's content replaces."""
    RESTORE = auto()
    """The memory is deleted, and the line restores it with the line's content."""
    REFUSE = auto()
    """The id belongs to a memory of another scope or type, or to one that must stay deleted."""


UNWRITTEN = frozenset({Resolution.SKIP, Resolution.KEEP})
"""Resolutions without a change to the memory."""
_CHANGES = frozenset({Resolution.OVERWRITE, Resolution.RESTORE})
_COUNTS: Mapping[Resolution, tuple[str, ...]] = {
    Resolution.CREATE: ("imported",),
    Resolution.SKIP: ("existing",),
    Resolution.KEEP: ("changed_here",),
    Resolution.OVERWRITE: ("changed_here", "overwritten"),
    Resolution.RESTORE: ("restored",),
}


@dataclass(frozen=True)
class _Chunk:
    """Memories requested by a chunk of lines.

    Attributes:
        now: the time at which the lines were read.
        counts: the counts of lines that need no write.
        failed: the errors of lines that cannot be written, by line number.
    """

    last_line: int
    now: datetime
    items: Sequence[BulkItem]
    vectors: dict[str, Vector]
    counts: Counter[str]
    failed: dict[int, ServiceError]
    masked: Mapping[str, int]


@dataclass
class _Counts:
    """Counts of the lines so far."""

    max_errors: int
    lines: int = 0
    failed: int = 0
    done: Counter[str] = field(default_factory=Counter)
    errors: list[LineError] = field(default_factory=list)

    def add(self, chunk: _Chunk) -> None:
        """Add the counts of a chunk; keep the errors of the first lines."""
        self.lines = chunk.last_line
        self.done.update(chunk.counts)
        self.failed += len(chunk.failed)
        room = self.max_errors - len(self.errors)
        self.errors += [
            LineError(line=line, error=error.as_operation_error())
            for line, error in sorted(chunk.failed.items())[:room]
        ]

    def numbers(self) -> dict[str, int]:
        """Return the counts of the response, by field."""
        return {**{name: self.done[name] for name in _COUNTED}, "failed": self.failed}


class Import:
    """One import.

    Args:
        service: the service, limited to the caller's rows.
        charge: called before each chunk except the first, which the request has paid for.
    """

    def __init__(
        self, service: BulkService, name: EngineName, charge: Charge, options: ImportOptions
    ) -> None:
        self._service = service
        self._name = name
        self._charge = charge
        self._options = options
        self._counts = _Counts(options.max_errors)
        self._has_begun = False
        self._new: NewOperation | None = None
        self._operation: OperationRow | None = None
        self._writing = WriteBehind()

    async def run(self, pieces: AsyncIterator[bytes]) -> ImportMemoriesResponse:
        """Create a memory for each valid line.

        Raises:
            NotFound: the engine does not exist.
            ServiceError: the import cannot continue; the error's metadata have the counts so far.
        """
        try:
            async for lines in chunked(pieces):
                if self._has_begun:
                    await self._charge()
                self._has_begun = True
                chunk = await self._prepare(lines)
                await self._writing.start(self._write(chunk))
            await self._writing.end()
            if self._operation is None:
                await self._audit_empty()
        except ServiceError as error:
            await self._writing.settle()
            raise self._with_counts(error) from None
        finally:
            await self._writing.settle()
        return self._answer()

    async def _prepare(self, lines: Sequence[ImportLine]) -> _Chunk:
        """Read lines, leave out lines that need no write, and embed the others."""
        now = self._service.memories.clock.now()
        read = await self._read(lines, now)
        read, masked = await self._service.admitted(self._name, read)
        failed = {
            line.number: entry
            for line, entry in zip(lines, read, strict=True)
            if isinstance(entry, ServiceError)
        }
        items = [entry for entry in read if isinstance(entry, BulkItem)]
        lasting = [item for item in items if not item.is_expired(now)]
        counts = Counter(expired=len(items) - len(lasting))
        ids = [item.memory_id for item in lasting if item.memory_id is not None]
        async with self._service.memories.db.snapshot() as session:
            rows = await bulk.find_all(session, self._name.engine, ids, memories.is_known(now))
        decided = await resolutions(lasting, rows, self._options)
        for how in decided.values():
            if how in UNWRITTEN:
                counts.update(_COUNTS[how])
        left = [item for item in lasting if decided[item.place] not in UNWRITTEN]
        # A dry run needs no vectors.
        written = () if self._options.validate_only else left
        vectors = await self._service.embedded(self._name.engine, written)
        return _Chunk(lines[-1].number, now, left, vectors, counts, failed, masked)

    async def _read(self, lines: Sequence[ImportLine], now: datetime) -> list[Read]:
        reading = partial(read_line, self._service.memories.settings, self._options, now)
        # A long line would block the event loop, so a thread parses it.
        if any(len(line.text or b"") > _LONG_BYTES for line in lines):
            return await asyncio.to_thread(lambda: [reading(line) for line in lines])
        return await each(lines, reading)

    async def _write(self, chunk: _Chunk) -> None:
        self._counts.add(await self._written(chunk))

    async def _written(self, chunk: _Chunk) -> _Chunk:
        """Write the memories of a chunk in one transaction; return it with the results."""
        if self._options.validate_only:
            return await self._checked(chunk)
        if chunk.items:
            async with self._service.memories.db.transaction() as session:
                engine = await engines.get(session, self._name, Lock.SHARED)
                new = await self._operation_at(session, engine, chunk.now)
                creating = Creating(self._service.memories, session, engine, new, chunk.vectors)
                results = await resolve(creating, chunk.items, self._options)
                chunk = _with_results(chunk, results)
                if any(chunk.counts[name] for name in _RECORDED):
                    if creating.keeps_no_revisions:
                        new = new.noting(revisionsDisabled=True)
                    await self._record(session, new, chunk)
                elif self._operation is None:
                    await operations.remove(session, new)
                    self._new = None
        return chunk

    async def _checked(self, chunk: _Chunk) -> _Chunk:
        """Return a chunk with the results that writing it would have."""
        service, engine_id = self._service.memories, self._name.engine
        ids = [item.memory_id for item in chunk.items if item.memory_id is not None]
        async with service.db.snapshot() as session:
            engine = await engines.get(session, self._name)
            rows = await bulk.find_all(session, engine_id, ids, memories.is_known(chunk.now))
            new = service.operation(engine, IMPORT, "ImportMemories", chunk.now)
            results: dict[int, Result] = dict(await resolutions(chunk.items, rows, self._options))
            results |= _refusals(results)
            results |= await Creating(service, session, engine, new, {}).faults(chunk.items)
            chunk = _with_results(chunk, results)
            added = sum((self._counts.done + chunk.counts)[name] for name in _ADDED)
            await check_room(session, service.settings, engine_id, Counted.MEMORIES, added)
        return chunk

    async def _operation_at(
        self, session: Session, engine: EngineRow, now: datetime
    ) -> NewOperation:
        """Return the operation with the current time; the first chunk creates or finds it."""
        if self._new is None:
            new = self._service.memories.operation(engine, IMPORT, "ImportMemories", now)
            new = replace(new, scopes=scopes_of(session))
            self._new = await self._inserted(session, new)
        return replace(self._new, now=now)

    async def _inserted(self, session: Session, new: NewOperation) -> NewOperation:
        """Insert the operation, or find the shared one, or raise NotFound if that is not kept."""
        work = self._options.work
        if work is None:
            return await operations.reserve(session, new)
        known = await idempotency.begin(session, work, new.engine_id, new.now, operation=new)
        if known is None:
            row = await operations.insert_done(session, new, _response(Counter()))
            await idempotency.finish(session, work, new.engine_id, begun=new, inserted=row)
            self._operation = row
            return replace(new, operation_id=row.operation_id)
        name = OperationName(EngineName.parse(new.engine_name), known.operation_id)
        try:
            self._operation = await operations.get(session, name, new.now)
        except NotFound:
            raise NotFound(
                f"importId: its operation {name} is no longer kept; use another id.",
                Reason.RESOURCE_NOT_FOUND,
            ) from None
        return replace(new, operation_id=known.operation_id)

    async def _record(self, session: Session, new: NewOperation, chunk: _Chunk) -> None:
        """Store the operation with the first memories; later, add to its counts."""
        if self._operation is None:
            new = new.noting(**noted(chunk.masked), **_given(chunk.counts))
            self._operation = await operations.complete(session, new, _response(chunk.counts))
            return
        # Another request of the same import may have changed the counts.
        row = await operations.lock_done(session, self._operation)
        counts = Counter({name: (row.response or {}).get(name, 0) for name in _RECORDED})
        masked = Counter(row.details.get(MASKED_COUNTS, {})) + Counter(chunk.masked)
        # Only the first memories determine the note about revisions.
        details = {**({} if any(counts.values()) else new.details), **noted(masked)}
        counts += chunk.counts
        await operations.update_done(session, row, _response(counts), details | _given(counts))

    async def _audit_empty(self) -> None:
        """Record an import without changes in the audit log."""
        async with self._service.memories.db.transaction() as session:
            await engines.get(session, self._name)

    def _with_counts(self, error: ServiceError) -> ServiceError:
        numbers = {"lines": self._counts.lines, **self._counts.numbers()}
        counts = {to_camel(name): str(number) for name, number in numbers.items()}
        return type(error)(
            error.message,
            error.reason,
            violations=error.violations,
            metadata={**error.metadata, **counts},
            retry_after_seconds=error.retry_after_seconds,
            http=error.http_status,
        )

    def _answer(self) -> ImportMemoriesResponse:
        return ImportMemoriesResponse(
            **self._counts.numbers(),
            errors=self._counts.errors,
            operation=self._operation and self._operation.name,
        )


def _response(counts: Counter[str]) -> dict[str, object]:
    return {
        "@type": type_url("ImportMemoriesResponse"),
        **{name: counts[name] for name in _RECORDED},
    }


def _given(counts: Mapping[str, int]) -> dict[str, object]:
    return given(sum(counts[name] for name in _RECORDED))


def _with_results(chunk: _Chunk, results: Mapping[int, Resolution | ServiceError]) -> _Chunk:
    counts, failed = Counter(chunk.counts), dict(chunk.failed)
    for line, result in results.items():
        if isinstance(result, Resolution):
            counts.update(_COUNTS[result])
        else:
            failed[line] = result
    return replace(chunk, counts=counts, failed=failed)


def _resolution(row: MemoryRow | None, item: BulkItem, options: ImportOptions) -> Resolution:
    """Decide the effect of a line on the live or recoverable memory with its id."""
    if row is None:
        return Resolution.CREATE
    wanted = item.request
    # Scope and type of a memory never change.
    if row.scope != wanted.scope or row.memory_type != stored_type(wanted.memory_type):
        return Resolution.REFUSE
    if row.delete_time is not None:
        return Resolution.RESTORE if options.may_restore else Resolution.REFUSE
    content = wanted.content()
    # Expiry and times are not compared; the provenance is derived from the content.
    if all(getattr(row, name) == content[name] for name in _CONTENT):
        return Resolution.SKIP
    return Resolution.OVERWRITE if options.overwrite else Resolution.KEEP


Result = Resolution | ServiceError
"""Effect of a line, or the error that prevented it."""


async def resolve(
    creating: Creating, items: Sequence[BulkItem], options: ImportOptions
) -> dict[int, Result]:
    """Write the memories of lines; return the effects by line number.

    A line with the id of an earlier line applies to the memory that the earlier line wrote.

    Raises:
        ResourceExhausted: the engine has no room for all memories.
    """
    results: dict[int, Result] = {}
    while items:
        again = {item.place for item in repeated(items)}
        first = [item for item in items if item.place not in again]
        results |= await _write(creating, first, options)
        items = [item for item in items if item.place in again]
    return results


async def _write(
    creating: Creating, items: Sequence[BulkItem], options: ImportOptions
) -> dict[int, Result]:
    """Write the memories of lines with distinct ids."""
    session, engine_id = creating.session, creating.engine.engine_id
    is_known = memories.is_known(creating.new.now)
    ids = [item.memory_id for item in items if item.memory_id is not None]
    # Locked before any insert, so that two imports cannot deadlock.
    locked = await memories.lock(session, engine_id, ids, is_known) if ids else ()
    rows = {row.memory_id: row for row in locked}
    results: dict[int, Result] = dict(await resolutions(items, rows, options))
    new = [item for item in items if results[item.place] is Resolution.CREATE]
    changed = [
        (item, rows[str(item.memory_id)]) for item in items if results[item.place] in _CHANGES
    ]
    results |= _errors(new, await creating.create(new))
    results |= _errors([item for item, _ in changed], await creating.change(changed))
    raced = [item for item in new if isinstance(results[item.place], AlreadyExists)]
    ids = [str(item.memory_id) for item in raced]
    rows = await bulk.find_all(session, engine_id, ids, is_known)
    for place, how in (await resolutions(raced, rows, options)).items():
        if how in UNWRITTEN:
            results[place] = how
    return {**results, **_refusals(results)}


def _refusals(results: Mapping[int, Result]) -> dict[int, ServiceError]:
    refused = [place for place, result in results.items() if result is Resolution.REFUSE]
    return {place: id_taken("memoryId") for place in refused}


async def resolutions(
    items: Sequence[BulkItem], rows: Mapping[str, MemoryRow], options: ImportOptions
) -> dict[int, Resolution]:
    """Return the effects of lines on the memories with their ids, by line number."""
    decided = await each(
        items, lambda item: _resolution(rows.get(item.memory_id or ""), item, options)
    )
    return {item.place: how for item, how in zip(items, decided, strict=True)}


def _errors(items: Sequence[BulkItem], outcomes: Sequence[Outcome]) -> dict[int, ServiceError]:
    return {
        item.place: outcome
        for item, outcome in zip(items, outcomes, strict=True)
        if isinstance(outcome, ServiceError)
    }
