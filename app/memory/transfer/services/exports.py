"""Export of an engine: streams an archive of its rows from one snapshot."""

import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import uuid4

import structlog

from app.adapters.concurrency import stepped
from app.adapters.db.engine import plain_url
from app.adapters.db.own_connections import open_snapshot
from app.adapters.db.schema import wanted_revision
from app.adapters.resources import Resources
from app.kernel.errors import Cancelled, DeadlineExceeded, NotFound, Reason, ServiceError
from app.kernel.names import EngineName
from app.kernel.release import RELEASE
from app.memory.transfer.logic.fields import LineKind
from app.memory.transfer.logic.format import REVISIONS_IN_LINE, ArchiveWriter, Header
from app.memory.transfer.logic.kinds import (
    ARTIFACT_KINDS,
    KINDS,
    MEMORY,
    MEMORY_VECTOR,
    REVISION,
    SESSION_KINDS,
)
from app.memory.transfer.store.snapshot import EngineSnapshot, Pace
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import name_of
from app.platform.limits.services.rates import too_many

log = structlog.get_logger()

Ended = Callable[[ServiceError | None], Awaitable[None]]
"""Callback that records the end of an export, with the error if it failed."""

_LEVEL = 1
_GZIP_WINDOW = 31
_PART_BYTES = 64 * 1024


@dataclass(frozen=True)
class ExportOptions:
    """Optional parts of an archive, besides memories and configuration."""

    vectors: bool = False
    artifacts: bool = True
    sessions: bool = True

    def wire(self) -> dict[str, bool]:
        """Return the options by name."""
        return {"vectors": self.vectors, "artifacts": self.artifacts, "sessions": self.sessions}

    @property
    def kinds(self) -> list[LineKind]:
        """The kinds of lines in order, without revisions, which are written with memories."""
        unwanted = {REVISION}
        unwanted |= set() if self.vectors else {MEMORY_VECTOR}
        unwanted |= set() if self.artifacts else ARTIFACT_KINDS
        unwanted |= set() if self.sessions else SESSION_KINDS
        return [kind for kind in KINDS if kind not in unwanted]


class _Places:
    def __init__(self) -> None:
        self._taken = 0

    @contextmanager
    def occupied(self, most: int) -> Iterator[None]:
        if self._taken >= most:
            raise too_many("process", most)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


async def find(resources: Resources, name: EngineName) -> EngineName:
    """Return the full name of an engine."""
    async with resources.db.snapshot() as session:
        return name_of(await engines.get(session, name))


async def export(
    resources: Resources,
    name: EngineName,
    options: ExportOptions,
    ended: Ended,
    *,
    reads_sensitive: bool,
) -> AsyncIterator[bytes]:
    """Yield an archive in parts; an incomplete archive has no trailer.

    `ended` is called at the end or on failure, if any part was yielded. `reads_sensitive` includes
    the bytes of sensitive artifacts.

    Raises:
        ResourceExhausted: the process already runs the maximum number of exports.
        DeadlineExceeded: the export takes longer than the settings allow.
        Unavailable: the database fails.
    """
    writer = ArchiveWriter()
    has_begun = False
    error: ServiceError | None = Cancelled(
        "The reader of the archive has gone.", Reason.REQUEST_ABANDONED
    )
    places: _Places = resources.kept.setdefault(_Places, _Places())
    with places.occupied(resources.settings.max_exports):
        try:
            async with resources.db.translated_errors():
                parts = _parts(resources, name, options, writer, reads_sensitive=reads_sensitive)
                async for part in stepped(parts, "export"):
                    has_begun = True
                    yield part
            error = None
        except ServiceError as failure:
            error = failure
            raise
        finally:
            if has_begun:
                reason = None if error is None else error.reason
                log.info("engine.exported", engine=name.engine, counts=writer.counts, reason=reason)
                await ended(error)


def _parts(
    resources: Resources,
    name: EngineName,
    options: ExportOptions,
    writer: ArchiveWriter,
    *,
    reads_sensitive: bool,
) -> Generator[bytes, None, None]:
    """Yield an archive in parts; each step blocks its thread."""
    now, settings = resources.clock.now(), resources.settings
    seconds = settings.export_max_seconds
    ends = time.monotonic() + seconds
    with open_snapshot(_url(resources), settings, seconds) as connection:
        snapshot = EngineSnapshot(connection, name.engine, now, reads_sensitive=reads_sensitive)
        writing = _EngineWriting(snapshot, name, options, now, writer)
        for part in _compressed(writing.lines()):
            if time.monotonic() > ends:
                raise DeadlineExceeded(
                    f"The export takes longer than {seconds:g} seconds, the limit of"
                    " MEMORY_BANK_EXPORT_MAX_SECONDS.",
                    Reason.EXPORT_TOO_SLOW,
                )
            yield part


def _url(resources: Resources) -> str:
    read_url = resources.settings.read_url
    if read_url is not None and resources.db.is_primary_away:
        return plain_url(read_url.get_secret_value())
    return resources.database_url


@dataclass(frozen=True)
class _EngineWriting:
    snapshot: EngineSnapshot
    name: EngineName
    options: ExportOptions
    now: datetime
    writer: ArchiveWriter

    def lines(self) -> Iterator[bytes]:
        model = self.snapshot.model()
        if model is None:
            raise NotFound.of(self.name)
        engine = str(self.name)
        yield self.writer.header(
            Header(
                archive_id=str(uuid4()),
                release=RELEASE,
                schema_revision=wanted_revision(),
                engine=engine,
                export_time=self.now,
                embedding_model=model.model_id,
                dimensions=model.dimensions,
                options=self.options.wire(),
            )
        )
        for kind in self.options.kinds:
            yield from self._memories() if kind is MEMORY else self._rows(kind, engine)
        yield self.writer.end(self.snapshot.left_out(self.options.wire()))

    def _rows(self, kind: LineKind, engine: str) -> Iterator[bytes]:
        pace = Pace()
        for row in self.snapshot.rows(kind, pace):
            line = self.writer.add(kind, kind.encode(row, engine=engine))
            pace.note(len(line))
            yield line

    def _memories(self) -> Iterator[bytes]:
        # Two cursors read the memories and their revisions in one order.
        pace, histories = Pace(), _Histories(self.snapshot)
        for row in self.snapshot.rows(MEMORY, pace):
            memory = MEMORY.encode(row)
            revisions = histories.of(memory["memoryId"])
            line = self.writer.add_memory(memory, [*islice(revisions, REVISIONS_IN_LINE)])
            pace.note(len(line))
            yield line
            for revision in revisions:
                yield self.writer.add_revision(revision)


class _Histories:
    """Revisions of memories; the caller must request them in the order of memory ids."""

    def __init__(self, snapshot: EngineSnapshot) -> None:
        self._pace = Pace()
        self._encoded = map(REVISION.encode, snapshot.rows(REVISION, self._pace))
        self._next = next(self._encoded, None)

    def of(self, memory_id: str) -> Iterator[Mapping[str, Any]]:
        while self._next is not None and self._next["memoryId"] == memory_id:
            revision, self._next = self._next, next(self._encoded, None)
            self._pace.note(len(revision.get("fact", "")))
            yield revision


def _compressed(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines as gzip in parts; the first part has only the first line."""
    packing = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    yield packing.compress(next(lines)) + packing.flush(zlib.Z_SYNC_FLUSH)
    part = bytearray()
    for line in lines:
        part += packing.compress(line)
        if len(part) >= _PART_BYTES:
            yield bytes(part)
            part.clear()
    yield bytes(part) + packing.flush()
