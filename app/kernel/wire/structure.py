"""The size of a JSON structure, counted from its bytes to refuse a large text before parsing.

Parsing millions of empty lists takes seconds, during which the interpreter runs no other work.
Counting takes a hundredth of that time, in blocks with other work between them. The counts are
exact for valid JSON. For an invalid text they are exact up to the first error of a parser.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_PIECE_BYTES = 256 * 1024
_OPENS, _CLOSES, _SEPARATES, _BLANK, _OTHER = range(5)
_KINDS = np.full(256, _OTHER, np.uint8)
for _kind, _bytes in ((_OPENS, b"[{"), (_CLOSES, b"]}"), (_SEPARATES, b",:"), (_BLANK, b" \t\r\n")):
    _KINDS[list(_bytes)] = _kind


@dataclass(frozen=True)
class Structure:
    """The size of a JSON structure.

    Attributes:
        values: keys and values, at any depth.
        depth: nesting levels; a text without a list or an object has 1.
    """

    values: int
    depth: int


def bound(text: bytes) -> Structure:
    """Return an upper bound of the size, which also counts brackets and commas inside strings."""
    opened = text.count(b"[") + text.count(b"{")
    return Structure(1 + opened + text.count(b",") + text.count(b":"), 1 + opened)


def count(text: bytes, piece_bytes: int = _PIECE_BYTES) -> Iterator[Structure]:
    """Yield the size up to the end of each block; the last is the size of the whole text."""
    counting = _Counting()
    for start in range(0, len(text), piece_bytes):
        yield counting.feed(text[start : start + piece_bytes])


class _Counting:
    """A counter that keeps its state between two blocks.

    A list or an object counts as one level. It has one value more than separators, unless it is
    empty.
    """

    def __init__(self) -> None:
        self._found = Structure(1, 1)
        self._backslash = b""
        """The beginning of an escape, if the last block ended inside one."""
        self._is_string = np.uint8(0)
        self._opened = np.empty(0, np.uint8)
        """The opening bracket of a list or an object, if the last block ended right after it."""
        self._level = 0
        """The level of the next byte, without the bracket held back in `_opened`."""

    def feed(self, piece: bytes) -> Structure:
        """Count a block; return the size so far."""
        kinds = np.concatenate([self._opened, self._kinds(self._unescaped(piece))])
        is_held = kinds.size > 0 and bool(kinds[-1] == _OPENS)
        self._opened = kinds[-1:] if is_held else kinds[:0]
        opens = kinds == _OPENS
        full = opens[:-1] & (kinds[1:] != _CLOSES)
        steps = opens.astype(np.int32) - (kinds == _CLOSES)
        levels = np.cumsum(steps, dtype=np.int32) + self._level
        self._level = int(levels[-1]) - is_held if kinds.size else self._level
        separators = int(np.count_nonzero(kinds == _SEPARATES))
        self._found = Structure(
            self._found.values + separators + int(np.count_nonzero(full)),
            max(self._found.depth, 1 + int(np.max(levels[:-1][full], initial=0))),
        )
        return self._found

    def _unescaped(self, piece: bytes) -> bytes:
        """Return a block in which every quote begins or ends a string."""
        piece = (self._backslash + piece).replace(rb"\\", b"__").replace(rb"\"", b"__")
        self._backslash = b"\\" if piece.endswith(b"\\") else b""
        return piece.removesuffix(b"\\")

    def _kinds(self, piece: bytes) -> NDArray[np.uint8]:
        """Return the kinds of the non-blank bytes outside strings.

        Of each string, only the closing quote remains.
        """
        data = np.frombuffer(piece, np.uint8)
        # Odd after the opening quote of a string, even if the count has wrapped around.
        quotes = np.cumsum(data == ord('"'), dtype=np.uint8) + self._is_string
        if quotes.size:
            self._is_string = quotes[-1] & 1
        kinds = _KINDS[data[quotes & 1 == 0]]
        visible: NDArray[np.uint8] = kinds[kinds != _BLANK]
        return visible
