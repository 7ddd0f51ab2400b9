"""A bounded reader of request JSON: an object of storable values."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from app.kernel.errors import InvalidArgument, Reason
from app.kernel.text import UNSTORABLE
from app.kernel.wire.structure import bound, count

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


def read_object(text: bytes, what: str) -> dict[str, Any]:
    """Parse a JSON object.

    Too large a structure is refused before parsing, which would cost more.

    Args:
        text: the bytes as sent.
        what: the name of the text in errors, such as `body`.

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
    """Refuse a duplicate key: parsers disagree on the value that counts."""
    pairs_by_key = dict(pairs)
    if len(pairs_by_key) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        _refuse(f"holds the key {json.dumps(twice[:_SHOWN_CHARS])} twice.")
    return pairs_by_key


def _read_integer(digits: str) -> int:
    """Parse an integer as `json` does, but let other threads run between two integers.

    Thousands of long integers take a tenth of a second or more.
    """
    return int(digits)


def _check_values(value: object) -> None:
    level: list[object] = [value]
    while level:
        level = [below for item in level for below in _checked(item)]


def _checked(item: object) -> list[object]:
    """Refuse values that cannot be stored; return the direct keys and values of the item."""
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
