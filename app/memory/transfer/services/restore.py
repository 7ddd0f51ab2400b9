"""Restore of an engine from an archive stream, a few verified blocks per transaction.

If a restore is interrupted, the client sends the same archive again from its start: written lines
are read and hashed again. The next blocks are read while the previous ones are being written.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from app.adapters.concurrency import WriteBehind
from app.adapters.db.clock import database_now
from app.adapters.db.session import Session
from app.adapters.llm.embedders import SUCCESSORS
from app.adapters.resources import Resources
from app.kernel.auth import Reach
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import (
    Aborted,
    FailedPrecondition,
    InvalidArgument,
    Reason,
    ServiceError,
)
from app.kernel.limits import Counted
from app.kernel.names import EngineName
from app.memory.erasures import store as erasures
from app.memory.erasures.services.erasures import UNDER_WAY
from app.memory.memories.logic.restored import AHEAD
from app.memory.memories.services.embedding import EngineEmbedding
from app.memory.transfer.logic.checking import LineChecks
from app.memory.transfer.logic.format import Header, RefusedArchive, Trailer, refused
from app.memory.transfer.logic.kinds import ARTIFACT, ENGINE, KINDS, MEMORY, PAGE, SESSION, USAGE
from app.memory.transfer.logic.reading import ArchiveReader, Block, Line
from app.memory.transfer.logic.tallying import PassedLines, Recovery, warnings_of
from app.memory.transfer.schemas import RestoreReasoningEngineResponse, VectorsUse
from app.memory.transfer.store import writing
from app.memory.transfer.store.writing import RestoreState, Target
from app.platform.engines.logic.config import search_language
from app.platform.engines.services.engine_cache import EngineCache, RestoringEngines
from app.platform.engines.services.engines import warn_of_encryption
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import EngineRow, config_of, name_of
from app.platform.limits.services.quotas import check_held
from app.platform.operations.store import idempotency

Charge = Callable[[], Awaitable[None]]
"""Callback that charges a block to the rate limits, and waits until they allow it."""

_TOGETHER_BYTES = 1024**2
"""Size in bytes at which blocks read during a write are written together."""
_MERGED_BYTES = 8 * 1024**2
"""Maximum size in bytes of the blocks from the first usage line on; it suffices for decades."""
_QUOTAS = {
    MEMORY.name: (Counted.MEMORIES, Counted.BYTES),
    SESSION.name: (Counted.SESSIONS, Counted.BYTES),
    "event": (Counted.EVENTS, Counted.BYTES),
    "streamEvent": (Counted.EVENTS, Counted.BYTES),
    "summary": (Counted.BYTES,),
    "revision": (Counted.BYTES,),
    ARTIFACT.name: (Counted.ARTIFACT_BYTES,),
    PAGE.name: (Counted.ARTIFACT_BYTES,),
}


@dataclass(frozen=True)
class RestoreRequest:
    """The parameters of a request to restore.

    Attributes:
        extends_recovery: True extends open recovery windows by the time since the export.
        reach: the engines that may be disclosed to the caller.
        once: returns the key for the stored response of the archive with a given id.
        record_end: records the end of the restore in the audit log, in the same transaction.
    """

    engine: EngineName
    extends_recovery: bool
    reach: Reach
    once: Callable[[str], IdempotencyKey]
    record_end: Callable[[Session], Awaitable[None]]


@dataclass(frozen=True)
class _Refusal:
    """Rollback of a refused archive, in batches; the next restore completes an interrupted one."""

    resources: Resources

    async def take_back(self, name: EngineName, archive_id: str) -> None:
        async with self.resources.db.transaction() as session:
            row = await engines.get(session, name, Lock.EXCLUSIVE, even_restoring=True)
            state = RestoreState.of(row)
            if state is None or state.archive_id != archive_id:
                return
            await writing.advance(session, name.engine, replace(state, next_line=0))
        await self.finish(name)

    async def finish(self, name: EngineName) -> None:
        while await self._removes_more(name):
            pass
        EngineCache.of(self.resources).forget(name.engine)

    async def _removes_more(self, name: EngineName) -> bool:
        """Remove a batch; return False once the engine has its former state."""
        async with self.resources.db.transaction() as session:
            row = await engines.get(session, name, Lock.EXCLUSIVE, even_restoring=True)
            state = RestoreState.of(row)
            if state is None or not state.is_refused:
                return False
            if await self._removed(session, name.engine):
                return True
            await writing.reopen(session, row, state, self.resources.clock.now())
            return False

    async def _removed(self, session: Session, engine_id: int) -> int:
        limit = self.resources.settings.tuning.sweep_batch_rows
        for archived in self.resources.registry.archived:
            if archived.remove is not None and (
                count := await archived.remove(session, engine_id, limit)
            ):
                return count
        return await writing.remove_replaced(session, engine_id)


class Restore:
    """One restore, with a database that is limited to the caller's rows.

    `charge` is called before each block except the first, which the request has paid for.
    """

    def __init__(self, resources: Resources, wanted: RestoreRequest, charge: Charge) -> None:
        self._resources = resources
        self._wanted = wanted
        self._charge = charge
        self._embedding = EngineEmbedding.of(resources)
        self._name = wanted.engine
        self._header: Header | None = None
        self._state: RestoreState | None = None
        self._known: RestoreReasoningEngineResponse | None = None
        """Response of an earlier, completed restore of this archive."""
        self._passed: PassedLines | None = None
        self._read: list[Block] = []
        """Blocks that are read but not yet being written."""
        self._is_merging = False
        """True after a block with usage lines, which come last. They are merged with the engine's
        own usage. This cannot be undone, so they are written at the end."""
        # In parts: the audit log has one event for the restore, even if its removal takes many
        # transactions.
        self._refusal = _Refusal(replace(resources, db=resources.db.in_parts()))
        self._writing = WriteBehind()

    async def run(self, pieces: AsyncIterator[bytes]) -> RestoreReasoningEngineResponse:
        """Write the archive; return the response once the trailer is verified.

        Raises:
            Aborted: another archive is being restored into the engine.
            FailedPrecondition: the engine is not empty.
            InvalidArgument: the archive is damaged, incomplete, or from a later release.
            RefusedArchive: the archive has a value that no release stores. All its rows are
                removed again.
            ResourceExhausted: a quota is reached; the restore can continue once it is raised.
        """
        async with self._resources.db.snapshot() as session:
            row = await engines.get(session, self._wanted.engine, even_restoring=True)
            latest = await database_now(session) + AHEAD
        self._name = name_of(row)
        registry = self._resources.registry
        parts = registry.archived
        rows = {kind: row for part in parts for kind, row in part.rows.items()}
        answers = {kind: answer for part in parts for kind, answer in part.answers.items()}
        checks = LineChecks(rows, answers, registry.answers, latest)
        reader = ArchiveReader(str(self._name), checks)
        try:
            await self._read_all(reader, pieces)
            trailer = reader.end()
            if self._known is not None:
                return self._known
            try:
                return await self._finish(trailer, reader.passed_over, checks.converted)
            except RefusedArchive as error:
                held = [line for block in self._read for line in block.lines]
                raise await self._located(held, error) from error
        except RefusedArchive:
            await self._writing.settle()
            if reader.header is not None:
                await self._refusal.take_back(self._name, reader.header.archive_id)
            raise
        finally:
            await self._writing.settle()

    async def _read_all(self, reader: ArchiveReader, pieces: AsyncIterator[bytes]) -> None:
        async for piece in pieces:
            blocks = reader.feed(piece)
            # In a thread, since parsing would block the event loop.
            while (block := await asyncio.to_thread(next, blocks, None)) is not None:
                await self._take(reader, block)
        # Lines of an incomplete archive are written too: the next request can skip them.
        if not self._is_merging:
            await self._write_read()
        await self._writing.end()

    async def _take(self, reader: ArchiveReader, block: Block) -> None:
        if self._header is None:
            assert reader.header is not None
            self._header = reader.header
            self._state = await self._begin(reader.header)
            self._passed = PassedLines(
                self._resources.clock.now(), self._windows(reader.header, self._state)
            )
        else:
            await self._charge()
        if self._passed is not None:
            self._passed.add(block)
        if not self._is_merging and block.lines[-1].kind is USAGE:
            await self._write_read()
            self._is_merging = True
        if self._state is not None and block.last >= self._state.next_line:
            self._read.append(block)
        size = sum(read.size for read in self._read)
        if self._is_merging and size > _MERGED_BYTES:
            raise refused(f"Line {block.first} ({USAGE.name}): too many days and models.")
        if not self._is_merging and (size >= _TOGETHER_BYTES or not self._writing.is_busy):
            await self._write_read()

    async def _write_read(self) -> None:
        blocks, self._read = self._read, []
        if blocks:
            await self._writing.start(self._write(blocks))

    async def _begin(self, header: Header) -> RestoreState | None:
        """Begin or continue the restore; return its state, or None if it has already ended."""
        await self._refusal.finish(self._name)
        async with self._resources.db.transaction() as session:
            row = await engines.get(session, self._name, Lock.EXCLUSIVE, even_restoring=True)
            state = RestoreState.of(row)
            if state is not None:
                _check_same(self._name, state, header)
                return state
            if not await writing.is_empty(session, row.engine_id):
                self._known = await self._answered(session, header)
                return None
            await writing.remove_replaced(session, row.engine_id)
            begin, before = await database_now(session), writing.fields_before(row)
            state = RestoreState(header.archive_id, 1, begin, before, row.embedding_model)
            row = await writing.begin(session, row, state)
            await self._adopt(session, row, header)
        EngineCache.of(self._resources).forget(self._name.engine)
        RestoringEngines.of(self._resources).note(self._name.engine)
        return state

    async def _answered(self, session: Session, header: Header) -> RestoreReasoningEngineResponse:
        """Return the stored response of this archive's restore, or raise FailedPrecondition."""
        # The caller may have missed the response. Without one, the engine's data has
        # another origin.
        once = self._wanted.once(header.archive_id)
        known = await idempotency.seen(session, once, self._name.engine)
        if known is not None:
            answer = known.answer
            return RestoreReasoningEngineResponse.model_validate(answer)
        raise FailedPrecondition(
            f"{self._name} is not empty: a restore needs an engine without memories (deleted ones"
            " that can be recovered count), sessions, artifacts, streams and open operations.",
            Reason.ENGINE_NOT_EMPTY,
        )

    async def _adopt(self, session: Session, row: EngineRow, header: Header) -> None:
        """Make the archive's model serve the engine if the archived vectors can be used."""
        model_id, length = header.embedding_model, header.dimensions
        if not header.options.get("vectors") or model_id is None or length is None:
            return
        serving = self._embedding.serving(row)
        known = await engines.find_length(session, serving)
        # No digest covers the header, and all engines share a model's vector length. The length
        # therefore must be known already.
        if serving in {model_id, SUCCESSORS.get(model_id)} and known == length:
            await engines.adopt_model(session, row.engine_id, model_id, length)

    async def _write(self, blocks: Sequence[Block]) -> None:
        header = self._header
        assert header is not None
        lines: Sequence[Line] = []
        try:
            async with self._resources.db.in_parts().transaction() as session:
                row = await engines.get(session, self._name, Lock.EXCLUSIVE, even_restoring=True)
                state = RestoreState.of(row)
                if state is None:
                    # Another request has ended the restore, such as one whose client was killed.
                    self._state, self._known = None, await self._answered(session, header)
                    return
                _check_same(self._name, state, header)
                lines = _left(blocks, state)
                await self._write_lines(session, row, state, lines)
        except RefusedArchive as error:
            raise await self._located(lines, error) from error

    async def _write_lines(
        self, session: Session, row: EngineRow, state: RestoreState, lines: Sequence[Line]
    ) -> RestoreState:
        if not lines:
            return state
        assert self._header is not None
        if lines[0].kind is ENGINE:
            row = await writing.write_engine(session, row.engine_id, lines[0])
            if row.encryption_spec is not None:
                warn_of_encryption([row.engine_id])
        await writing.write(session, self._target(row, state, self._header), lines)
        await self._check_quotas(session, lines)
        state = replace(state, next_line=lines[-1].number + 1)
        await writing.advance(session, row.engine_id, state)
        return state

    async def _located(self, lines: Sequence[Line], error: RefusedArchive) -> RefusedArchive:
        """Write each line separately; return the error of the first one that cannot be stored."""
        assert self._header is not None
        try:
            async with self._resources.db.in_parts().transaction() as session:
                row = await engines.get(session, self._name, Lock.EXCLUSIVE, even_restoring=True)
                state = RestoreState.of(row)
                if state is not None:
                    target = self._target(row, state, self._header)
                    for line in lines:
                        await writing.write(session, target, [line])
                raise error
        except RefusedArchive as refusal:
            return refusal

    def _target(self, row: EngineRow, state: RestoreState, header: Header) -> Target:
        uses_vectors = self._uses_vectors(row, header)
        return Target(
            name=self._name,
            language=search_language(config_of(row)),
            model_id=header.embedding_model if uses_vectors else None,
            windows=self._windows(header, state),
            now=self._resources.clock.now(),
        )

    def _windows(self, header: Header, state: RestoreState | None) -> Recovery:
        if state is None or not self._wanted.extends_recovery:
            return Recovery(header.export_time, timedelta())
        return Recovery(header.export_time, max(timedelta(), state.start_time - header.export_time))

    def _uses_vectors(self, row: EngineRow, header: Header) -> bool:
        is_serving = row.embedding_model is not None
        has_vectors = bool(header.options.get("vectors"))
        return is_serving and has_vectors and row.embedding_model == header.embedding_model

    async def _check_quotas(self, session: Session, lines: Sequence[Line]) -> None:
        kinds = {line.kind.name for line in lines}
        for quota in dict.fromkeys(quota for kind in kinds for quota in _QUOTAS.get(kind, ())):
            await check_held(session, self._resources.settings, self._name.engine, quota)

    async def _finish(
        self, trailer: Trailer, passed_over: Mapping[str, int], converted: Mapping[str, int]
    ) -> RestoreReasoningEngineResponse:
        header, passed, resources = self._header, self._passed, self._resources
        assert header is not None
        assert passed is not None
        has_erased = await self._has_erased(header)
        async with resources.db.in_parts().transaction() as session:
            row = await engines.get(session, self._name, Lock.EXCLUSIVE, even_restoring=True)
            state = RestoreState.of(row)
            if state is None:
                return await self._answered(session, header)
            _check_same(self._name, state, header)
            state = await self._write_lines(session, row, state, _left(self._read, state))
            if state.next_line != trailer.lines + 1:
                raise InvalidArgument(
                    f"The archive ends at line {trailer.lines}, but line {state.next_line} is"
                    " next.",
                    Reason.ARCHIVE_INVALID,
                )
            await _complete(resources, session, row)
            used = VectorsUse.USED if self._uses_vectors(row, header) else VectorsUse.EMBEDDING
            now = resources.clock.now()
            await writing.finish(session, row.engine_id, now)
            answer = RestoreReasoningEngineResponse(
                counts={kind.name: trailer.counts.get(kind.name, 0) for kind in KINDS},
                vectors=used,
                past_recovery=passed.recovery,
                past_expiry=passed.expiry,
                converted=dict(sorted(converted.items())),
                warnings=warnings_of(header, trailer, passed_over, has_erased=has_erased),
            )
            once = self._wanted.once(header.archive_id)
            await idempotency.begin(session, once, row.engine_id, now, answer=answer.wire())
            await self._wanted.record_end(session)
        EngineCache.of(resources).forget(self._name.engine)
        return answer

    async def _has_erased(self, header: Header) -> bool:
        """Return True if the archive may contain data that was erased after the export."""
        try:
            archived = EngineName.parse(header.engine)
        except ServiceError:
            return False
        if not self._wanted.reach.has_engine(archived):
            return False
        async with self._resources.db.in_parts().snapshot() as session:
            return await erasures.has_any(session, archived, header.export_time - UNDER_WAY)


def _left(blocks: Sequence[Block], state: RestoreState) -> Sequence[Line]:
    left = [block for block in blocks if block.last >= state.next_line]
    if left and left[0].first != state.next_line:
        raise InvalidArgument(
            f"The archive goes on at line {state.next_line}, where no block begins.",
            Reason.ARCHIVE_INVALID,
        )
    return [line for block in left for line in block.lines]


async def _complete(resources: Resources, session: Session, row: EngineRow) -> None:
    """Derive the data that archives leave out, or raise RefusedArchive on contradictions."""
    try:
        for complete in resources.registry.restored:
            await complete(resources, session, row)
    except InvalidArgument as error:
        raise refused(error.message) from error


def _check_same(name: EngineName, state: RestoreState, header: Header) -> None:
    if state.is_refused:
        raise refused("The archive was refused by another request.")
    if state.archive_id != header.archive_id:
        raise Aborted(
            f"The archive {state.archive_id} is being restored into {name}, not"
            f" {header.archive_id}; send that one, or delete the engine.",
            Reason.ARCHIVE_MISMATCH,
            metadata={"restoring": state.archive_id, "sent": header.archive_id},
        )
