"""Division of a byte stream into lines, and of lines into chunks for one transaction (pure)."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from io import BytesIO

from app.kernel.errors import ServiceError

MAX_LINE_BYTES = 2 * 1024 * 1024
"""Maximum length of a line; no valid memory is longer in any JSON encoding."""
CHUNK_LINES = 250
CHUNK_BYTES = 1024 * 1024
"""Minimum size of a chunk, except for the last one or one with `CHUNK_LINES` lines."""


@dataclass(frozen=True)
class ImportLine:
    """A non-blank line with its number from 1; `text` is None if the line is too long."""

    number: int
    text: bytes | None


class Lines:
    """Line splitter that buffers an incomplete last line, and drops the text of too long lines."""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._rest = BytesIO()
        self._is_too_long = False
        self._number = 0

    def feed(self, piece: bytes) -> Iterator[ImportLine]:
        """Add a piece; yield the lines that end in it."""
        *ended, rest = piece.split(b"\n")
        for text in ended:
            yield from self._end(text)
        self._add(rest)

    def end(self) -> Iterator[ImportLine]:
        """Yield the last line, which may lack a line break."""
        yield from self._end(b"")

    def _add(self, text: bytes) -> None:
        self._is_too_long = self._is_too_long or self._rest.tell() + len(text) > self._max_bytes
        if self._is_too_long:
            self._rest = BytesIO()
        else:
            self._rest.write(text)

    def _end(self, text: bytes) -> Iterator[ImportLine]:
        self._add(text)
        whole, is_too_long = self._rest.getvalue(), self._is_too_long
        self._rest, self._is_too_long = BytesIO(), False
        self._number += 1
        if is_too_long:
            yield ImportLine(self._number, None)
        elif not whole.isspace() and whole:
            yield ImportLine(self._number, whole)


async def chunked(pieces: AsyncIterator[bytes]) -> AsyncIterator[list[ImportLine]]:
    """Yield lines in chunks; raise the error of an interruption after the lines before it."""
    lines, chunk = Lines(), _Chunk()
    broken_off: ServiceError | None = None
    try:
        async for piece in pieces:
            for line in lines.feed(piece):
                if chunk.add(line):
                    yield chunk.take()
        for line in lines.end():
            chunk.add(line)
    except ServiceError as error:
        broken_off = error
    if chunk.lines:
        yield chunk.take()
    if broken_off is not None:
        raise broken_off


class _Chunk:
    def __init__(self) -> None:
        self.lines: list[ImportLine] = []
        self._bytes = 0

    def add(self, line: ImportLine) -> bool:
        self.lines.append(line)
        self._bytes += len(line.text or b"")
        return len(self.lines) >= CHUNK_LINES or self._bytes >= CHUNK_BYTES

    def take(self) -> list[ImportLine]:
        taken, self.lines, self._bytes = self.lines, [], 0
        return taken
