"""JSON values in a model's text: strict JSON where it is, else what a library mends.

A reply is hostile until it is read: values have a bound of nesting, and those that are only nearly
JSON have one of length and quotes together, within which the library takes three seconds at most.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import json_repair

from app.kernel.wire.model_entries import FoundValue

_MAX_DIGITS = 1_000


def _integer(digits: str) -> int | str:
    """Return a number; one that is too long stays a text, which costs its entry alone."""
    return int(digits) if len(digits) <= _MAX_DIGITS else digits


_DECODER = json.JSONDecoder(strict=False, parse_int=_integer)
"""Raw line ends and tabs are taken within strings."""
_START = re.compile(r"""[{\[]\s*(?:[{\[\]}"'\u201c]|//|/\*|#|\w+["']?\s*:)""")
"""A bracket that may begin JSON, not a remark in prose."""
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.?+)*+(?:"|\Z)|[{}\[\]]', re.DOTALL)
"""A string or a bracket; a string that nothing closes goes on to the end of the text."""
_CLOSING = {"{": "}", "[": "]"}
_AFTER_END = "` \t\r\n"
"""Blanks, and the end of a fence."""
_MAX_VALUES = 20_000
_MAX_DEPTH = 32
_MAX_EFFORT = 65_000_000
"""For each character that is mended: the quotes of its value, and `_EASE` more."""
_EASE = 250
"""The library may look through a list for each quote; most characters it reads once."""


def values(text: str) -> Sequence[FoundValue]:
    """Return the outermost values in a text, in their order.

    Of the last one only whole objects are taken if the text ends inside it.

    Raises:
        ValueError: a value is nested too deeply, or the values that are no JSON are too long.
    """
    found: list[FoundValue] = []
    at: int | None = 0
    effort = 0
    while at is not None and len(found) < _MAX_VALUES:
        if (start := _START.search(text, at)) is None:
            break
        value, at = _extent(text, start.start())
        try:
            found.append(FoundValue(_DECODER.decode(value), is_cut=at is None))
        except ValueError:
            effort += len(value) * (value.count('"') + value.count("'") + _EASE)
            if effort > _MAX_EFFORT:
                raise
            mended: Any = json_repair.loads(value, skip_json_loads=True)
            found.append(FoundValue(mended, is_mended=True, is_cut=at is None))
    return found


def _extent(text: str, start: int) -> tuple[str, int | None]:
    """Return the value that begins at a bracket, and its end.

    One that lacks the last brackets alone ends with the text. Any other without an end is closed
    after its last whole object; then there is no end.
    """
    opened: list[str] = []
    end, missing = start, ""
    for token in _TOKEN.finditer(text, start):
        sign = token[0]
        if sign in _CLOSING:
            opened.append(_CLOSING[sign])
            if len(opened) > _MAX_DEPTH:
                raise ValueError("too deep")
        elif sign in _CLOSING.values():
            opened.pop()
            if not opened:
                return text[start : token.end()], token.end()
            if sign == "}" and _is_between_entries(opened):
                end, missing = token.end(), "".join(reversed(opened))
    rest = text[start:].rstrip(_AFTER_END)
    is_between = "]" not in opened or _is_between_entries(opened)
    if is_between and rest.endswith(tuple(_CLOSING.values())):
        return rest, len(text)
    return text[start:end] + missing, None


def _is_between_entries(opened: Sequence[str]) -> bool:
    """Return True within the outermost list, outside its entries."""
    return opened[-1] == "]" and opened.count("]") == 1
