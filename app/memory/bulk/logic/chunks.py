"""Cuts what comes in pieces into lines, and lines into chunks that are written together (pure)."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from io import BytesIO

from app.kernel.errors import ServiceError

MAX_LINE_BYTES = 2 * 1024 * 1024
"""More than any memory has that is not refused, however it is spelt."""
CHUNK_LINES = 250
CHUNK_BYTES = 1024 * 1024
"""What a chunk has at least that is not the last, unless it has so many lines."""


@dataclass(frozen=True)
class Line:
    """A line with something in it, by its number from 1; without text, it is too long."""

    number: int
    text: bytes | None


class Lines:
    """Lines of which the last is kept until it is whole; of one that is too long, nothing is."""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._rest = BytesIO()
        self._is_too_long = False
        self._number = 0

    def feed(self, piece: bytes) -> Iterator[Line]:
        """Yield the lines that end in a piece."""
        *ended, rest = piece.split(b"\n")
        for text in ended:
            yield from self._end(text)
        self._add(rest)

    def end(self) -> Iterator[Line]:
        """Yield the last line, which needs no line break."""
        yield from self._end(b"")

    def _add(self, text: bytes) -> None:
        self._is_too_long = self._is_too_long or self._rest.tell() + len(text) > self._max_bytes
        if self._is_too_long:
            self._rest = BytesIO()
        else:
            self._rest.write(text)

    def _end(self, text: bytes) -> Iterator[Line]:
        self._add(text)
        whole, is_too_long = self._rest.getvalue(), self._is_too_long
        self._rest, self._is_too_long = BytesIO(), False
        self._number += 1
        if is_too_long:
            yield Line(self._number, None)
        elif not whole.isspace() and whole:
            yield Line(self._number, whole)


async def chunked(pieces: AsyncIterator[bytes]) -> AsyncIterator[list[Line]]:
    """Yield lines in chunks; those that are whole also where the pieces break off.

    Raises:
        ServiceError: as the pieces do.
    """
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
    """Lines that wait to be written."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._bytes = 0

    def add(self, line: Line) -> bool:
        """Add a line; return whether it is enough now."""
        self.lines.append(line)
        self._bytes += len(line.text or b"")
        return len(self.lines) >= CHUNK_LINES or self._bytes >= CHUNK_BYTES

    def take(self) -> list[Line]:
        """Return the lines, and begin anew."""
        taken, self.lines, self._bytes = self.lines, [], 0
        return taken
