"""Lines of the archive format `open-memory-bank/1`, and the writer of an archive.

An archive is gzip of NDJSON: a header, lines of the kinds in `kinds.py`, and a trailer. A check
line with a digest ends each block. A reader therefore buffers at most one block before it knows
that the block is intact. The engine's line has number 1; the header and the checks have no number.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from app.kernel.errors import InvalidArgument, Reason
from app.kernel.release import RELEASE
from app.memory.transfer.logic.fields import LineKind, read_time, write_time
from app.memory.transfer.logic.kinds import MEMORY, REVISION

FORMAT = "open-memory-bank/1"
MEDIA_TYPE = "application/gzip"
NDJSON_TYPE = "application/x-ndjson"
HEADER, CHECK, TRAILER = "header", "check", "trailer"
BLOCK_LINES = 250
BLOCK_BYTES = 1024**2
"""A block ends with the line that reaches either limit."""
MAX_LINE_BYTES = 64 * 1024**2
REVISIONS = "revisions"
"""Field of a memory's line with its revisions, sorted by version."""
REVISIONS_IN_LINE = 100
"""Maximum number of revisions in a memory's line; further ones follow as separate lines."""
_HEADER_TEXTS = ("archiveId", "release", "schemaRevision", "engine")
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_MEMORY_ID = "memoryId"
SHOWN_CHARS = 40
"""Maximum length of text from an archive that an error repeats."""


@dataclass(frozen=True)
class Header:
    """The first line, with the origin of the archive. No digest covers it.

    Attributes:
        export_time: the time of the snapshot.
        embedding_model: the model that served the engine; None: the engine had no vectors.
        dimensions: the length of that model's vectors.
        options: the options of the export: `vectors`, `artifacts`, `sessions`.
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
        fields = {
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
        return {name: value for name, value in fields.items() if value is not None}

    @classmethod
    def read(cls, line: Mapping[str, Any]) -> "Header":
        """Build a header from a line, or raise ValueError, naming a missing or mistyped field."""
        texts = {name: line.get(name) for name in _HEADER_TEXTS}
        if wrong := [name for name, value in texts.items() if not isinstance(value, str)]:
            raise ValueError(f"{wrong[0]}: must be a text")
        if str(UUID(line["archiveId"])) != line["archiveId"]:
            raise ValueError("archiveId: must be a UUID")
        model, dimensions = line.get("embeddingModel"), line.get("dimensions")
        if not isinstance(model, str | None) or not isinstance(dimensions, int | None):
            raise ValueError("embeddingModel, dimensions: must be a text and a number")  # noqa: TRY004 - `ValueError` is documented
        options = line.get("options")
        if not isinstance(options, dict):
            raise ValueError("options: must be an object")  # noqa: TRY004 - `ValueError` is documented
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


@dataclass(frozen=True)
class Trailer:
    """The last line; `left` has `{"count", "reason"}` of the rows that were left out, by name."""

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
    """Return a line with its newline; the caller has sorted `fields`."""
    return _JSON.encode({"kind": kind, **fields}).encode() + b"\n"


def memory_fields(
    memory: Mapping[str, Any], revisions: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the encoded fields of a memory's line, which contains the first revisions."""
    inner = [
        {name: value for name, value in revision.items() if name != _MEMORY_ID}
        for revision in revisions
    ]
    return dict(sorted({**memory, REVISIONS: inner}.items()))


