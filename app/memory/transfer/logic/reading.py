"""Reader of archives: accepts bytes as they arrive and yields blocks of verified lines.

For restore:

    reader = ArchiveReader(engine=str(name))
    for data in pieces:
        for block in reader.feed(data):      # generator; takes CPU time, so step it in a thread
            ...                              # reader.header is known from the first block on
    trailer = reader.end()

`feed` yields a block once its check line has verified it. A block ends after 250 lines or 1 MiB,
whichever comes first. Restore writes whole blocks; it skips blocks before `nextLine`. A line of the
kind `revision` adds one to the memory before it. Errors are `InvalidArgument` with ARCHIVE_INVALID,
ARCHIVE_TRUNCATED or ARCHIVE_FORMAT_UNKNOWN.
"""

import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.kernel.errors import InvalidArgument
from app.kernel.release import RELEASE
from app.kernel.text import is_storable
from app.memory.transfer.logic.checking import LineChecks
from app.memory.transfer.logic.fields import LineKind
from app.memory.transfer.logic.format import (
    CHECK,
    FORMAT,
    HEADER,
    MAX_LINE_BYTES,
    REVISIONS,
    SHOWN_CHARS,
    TRAILER,
    Header,
    Tally,
    Trailer,
    invalid,
    refused,
    revisions_of,
    truncated,
    unknown,
)
from app.memory.transfer.logic.kinds import BY_NAME, MEMORY, RANKS, REVISION

_KIND = re.compile(rb'\{"kind":"(\w{1,64})"')
_NAME = re.compile(r"\w{1,64}")
_REASON_CHARS = 200
_NUMBERS = re.compile(r"[0-9]{1,9}")
_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31
_PIECE_BYTES = 256 * 1024


@dataclass(frozen=True)
class Line:
    """A line of an archive: its number (the engine's is 1), and its values by column name.

    `revisions` are the revisions of a memory by column name, sorted by version.
    """

    number: int
    kind: LineKind
    values: dict[str, Any]
    revisions: Sequence[dict[str, Any]] = ()


@dataclass(frozen=True)
class Block:
    """Lines, at least one, that a check line has verified; `size` is their unpacked length."""

    lines: Sequence[Line]
    size: int

    @property
    def first(self) -> int:
        """Number of the first line."""
        return self.lines[0].number

    @property
    def last(self) -> int:
        """Number of the last line."""
        return self.lines[-1].number


class _Unpacking:
    """Decompressor that detects gzip or plain NDJSON and yields pieces of bounded length."""

    def __init__(self) -> None:
        self._start = b""
        self._unzip: Any = None
        self._is_plain = False

    @property
    def is_ended(self) -> bool:
        """True if the gzip stream is complete; always True for NDJSON, which has no end mark."""
        return self._is_plain or (self._unzip is not None and self._unzip.eof)

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._unzip is None and not self._is_plain:
            data = self._begin(data)
        if self._is_plain:
            for start in range(0, len(data), _PIECE_BYTES):
                yield data[start : start + _PIECE_BYTES]
        elif self._unzip is not None:
            yield from self._unzipped(data)

    def _begin(self, data: bytes) -> bytes:
        """Detect the format from the first two bytes; return the bytes to unpack, or none yet."""
        data, self._start = self._start + data, b""
        if len(data) < len(_GZIP):
            self._start = data
            return b""
        if data.startswith(_GZIP):
            self._unzip = zlib.decompressobj(_GZIP_WINDOW)
        elif data.startswith(b"{"):
            self._is_plain = True
        else:
            raise invalid("The body is neither gzip nor NDJSON.")
        return data

    def _unzipped(self, data: bytes) -> Iterator[bytes]:
        is_full = False
        while data or is_full:
            if self._unzip.eof:
                raise invalid("The archive goes on after its end.")
            try:
                piece = self._unzip.decompress(data, _PIECE_BYTES)
            except zlib.error:
                raise invalid("The archive is damaged: its gzip cannot be unpacked.") from None
            # A full piece may leave output in zlib, which can be read without further input.
            is_full = len(piece) == _PIECE_BYTES and not self._unzip.eof
            data = self._unzip.unconsumed_tail or self._unzip.unused_data
            yield piece


