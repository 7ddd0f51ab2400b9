"""Lines of the archive format `open-memory-bank/1`, and the writer of an archive.

An archive is gzip of NDJSON: a header, lines of the kinds of `kinds.py`, a trailer. A check line
with a digest ends each block, so that a reader keeps little until it knows that what it has read is
intact. Numbers of lines count from the engine's line as 1, without the header and the checks.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from app.memory.transfer.logic.codecs import read_time, write_time
from app.memory.transfer.logic.fields import Kind
from app.memory.transfer.logic.memory_kinds import MEMORY, REVISION

FORMAT = "open-memory-bank/1"
MEDIA_TYPE = "application/gzip"
NDJSON_TYPE = "application/x-ndjson"
HEADER, CHECK, TRAILER = "header", "check", "trailer"
BLOCK_LINES = 250
BLOCK_BYTES = 1024**2
"""A block ends with the line that brings it to as many lines, or as many bytes."""
MAX_LINE_BYTES = 64 * 1024**2
REVISIONS = "revisions"
"""The field of a memory's line with its revisions, in the order of their versions."""
REVISIONS_IN_LINE = 100
"""Revisions in the line of their memory; further ones follow as lines of their own."""


@dataclass(frozen=True)
class Header:
    """The first line: what the archive is, and from where. No digest covers it.

    Attributes:
        archive_id: a UUID.
        release: of the service that wrote it.
        schema_revision: of the database that it was read from.
        engine: the full name of the engine.
        export_time: the moment that the archive shows.
        embedding_model: the model that served the engine; None: it had no vector.
        dimensions: the length of that model's vectors.
        options: of the export: `vectors`, `artifacts`, `sessions`.
    """

    archive_id: str
    release: str
    schema_revision: str
    engine: str
    export_time: datetime
    embedding_model: str | None
    dimensions: int | None
    options: Mapping[str, bool]

    def wire(self) -> dict[str, Any]:
        """Return the fields of the line."""
        told = {
            "archiveId": self.archive_id,
            "dimensions": self.dimensions,
            "embeddingModel": self.embedding_model,
            "engine": self.engine,
            "exportTime": write_time(self.export_time),
            "format": FORMAT,
            "options": dict(sorted(self.options.items())),
            "release": self.release,
            "schemaRevision": self.schema_revision,
        }
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def read(cls, line: Mapping[str, Any]) -> "Header":
        """Build it from the fields of the line.

        Raises:
            ValueError: a field is missing or has another type; the message names it.
        """
        # `ValueError` for any of them, since `reading.py` reports it as an error of the sender.
        texts = {name: line.get(name) for name in _HEADER_TEXTS}
        if wrong := [name for name, value in texts.items() if not isinstance(value, str)]:
            raise ValueError(f"{wrong[0]}: must be a text")
        if str(UUID(line["archiveId"])) != line["archiveId"]:
            raise ValueError("archiveId: must be a UUID")
        model, dimensions = line.get("embeddingModel"), line.get("dimensions")
        if not isinstance(model, str | None) or not isinstance(dimensions, int | None):
            raise ValueError("embeddingModel, dimensions: must be a text and a number")  # noqa: TRY004 - as above
        options = line.get("options")
        if not isinstance(options, dict):
            raise ValueError("options: must be an object")  # noqa: TRY004 - as above
        return cls(
            archive_id=line["archiveId"],
            release=line["release"],
            schema_revision=line["schemaRevision"],
            engine=line["engine"],
            export_time=read_time(line.get("exportTime")),
            embedding_model=model,
            dimensions=dimensions,
            options=options,
        )


_HEADER_TEXTS = ("archiveId", "release", "schemaRevision", "engine")


@dataclass(frozen=True)
class Trailer:
    """The last line.

    Attributes:
        counts: the lines of each kind.
        sha256: the digest of the lines of each kind.
        lines: the number of all of them.
        left: what was left out, by its name: `{"count", "reason"}`.
    """

    counts: Mapping[str, int]
    sha256: Mapping[str, str]
    lines: int
    left: Mapping[str, Mapping[str, Any]]

    def wire(self) -> dict[str, Any]:
        """Return the fields of the line."""
        return {
            "counts": self.counts,
            "left": self.left,
            "lines": self.lines,
            "sha256": self.sha256,
        }