def revisions_of(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of the revisions in a memory's line, with the id of the memory.

    Raises:
        ValueError: the revisions are not a list of objects, or are too many.
    """
    inner = line.get(REVISIONS)
    if not isinstance(inner, list) or not all(isinstance(item, dict) for item in inner):
        raise ValueError(f"{REVISIONS}: must be a list of objects")
    if len(inner) > REVISIONS_IN_LINE:
        raise ValueError(f"{REVISIONS}: must have at most {REVISIONS_IN_LINE}")
    return [{**revision, _MEMORY_ID: line.get(_MEMORY_ID)} for revision in inner]


@dataclass
class Tally:
    """Counts and digests of an archive's lines, by kind and for the open block."""

    lines: int = 0
    block_lines: int = 0
    block_bytes: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    _of_kinds: dict[str, Any] = field(default_factory=dict)
    _of_block: Any = field(default_factory=hashlib.sha256)

    def add(self, kind: str, line: bytes) -> None:
        """Count a line, including its newline."""
        self.lines += 1
        self.block_lines += 1
        self.block_bytes += len(line)
        self.counts[kind] += 1
        self._of_kinds.setdefault(kind, hashlib.sha256()).update(line)
        self._of_block.update(line)

    @property
    def is_block_full(self) -> bool:
        """True if a check line must follow."""
        return self.block_lines >= BLOCK_LINES or self.block_bytes >= BLOCK_BYTES

    def end_block(self) -> dict[str, Any]:
        """Return the fields of the open block's check line, and begin the next block."""
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
    """Encoder of an archive's lines; the caller compresses them.

    Call `header` once, then `add` for each line in the order of kinds and keys, then `end`.
    """

    def __init__(self) -> None:
        self._tally = Tally()

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of lines of each kind so far."""
        return self._tally.counts

    def header(self, header: Header) -> bytes:
        """Return the first line."""
        return line_of(HEADER, header.wire())

    def add(self, kind: LineKind, fields: Mapping[str, Any]) -> bytes:
        """Return a line, followed by a check line if it ends a block."""
        return self._added(kind, line_of(kind.name, fields))

    def _added(self, kind: LineKind, line: bytes) -> bytes:
        if len(line) > MAX_LINE_BYTES:
            raise ValueError(f"A line of the kind {kind.name} has more than {MAX_LINE_BYTES} bytes")
        self._tally.add(kind.name, line)
        if self._tally.is_block_full:
            line += line_of(CHECK, self._tally.end_block())
        return line

    def add_memory(
        self, memory: Mapping[str, Any], revisions: Sequence[Mapping[str, Any]]
    ) -> bytes:
        """Return the line of a memory with its revisions, and any check lines."""
        # Later revisions become separate lines if the memory's line would be too long.
        kept = len(revisions)
        while True:
            line = line_of(MEMORY.name, memory_fields(memory, revisions[:kept]))
            if len(line) <= MAX_LINE_BYTES or not kept:
                break
            kept //= 2
        further = (self.add_revision(revision) for revision in revisions[kept:])
        return self._added(MEMORY, line) + b"".join(further)

    def add_revision(self, revision: Mapping[str, Any]) -> bytes:
        """Return the line of a revision that does not fit into its memory's line."""
        return self.add(REVISION, revision)

    def end(self, left: Mapping[str, Mapping[str, Any]]) -> bytes:
        """Return the last check line and the trailer."""
        check = line_of(CHECK, self._tally.end_block()) if self._tally.block_lines else b""
        return check + line_of(TRAILER, self._tally.trailer(left).wire())


# Errors of archives that cannot be read -----------------------------------------------------------


def invalid(message: str, **metadata: object) -> InvalidArgument:
    """Return the error of an archive that is damaged, changed or in a wrong order."""
    return InvalidArgument(message, Reason.ARCHIVE_INVALID, metadata=_texts(metadata))


class RefusedArchive(InvalidArgument):
    """Error of an intact archive with a value that no release stores; a retry fails again."""


def refused(message: str, **metadata: object) -> RefusedArchive:
    """Return the error of an intact archive with a value that no release stores."""
    return RefusedArchive(message, Reason.ARCHIVE_INVALID, metadata=_texts(metadata))


def _texts(metadata: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in metadata.items()}


def truncated(lines: int) -> InvalidArgument:
    """Return the error of an archive that ends early, after `lines` lines."""
    return InvalidArgument(
        f"The archive is cut after line {lines}: it has no trailer.",
        Reason.ARCHIVE_TRUNCATED,
        metadata={"lines": str(lines)},
    )


def unknown(what: str, release: object) -> InvalidArgument:
    """Return the error of an archive with content that this release does not know.

    `what` is the content, as the object of "The archive has"; `release` wrote the archive.
    """
    named = release[:SHOWN_CHARS] if isinstance(release, str) else "later"
    return InvalidArgument(
        f"The archive has {what}: it needs the release {named} or a later one; this is {RELEASE}.",
        Reason.ARCHIVE_FORMAT_UNKNOWN,
        metadata={"release": named},
    )
