"""Reads JSON that callers send: an object, of what can be stored only, and bounded."""

import json
from typing import Any, NoReturn

from app.core.errors import InvalidArgument, Reason

_MAX_DEPTH = 100
"""As protocol buffers have it."""
_MAX_VALUES = 100_000
"""Keys and values, at any depth: what a request costs to check grows with them, not with bytes."""
_INFINITIES = frozenset({float("inf"), float("-inf")})


def read_object(text: bytes, what: str) -> dict[str, Any]:
    """Return the JSON object that a text is.

    Args:
        text: as it was sent.
        what: what errors call it, such as `body`.

    Raises:
        InvalidArgument: it is none, or holds what cannot be stored.
    """
    try:
        value = _parse(text)
        if not isinstance(value, dict):
            _refuse("must be a JSON object.")
        _check_values(value)
    except _Refused as refused:
        raise InvalidArgument(f"The {what} {refused}", Reason.BODY_NOT_JSON) from None
    return value


class _Refused(Exception):
    """Says what is wrong with a text, as the rest of a sentence about it."""


def _refuse(description: str) -> NoReturn:
    raise _Refused(description)


def _parse(text: bytes) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        _refuse("must be UTF-8.")
    except json.JSONDecodeError as error:
        _refuse(f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.")
    except RecursionError:
        _refuse(f"must not be nested deeper than {_MAX_DEPTH}.")
    except ValueError:
        # Python refuses to read a number of thousands of digits.
        _refuse("holds a number that is too long.")


def _refuse_constant(name: str) -> NoReturn:
    _refuse(f"holds {name}, which is not JSON.")


def _check_values(value: object) -> None:
    level: list[object] = [value]
    count = 0
    for _ in range(_MAX_DEPTH):
        count += len(level)
        if count > _MAX_VALUES:
            _refuse(f"must not hold more than {_MAX_VALUES} keys and values.")
        level = [below for item in level for below in _checked(item)]
        if not level:
            return
    _refuse(f"must not be nested deeper than {_MAX_DEPTH}.")


def _checked(item: object) -> list[object]:
    """Refuse what cannot be stored; return the keys and values right inside the item."""
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
        _refuse("holds the character U+0000, which cannot be stored.")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        _refuse("holds half of a surrogate pair, which is not text.")