class ArchiveReader:
    """Reader of one archive, gzip or plain NDJSON, in bounded memory.

    `engine` is the full name of the target engine, for the names in operations. Without `checks`,
    values are not checked, as nothing is stored. `header` and `trailer` are None until they are
    read. `passed_over` counts each unknown, ignored field of a later release.
    """

    def __init__(self, engine: str = "", checks: LineChecks | None = None) -> None:
        self.header: Header | None = None
        self.trailer: Trailer | None = None
        self.passed_over = Counter[str]()
        self._engine = engine
        self._checks = checks
        self._unpacking = _Unpacking()
        self._buffer = bytearray()
        self._searched = 0
        self._tally = Tally()
        self._block: list[bytes] = []
        self._last: tuple[int, str, tuple[Any, ...]] = (-1, "", ())

    def feed(self, data: bytes) -> Iterator[Block]:
        """Read the next bytes; yield the blocks that they complete.

        Raises:
            InvalidArgument: the archive is damaged, in a wrong order, or of a later format.
        """
        for piece in self._unpacking.feed(data):
            self._buffer += piece
            yield from self._lines()

    def end(self) -> Trailer:
        """Return the trailer after the last bytes, if the archive is complete."""
        if self.trailer is None or self._buffer or not self._unpacking.is_ended:
            raise truncated(self._tally.lines)
        return self.trailer

    def _lines(self) -> Iterator[Block]:
        start = 0
        while (end := self._buffer.find(b"\n", max(start, self._searched))) >= 0:
            block = self._take(bytes(self._buffer[start : end + 1]))
            start = end + 1
            if block is not None:
                yield block
        del self._buffer[:start]
        self._searched = len(self._buffer)
        if len(self._buffer) > MAX_LINE_BYTES:
            raise invalid(
                f"Line {self._tally.lines + 1} has more than {MAX_LINE_BYTES} bytes.",
                lines=self._tally.lines + 1,
            )

    def _take(self, line: bytes) -> Block | None:
        match = _KIND.match(line)
        kind = match[1].decode() if match else ""
        if self.trailer is not None:
            raise invalid("The archive goes on after its trailer.")
        if self.header is None:
            self._read_header(kind, line)
            return None
        if kind == CHECK:
            return self._checked(_parsed(line, "A check"))
        if kind == TRAILER:
            self._read_trailer(_parsed(line, "The trailer"))
            return None
        if self._tally.is_block_full:
            raise invalid(f"After line {self._tally.lines}, a check is missing.")
        self._tally.add(kind, line)
        self._block.append(line)
        return None

    def _read_header(self, kind: str, line: bytes) -> None:
        if kind != HEADER:
            raise invalid("The first line is no header of an archive.")
        fields = _parsed(line, "The header")
        if fields.get("format") != FORMAT:
            raise unknown(f"a format other than {FORMAT}", fields.get("release"))
        try:
            self.header = Header.read(fields)
        except ValueError as error:
            raise invalid(f"The header: {error}.") from None

    def _checked(self, check: Mapping[str, Any]) -> Block:
        first = self._tally.lines - len(self._block) + 1
        size, expected = self._tally.block_bytes, self._tally.end_block()
        if not self._block or any(check.get(name) != expected[name] for name in expected):
            raise self._damaged(first, check)
        numbered = enumerate(self._block, start=first)
        block = Block([self._decoded(number, line) for number, line in numbered], size)
        self._block = []
        return block

    def _damaged(self, first: int, check: Mapping[str, Any]) -> InvalidArgument:
        kinds = sorted({match[1].decode() for line in self._block if (match := _KIND.match(line))})
        named = f"Lines {first} to {self._tally.lines} ({', '.join(kinds) or 'no kind'})"
        covered = check.get("lines")
        if covered != [first, self._tally.lines]:
            return invalid(f"{named}: the check after them is not theirs.", lines=first)
        return invalid(
            f"{named}: their digest differs; the archive was damaged or changed.",
            lines=f"{first}-{self._tally.lines}",
            kinds=",".join(kinds),
        )

    def _decoded(self, number: int, line: bytes) -> Line:
        fields = _parsed(line, f"Line {number}")
        name = fields.pop("kind", None)
        kind = BY_NAME.get(name) if isinstance(name, str) else None
        if kind is None:
            release = None if self.header is None else self.header.release
            raise unknown(f"the kind {str(name)[:SHOWN_CHARS]!r} in line {number}", release)
        known = kind.wires | {REVISIONS} if kind is MEMORY else kind.wires
        self._check_known(number, fields, known)
        try:
            values = self._values(kind, fields)
            revisions = self._revisions(number, fields) if kind is MEMORY else []
        except (ValueError, RecursionError) as error:
            reason = "is nested too deep" if isinstance(error, RecursionError) else error
            message = f"Line {number} ({kind.name}): {reason}."
            raise refused(message, lines=number, kinds=kind.name) from None
        decoded = Line(number, kind, values, revisions)
        self._check_order(decoded)
        return decoded

    def _revisions(self, number: int, fields: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
        decoded = []
        for place, revision in enumerate(revisions_of(fields)):
            self._check_known(number, revision, REVISION.wires)
            try:
                decoded.append(self._values(REVISION, revision))
            except ValueError as error:
                raise ValueError(f"{REVISIONS}[{place}].{error}") from None
        return decoded

    def _values(self, kind: LineKind, fields: Mapping[str, Any]) -> dict[str, Any]:
        values = kind.decode(fields, engine=self._engine)
        return values if self._checks is None else self._checks.checked(kind, values)

    def _check_known(
        self, number: int, fields: Mapping[str, Any], known: frozenset[str] | set[str]
    ) -> None:
        """Count unknown fields in archives of later releases; refuse them in all others."""
        strange = fields.keys() - known
        if not strange:
            return
        release = "" if self.header is None else self.header.release
        if not is_later(release, RELEASE):
            shown = min(strange)[:SHOWN_CHARS]
            raise refused(f"Line {number}: the field {shown!r} is unknown.", lines=number)
        self.passed_over.update(strange)

    def _check_order(self, line: Line) -> None:
        """Refuse a line or revision that is not in ascending order of kind and key."""
        rows = [(line.kind, line.values), *((REVISION, revision) for revision in line.revisions)]
        for kind, values in rows:
            rank, before, last = self._last
            key = kind.key_of(values)
            if kind is REVISION:
                is_after = before in {MEMORY.name, REVISION.name} and last[:1] == key[:1]
                is_after = is_after and (before == MEMORY.name or last < key)
            elif rank == RANKS[kind.name]:
                is_after = bool(key) and last[: len(key)] < key
            else:
                is_after = rank < RANKS[kind.name] and (rank >= 0 or RANKS[kind.name] == 0)
            if not is_after:
                message = f"Line {line.number} ({line.kind.name}) is not in the order of archives."
                raise refused(message, lines=line.number, kinds=line.kind.name)
            self._last = (RANKS[kind.name], kind.name, key)

    def _read_trailer(self, fields: Mapping[str, Any]) -> None:
        if self._block:
            raise invalid(f"After line {self._tally.lines}, a check is missing.")
        left = fields.get("left")
        if not isinstance(left, dict) or not _is_well_formed(left) or not self._tally.lines:
            raise invalid("The trailer is not that of an archive.")
        expected = self._tally.trailer(left)
        for name, value in expected.wire().items():
            if fields.get(name) != value:
                raise invalid(f"The trailer: its {name} are not those of the lines before it.")
        self.trailer = expected


def _is_well_formed(left: Mapping[str, Any]) -> bool:
    # Users see the contents of `left`, so it must have the form that exports write.
    return all(
        _NAME.fullmatch(name)
        and isinstance(entry, dict)
        and isinstance(entry.get("count"), int)
        and isinstance(reason := entry.get("reason"), str)
        and reason.isprintable()
        and len(reason) <= _REASON_CHARS
        for name, entry in left.items()
    )


def is_later(release: str, other: str) -> bool:
    """Return True if a release is newer than another."""
    numbers = [list(map(int, _NUMBERS.findall(text))) for text in (release, other)]
    return numbers[0] > numbers[1]


def _parsed(line: bytes, named: str) -> dict[str, Any]:
    try:
        # Decoded first: `json.loads` accepts encoded surrogates in bytes.
        value = json.loads(line.decode(), parse_constant=_refuse, parse_float=_finite)
        # Text without escapes can always be stored: JSON refuses raw control characters.
        is_readable = b"\\u" not in line or is_storable(value)
    except (ValueError, RecursionError):
        value, is_readable = None, False
    if not is_readable:
        raise invalid(f"{named} is no JSON that an archive has.")
    if not isinstance(value, dict):
        raise invalid(f"{named} is no JSON object.")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _finite(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError("infinite")
    return number