def line_of(kind: str, fields: Mapping[str, Any]) -> bytes:
    """Return a line with its end; `fields` are in their order.

    Raises:
        ValueError: a number is not finite.
    """
    return _JSON.encode({"kind": kind, **fields}).encode() + b"\n"


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def memory_fields(
    memory: Mapping[str, Any], revisions: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the fields of a memory's line, with the first of its revisions, as `encode` made both.

    The revisions in it leave out the id of the memory.
    """
    inner = [
        {name: value for name, value in revision.items() if name != _MEMORY_ID}
        for revision in revisions
    ]
    return dict(sorted({**memory, REVISIONS: inner}.items()))


_MEMORY_ID = "memoryId"


def revisions_of(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of the revisions in a memory's line, with the id of the memory.

    Raises:
        ValueError: they are no list of objects.
    """
    inner = line.get(REVISIONS)
    if not isinstance(inner, list) or not all(isinstance(item, dict) for item in inner):
        raise ValueError(f"{REVISIONS}: must be a list of objects")
    if len(inner) > REVISIONS_IN_LINE:
        raise ValueError(f"{REVISIONS}: must have at most {REVISIONS_IN_LINE}")
    return [{**revision, _MEMORY_ID: line.get(_MEMORY_ID)} for revision in inner]


@dataclass
class Tally:
    """The counts and digests of the lines of an archive, by kind and of the open block."""

    lines: int = 0
    block_lines: int = 0
    block_bytes: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    _of_kinds: dict[str, Any] = field(default_factory=dict)
    _of_block: Any = field(default_factory=hashlib.sha256)

    def add(self, kind: str, line: bytes) -> None:
        """Count a line, which has its end."""
        self.lines += 1
        self.block_lines += 1
        self.block_bytes += len(line)
        self.counts[kind] += 1
        self._of_kinds.setdefault(kind, hashlib.sha256()).update(line)
        self._of_block.update(line)

    @property
    def is_block_full(self) -> bool:
        """True if a check must follow."""
        return self.block_lines >= BLOCK_LINES or self.block_bytes >= BLOCK_BYTES

    def end_block(self) -> dict[str, Any]:
        """Return the fields of the check of the open block, and begin the next one."""
        first = self.lines - self.block_lines + 1
        check = {"lines": [first, self.lines], "sha256": self._of_block.hexdigest()}
        self.block_lines = self.block_bytes = 0
        self._of_block = hashlib.sha256()
        return check

    def trailer(self, left: Mapping[str, Mapping[str, Any]]) -> Trailer:
        """Return the trailer of all lines so far."""
        digests = {kind: digest.hexdigest() for kind, digest in sorted(self._of_kinds.items())}
        counts = dict(sorted(self.counts.items()))
        return Trailer(counts, digests, self.lines, dict(sorted(left.items())))


class ArchiveWriter:
    """Makes the lines of an archive; the caller compresses them.

    Call `header` once, `add` for each line in the order of the kinds and of their keys, and `end`.
    """

    def __init__(self) -> None:
        self._tally = Tally()

    @property
    def counts(self) -> Mapping[str, int]:
        """The lines of each kind so far."""
        return self._tally.counts

    def header(self, header: Header) -> bytes:
        """Return the first line."""
        return line_of(HEADER, header.wire())

    def add(self, kind: Kind, fields: Mapping[str, Any]) -> bytes:
        """Return a line, and the check after it where it ends a block."""
        return self._added(kind, line_of(kind.name, fields))

    def _added(self, kind: Kind, line: bytes) -> bytes:
        if len(line) > MAX_LINE_BYTES:
            raise ValueError(f"A line of the kind {kind.name} has more than {MAX_LINE_BYTES} bytes")
        self._tally.add(kind.name, line)
        if self._tally.is_block_full:
            line += line_of(CHECK, self._tally.end_block())
        return line

    def add_memory(
        self, memory: Mapping[str, Any], revisions: Sequence[Mapping[str, Any]]
    ) -> bytes:
        """Return the line of a memory with its revisions, as `add` does.

        The later revisions become lines of their own where the line would be too long.
        """
        kept = len(revisions)
        while True:
            line = line_of(MEMORY.name, memory_fields(memory, revisions[:kept]))
            if len(line) <= MAX_LINE_BYTES or not kept:
                break
            kept //= 2
        further = (self.add_revision(revision) for revision in revisions[kept:])
        return self._added(MEMORY, line) + b"".join(further)

    def add_revision(self, revision: Mapping[str, Any]) -> bytes:
        """Return the line of a revision that its memory's line has no room for."""
        return self.add(REVISION, revision)

    def end(self, left: Mapping[str, Mapping[str, Any]]) -> bytes:
        """Return the last check and the trailer."""
        check = line_of(CHECK, self._tally.end_block()) if self._tally.block_lines else b""
        return check + line_of(TRAILER, self._tally.trailer(left).wire())
