"""What JSON holds, counted in its bytes: a text with too much in it is refused unparsed.

To parse millions of empty lists takes seconds, during which the interpreter runs nothing else; to
count them takes a hundredth of that, in pieces between which it does. Of JSON the counts are exact;
of what is no JSON they are exact up to the first fault, where a parser stops.
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
    """What a text holds.

    Attributes:
        values: keys and values, at any depth.
        depth: levels of them; that of a text without a list or an object is 1.
    """

    values: int
    depth: int


def bound(text: bytes) -> Structure:
    """Return what a text holds at most, be what looks like structure inside of strings or not."""
    opened = text.count(b"[") + text.count(b"{")
    return Structure(1 + opened + text.count(b",") + text.count(b":"), 1 + opened)


def count(text: bytes, piece_bytes: int = _PIECE_BYTES) -> Iterator[Structure]:
    """Yield what a text holds up to the end of each of its pieces; at last, what all of it does."""
    counting = _Counting()
    for start in range(0, len(text), piece_bytes):
        yield counting.feed(text[start : start + piece_bytes])


class _Counting:
    """The state between two pieces.

    A list or an object counts as a level, and one value more than it has separators, unless what
    follows its beginning is its end.
    """

    def __init__(self) -> None:
        self._found = Structure(1, 1)
        self._backslash = b""
        """The beginning of an escape, if the last piece ended inside of one."""
        self._is_string = np.uint8(0)
        self._opened = np.empty(0, np.uint8)
        """The beginning of a list or an object, if the last piece ended behind it."""
        self._level = 0
        """That of what comes next, but for what is held back as `_opened`."""

    def feed(self, piece: bytes) -> Structure:
        """Count a piece; return what has been found so far."""
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
        """Return a piece whose quotes all begin or end a string."""
        piece = (self._backslash + piece).replace(rb"\\", b"__").replace(rb"\"", b"__")
        self._backslash = b"\\" if piece.endswith(b"\\") else b""
        return piece.removesuffix(b"\\")

    def _kinds(self, piece: bytes) -> NDArray[np.uint8]:
        """Return the kinds of the bytes outside of strings that are not blank.

        Of a string there is its last quote.
        """
        data = np.frombuffer(piece, np.uint8)
        # Odd behind the first quote of a string, however often the count has begun anew.
        quotes = np.cumsum(data == ord('"'), dtype=np.uint8) + self._is_string
        if quotes.size:
            self._is_string = quotes[-1] & 1
        kinds = _KINDS[data[quotes & 1 == 0]]
        found: NDArray[np.uint8] = kinds[kinds != _BLANK]
        return found
