"""A bounded reader of request JSON: an object of storable values."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from app.kernel.errors import InvalidArgument, Reason
from app.kernel.text import UNSTORABLE

MAX_DEPTH = 100
"""The limit of protocol buffers."""
MAX_VALUES = 100_000
"""Limit of keys and values, at any depth: the cost of validation grows with their number."""
_MAX_LEADING_BLANKS = 64 * 1024
_BLANKS = b" \t\r\n"
_SHOWN_CHARS = 80
"""Maximum characters of a key that an error shows."""
_REPLACEMENT = "\ufffd"
_INFINITIES = frozenset({float("inf"), float("-inf")})
_PIECE_BYTES = 256 * 1024
_OPENS, _CLOSES, _SEPARATES, _BLANK, _OTHER = range(5)
_KINDS = np.full(256, _OTHER, np.uint8)
for _kind, _bytes in ((_OPENS, b"[{"), (_CLOSES, b"]}"), (_SEPARATES, b",:"), (_BLANK, b" \t\r\n")):
    _KINDS[list(_bytes)] = _kind


def read_object(text: bytes, what: str) -> dict[str, Any]:
    """Parse a JSON object; refuse too large a structure before parsing, which would cost more.

    `what` is the name of the text in errors, such as `body`.

    Raises:
        InvalidArgument: the text is not a JSON object, or holds values that cannot be stored;
            `Unstorable` if unstorable characters are its only fault.
    """
    try:
        _check_size(text)
        value = _parse(text)
        if not isinstance(value, dict):
            _refuse("must be a JSON object.")
        _check_values(value)
    except _Refused as refused:
        raise refused.kind(f"The {what} {refused}", Reason.BODY_NOT_JSON) from None
    return value


def read_said(text: bytes, what: str, is_said: Callable[[str], bool]) -> tuple[dict[str, Any], int]:
    """Parse a JSON object like `read_object`, and replace unstorable characters by U+FFFD.

    Only characters in the fields selected by `is_said` are replaced. Returns their number, too.

    Raises:
        InvalidArgument: another field has such a character, or replacing makes two keys equal.
    """
    replaced = 0

    def mended(value: Any) -> Any:  # noqa: ANN401 - any JSON
        nonlocal replaced
        if isinstance(value, str):
            plain, count = UNSTORABLE.subn(_REPLACEMENT, value)
            replaced += count
            return plain
        if isinstance(value, list):
            return [mended(item) for item in value]
        if isinstance(value, dict):
            return _read_pairs([(mended(key), mended(below)) for key, below in value.items()])
        return value

    try:
        value = _parse(text)
        value = _read_pairs(
            [
                (mended(key), mended(below)) if is_said(key) else (key, below)
                for key, below in value.items()
            ]
        )
        _check_values(value)
    except _Refused as refused:
        raise InvalidArgument(f"The {what} {refused}", Reason.BODY_NOT_JSON) from None
    return value, replaced


class Unstorable(InvalidArgument):
    """A JSON object whose texts hold characters that cannot be stored."""


class _Refused(Exception):
    """An invalid text; the message completes a sentence about it."""

    kind: type[InvalidArgument] = InvalidArgument


class _RefusedCharacter(_Refused):
    kind = Unstorable


def _refuse(description: str) -> NoReturn:
    raise _Refused(description)


def _check_size(text: bytes) -> None:
    beginning = text[: _MAX_LEADING_BLANKS + 1]
    if len(beginning) > _MAX_LEADING_BLANKS and not beginning.strip(_BLANKS):
        _refuse(f"must not begin with more than {_MAX_LEADING_BLANKS} blanks.")
    most = bound(text)
    if most.depth <= MAX_DEPTH and most.values <= MAX_VALUES:
        return
    for size in count(text):
        if size.depth > MAX_DEPTH:
            _refuse(f"must not be nested deeper than {MAX_DEPTH}.")
        if size.values > MAX_VALUES:
            _refuse(f"must not hold more than {MAX_VALUES} keys and values.")


def _parse(text: bytes) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_read_pairs,
            parse_int=_read_integer,
            parse_constant=_refuse_constant,
        )
    except UnicodeDecodeError:
        _refuse("must be UTF-8.")
    except json.JSONDecodeError as error:
        # Some messages of the parser already end in "at".
        problem = error.msg.removesuffix(" at")
        _refuse(f"is not JSON: {problem} at line {error.lineno}, column {error.colno}.")
    except ValueError:
        # Python refuses to parse a number of thousands of digits.
        _refuse("holds a number that is too long.")


def _refuse_constant(name: str) -> NoReturn:
    _refuse(f"holds {name}, which is not JSON.")


def _read_pairs(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    # Parsers disagree on the value that counts.
    pairs_by_key = dict(pairs)
    if len(pairs_by_key) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        _refuse(f"holds the key {json.dumps(twice[:_SHOWN_CHARS])} twice.")
    return pairs_by_key


def _read_integer(digits: str) -> int:
    # As `json` does, but other threads run between two integers: thousands of long integers
    # take a tenth of a second or more.
    return int(digits)


def _check_values(value: object) -> None:
    level: list[object] = [value]
    while level:
        level = [below for item in level for below in _checked(item)]


def _checked(item: object) -> list[object]:
    if isinstance(item, dict):
        return [*item.keys(), *item.values()]
    if isinstance(item, list):
        return item
    if isinstance(item, str):
        _check_text(item)
    elif isinstance(item, float) and item in _INFINITIES:
        _refuse("holds a number that is out of range.")
    return []


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise _RefusedCharacter("holds the character U+0000, which cannot be stored.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _RefusedCharacter("holds half of a surrogate pair, which is not text.") from None


@dataclass(frozen=True)
class Structure:
    """The size of a JSON structure: keys and values at any depth, and nesting levels.

    A text without a list or an object has 1 level.
    """

    values: int
    depth: int


def bound(text: bytes) -> Structure:
    """Return an upper bound of the size, which also counts brackets and commas inside strings."""
    opened = text.count(b"[") + text.count(b"{")
    return Structure(1 + opened + text.count(b",") + text.count(b":"), 1 + opened)


def count(text: bytes, piece_bytes: int = _PIECE_BYTES) -> Iterator[Structure]:
    """Yield the size up to the end of each block; the last is the size of the whole text.

    Parsing millions of empty lists takes seconds, during which the interpreter runs no other work.
    Counting takes a hundredth of that time, in blocks with other work between them. For an invalid
    text, the counts are exact up to the first error of a parser.
    """
    counting = _Counting()
    for start in range(0, len(text), piece_bytes):
        yield counting.feed(text[start : start + piece_bytes])


class _Counting:
    """A counter that keeps its state between two blocks; a list or an object counts as one level.

    It has one value more than separators, unless it is empty.
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
        # Of each string, only the closing quote remains.
        data = np.frombuffer(piece, np.uint8)
        # Odd after the opening quote of a string, even if the count has wrapped around.
        quotes = np.cumsum(data == ord('"'), dtype=np.uint8) + self._is_string
        if quotes.size:
            self._is_string = quotes[-1] & 1
        kinds = _KINDS[data[quotes & 1 == 0]]
        visible: NDArray[np.uint8] = kinds[kinds != _BLANK]
        return visible
