"""Archive lines from a snapshot, and their compression; runs in a thread, since reads block."""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import uuid4

from app.adapters.db.revisions import wanted_revision
from app.kernel.errors import NotFound
from app.kernel.names import EngineName
from app.kernel.release import RELEASE
from app.memory.transfer.logic.fields import Kind
from app.memory.transfer.logic.format import REVISIONS_IN_LINE, ArchiveWriter, Header
from app.memory.transfer.logic.kinds import ARTIFACT_KINDS, KINDS, SESSION_KINDS
from app.memory.transfer.logic.memory_kinds import MEMORY, MEMORY_VECTOR, REVISION
from app.memory.transfer.logic.pace import Pace
from app.memory.transfer.store.snapshot import EngineSnapshot

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
    def kinds(self) -> list[Kind]:
        """The kinds of lines in order, without revisions, which are written with memories."""
        unwanted = {REVISION}
        unwanted |= set() if self.vectors else {MEMORY_VECTOR}
        unwanted |= set() if self.artifacts else ARTIFACT_KINDS
        unwanted |= set() if self.sessions else SESSION_KINDS
        return [kind for kind in KINDS if kind not in unwanted]


@dataclass(frozen=True)
class EngineWriting:
    """Writer of one engine's archive.

    Attributes:
        snapshot: the snapshot of the engine.
        name: the full name of the engine.
        options: the contents of the archive.
        now: the time of the snapshot.
        writer: encodes and counts the lines.
    """

    snapshot: EngineSnapshot
    name: EngineName
    options: ExportOptions
    now: datetime
    writer: ArchiveWriter

    def lines(self) -> Iterator[bytes]:
        """Yield the lines.

        Raises:
            NotFound: the engine does not exist.
        """
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

    def _rows(self, kind: Kind, engine: str) -> Iterator[bytes]:
        pace = Pace()
        for row in self.snapshot.rows(kind, pace):
            line = self.writer.add(kind, kind.encode(row, engine=engine))
            pace.note(len(line))
            yield line

    def _memories(self) -> Iterator[bytes]:
        """Yield the lines of memories and their revisions, which two cursors read in one order."""
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
        """Yield the revisions of one memory."""
        while self._next is not None and self._next["memoryId"] == memory_id:
            revision, self._next = self._next, next(self._encoded, None)
            self._pace.note(len(revision.get("fact", "")))
            yield revision


def compressed(lines: Iterator[bytes]) -> Iterator[bytes]:
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
