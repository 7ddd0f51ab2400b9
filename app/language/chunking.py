"""Chunking of texts for search and readers (pure).

A chunk ends after a paragraph, else after a sentence, else at a space, else at any character. It
begins with the end of the previous chunk, to keep a statement across a boundary whole in one of
them. The new parts of all chunks, joined, are the text. At most about two chunks are held at once.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from app.language.tokens import CHARS_PER_TOKEN, estimate_tokens

_FULL_SHARE = 0.83
"""Share of the maximal new text from which a chunk may end; a high share means few chunks."""
_PARAGRAPH = re.compile(r"\n[ \t\r]{0,40}\n\s{0,40}")
_SENTENCE = re.compile(
    r"[.!?\u2026]{1,8}[\"'\u201d\u2019\u00bb)\]]{0,4}\s{1,40}|\n\s{0,40}"
    r"|[\u3002\uff01\uff1f\uff61\u061f\u0964\u06d4]{1,8}[\u300d\u300f\u201d\uff09]{0,4}"
)
_SPACE = re.compile(r"\s{1,40}")
_BOUNDARIES = (_PARAGRAPH, _SENTENCE, _SPACE)
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")


@dataclass(frozen=True)
class Cutting:
    """The length of chunks in tokens, and their overlap of at most half that length."""

    max_tokens: int = 400
    overlap_tokens: int = 50

    @property
    def max_chars(self) -> int:
        """The maximal length of a chunk, in characters."""
        return self.max_tokens * CHARS_PER_TOKEN

    @property
    def overlap_chars(self) -> int:
        """The maximal overlap of a chunk, in characters."""
        return min(self.overlap_tokens, self.max_tokens // 2) * CHARS_PER_TOKEN


@dataclass(frozen=True)
class Chunk:
    """The characters from `start` to `end` of a text; `n` counts from 0."""

    n: int
    start: int
    end: int
    text: str

    @property
    def tokens(self) -> int:
        """The approximate number of tokens."""
        return estimate_tokens(self.text)

    def after(self, end: int) -> str:
        """Return the text after a position in the source, such as the end of the previous chunk."""
        return self.text[max(end - self.start, 0) :]


@dataclass(frozen=True)
class Piece:
    """A chunk of an artifact's text; `ordinal` is its position among the namespace's chunks."""

    artifact: str
    ordinal: int
    chunk: Chunk


def chunks(parts: Iterable[str], cutting: Cutting | None = None) -> Iterator[Chunk]:
    """Yield the chunks of a text; an empty text has none. Linear in its length."""
    cutter = _Cutter(cutting or Cutting())
    for part in parts:
        yield from cutter.feed(part)
    yield from cutter.end()


def text_of(pieces: Iterable[Chunk]) -> Iterator[str]:
    """Yield the parts of the original text from its chunks in order."""
    end = 0
    for chunk in pieces:
        yield chunk.after(end)
        end = chunk.end


class _Cutter:
    """A buffer of the uncut text, with the overlap for the next chunk."""

    def __init__(self, cutting: Cutting) -> None:
        self._overlap = cutting.overlap_chars
        self._longest = cutting.max_chars
        # Maximum new text of a chunk, with or without a full overlap.
        self._most = self._longest - self._overlap
        self._least = max(int(self._most * _FULL_SHARE), 1)
        self._held = ""
        self._base = 0
        """The position of the buffer in the text."""
        self._begin = self._done = 0
        """Positions in the buffer: the beginning of the next chunk, and of its new text."""
        self._n = 0

    def feed(self, part: str) -> Iterator[Chunk]:
        self._held += part
        # More than one chunk: a last chunk would need no boundary.
        while len(self._held) - self._begin > self._longest:
            yield self._piece(self._boundary())
        self._held = self._held[self._begin :]
        self._base += self._begin
        self._done -= self._begin
        self._begin = 0

    def end(self) -> Iterator[Chunk]:
        if self._done < len(self._held):
            yield self._piece(len(self._held))

    def _piece(self, end: int) -> Chunk:
        begin, base = self._begin, self._base
        chunk = Chunk(self._n, base + begin, base + end, self._held[begin:end])
        self._n += 1
        self._begin, self._done = self._repeated_from(end), end
        return chunk

    def _boundary(self) -> int:
        most = self._most if self._done > self._begin else self._longest
        low, high = self._done + self._least, self._done + most
        for boundary in _BOUNDARIES:
            # A match may begin before `low`, at a space: only its end counts.
            ends = [match.end() for match in boundary.finditer(self._held, low - 1, high)]
            if ends and ends[-1] >= low:
                return ends[-1]
        return self._unjoined(high, low)

    def _repeated_from(self, end: int) -> int:
        low = max(end - self._overlap, self._begin + 1)
        if low >= end:
            return end
        for boundary in (_SENTENCE, _SPACE):
            match = boundary.search(self._held, low, end)
            if match is not None and match.end() < end:
                return match.end()
        return self._unjoined(low, low)

    def _unjoined(self, place: int, least: int) -> int:
        """Return the position, or an earlier one nearby that splits no joined sequence."""
        for nearer in range(place, max(place - 8, least), -1):
            joined = (
                self._held[nearer : nearer + 1] in _JOINERS or self._held[nearer - 1] in _JOINERS
            )
            if not joined:
                return nearer
        return place
