"""Cuts texts into the pieces that are searched and that readers are given (pure).

A piece ends after a paragraph, else after a sentence, else at a space, else anywhere, and begins
with the end of the one before it, so that what is said across a cut is whole in one of them. What
each brings that is new follows right on what the one before brought: together that is the text.

The text may come in parts of any size, of which not more is held than two pieces have.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

CHARS_PER_TOKEN = 4
_FULL_SHARE = 0.83
"""A piece ends where a boundary is once it brings this part of what it can, so that there are never
many more pieces than the text needs."""
_PARAGRAPH = re.compile(r"\n[ \t\r]{0,40}\n\s{0,40}")
_SENTENCE = re.compile(
    r"[.!?\u2026]{1,8}[\"'\u201d\u2019\u00bb)\]]{0,4}\s{1,40}|\n\s{0,40}"
    r"|[\u3002\uff01\uff1f\uff61\u061f\u0964\u06d4]{1,8}[\u300d\u300f\u201d\uff09]{0,4}"
)
_SPACE = re.compile(r"\s{1,40}")
_BOUNDARIES = (_PARAGRAPH, _SENTENCE, _SPACE)
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")


def tokens_of(text: str) -> int:
    """Return about how many tokens a text has: a quarter of its characters, rounded up."""
    return tokens_in(len(text))


def tokens_in(length: int) -> int:
    """Return about how many tokens so many characters are."""
    return -(-length // CHARS_PER_TOKEN)


@dataclass(frozen=True)
class Cutting:
    """How long pieces are, in tokens, and how much of that they repeat: at most half of it."""

    max_tokens: int = 400
    overlap_tokens: int = 50

    @property
    def max_chars(self) -> int:
        """The longest piece."""
        return self.max_tokens * CHARS_PER_TOKEN

    @property
    def overlap_chars(self) -> int:
        """The most that a piece repeats."""
        return min(self.overlap_tokens, self.max_tokens // 2) * CHARS_PER_TOKEN


@dataclass(frozen=True)
class Chunk:
    """Characters `start` to `end` of a text, which are `text`; `n` counts from 0."""

    n: int
    start: int
    end: int
    text: str

    @property
    def tokens(self) -> int:
        """About how many tokens it has."""
        return tokens_of(self.text)

    def after(self, end: int) -> str:
        """Return what it says after a place in the text, such as the end of the one before."""
        return self.text[max(end - self.start, 0) :]


@dataclass(frozen=True)
class Piece:
    """A piece of the text of an artifact; `ordinal` is its place among those of the namespace."""

    artifact: str
    ordinal: int
    chunk: Chunk


def chunks(parts: Iterable[str], cutting: Cutting | None = None) -> Iterator[Chunk]:
    """Yield the pieces of a text, of which there are none if it is empty. Linear in its length."""
    cutter = _Cutter(cutting or Cutting())
    for part in parts:
        yield from cutter.feed(part)
    yield from cutter.end()


def text_of(found: Iterable[Chunk]) -> Iterator[str]:
    """Yield the parts of the text that pieces, in their order, were cut from."""
    end = 0
    for chunk in found:
        yield chunk.after(end)
        end = chunk.end


class _Cutter:
    """Holds what is not cut yet, and of what is, what the next piece repeats."""

    def __init__(self, cutting: Cutting) -> None:
        self._overlap = cutting.overlap_chars
        self._longest = cutting.max_chars
        # What a piece brings, whether or not it repeats as much as it may.
        self._most = self._longest - self._overlap
        self._least = max(int(self._most * _FULL_SHARE), 1)
        self._held = ""
        self._base = 0
        """Where in the text that begins."""
        self._begin = self._done = 0
        """Where in what is held the next piece begins, and where that of it which is new does."""
        self._n = 0

    def feed(self, part: str) -> Iterator[Chunk]:
        """Yield the pieces that are complete with a part."""
        self._held += part
        # One more than a piece has: else this might be the last, which needs no boundary.
        while len(self._held) - self._begin > self._longest:
            yield self._piece(self._boundary())
        self._held = self._held[self._begin :]
        self._base += self._begin
        self._done -= self._begin
        self._begin = 0

    def end(self) -> Iterator[Chunk]:
        """Yield the last piece."""
        if self._done < len(self._held):
            yield self._piece(len(self._held))

    def _piece(self, end: int) -> Chunk:
        begin, base = self._begin, self._base
        found = Chunk(self._n, base + begin, base + end, self._held[begin:end])
        self._n += 1
        self._begin, self._done = self._repeated_from(end), end
        return found

    def _boundary(self) -> int:
        """Return where the next piece ends."""
        most = self._most if self._done > self._begin else self._longest
        low, high = self._done + self._least, self._done + most
        for boundary in _BOUNDARIES:
            # A match may begin before, where a space is: only where it ends counts.
            ends = [found.end() for found in boundary.finditer(self._held, low - 1, high)]
            if ends and ends[-1] >= low:
                return ends[-1]
        return self._unjoined(high, low)

    def _repeated_from(self, end: int) -> int:
        """Return where the piece after one that ends here begins."""
        low = max(end - self._overlap, self._begin + 1)
        if low >= end:
            return end
        for boundary in (_SENTENCE, _SPACE):
            found = boundary.search(self._held, low, end)
            if found is not None and found.end() < end:
                return found.end()
        return self._unjoined(low, low)

    def _unjoined(self, place: int, least: int) -> int:
        """Return the place, or one shortly before it where no sign is taken apart."""
        for nearer in range(place, max(place - 8, least), -1):
            joined = (
                self._held[nearer : nearer + 1] in _JOINERS or self._held[nearer - 1] in _JOINERS
            )
            if not joined:
                return nearer
        return place
