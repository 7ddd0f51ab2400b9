"""JSON values in a model's text: strict JSON where it is, else what a library mends.

A reply is hostile until it is read: values that are only nearly JSON have bounds of length and
nesting, within which the library takes a time that grows with the length alone.
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import json_repair

from app.kernel.wire.model_entries import FoundValue

_MAX_DIGITS = 1_000


def _integer(digits: str) -> int | str:
    """Return a number; one that is too long stays a text, which costs its entry alone."""
    return int(digits) if len(digits) <= _MAX_DIGITS else digits


_DECODER = json.JSONDecoder(strict=False, parse_int=_integer)
"""Raw line ends and tabs are taken within strings."""
_START = re.compile(r"[{\[]")
_LOOKS_LIKE_JSON = re.compile(r"""[{\[]\s*(?:[{\[\]}"'\u201c]|//|/\*|#|\w+["']?\s*:)""")
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.?+)*+(?:"|\Z)|[{}\[\]]', re.DOTALL)
"""A string or a bracket; a string that nothing closes goes on to the end of the text."""
_CLOSING = {"{": "}", "[": "]"}
_AFTER_END = "` \t\r\n"
"""Blanks, and the end of a fence."""
_MAX_STARTS = 20_000
"""Brackets that are tried, so that a reply full of them costs little."""
_MAX_EFFORT = 8_000_000
"""Characters that are read without a result: each of many nested lists may break off at its end."""
_MAX_MENDED_CHARS = 262_144
_MAX_MENDED_DEPTH = 32


def values(text: str) -> Sequence[FoundValue]:
    """Return the outermost values in a text, in their order.

    Of the last one only whole objects are taken if the text ends inside it.

    Raises:
        ValueError: a value is no JSON, and too long or too deep to be mended or read to its fault.
        RecursionError: a value is nested too deeply.
    """
    found: list[FoundValue] = []
    at = effort = 0
    for _ in range(_MAX_STARTS):
        start = _START.search(text, at)
        if start is None:
            break
        at = start.start()
        try:
            value, at = _DECODER.raw_decode(text, at)
            found.append(FoundValue(value))
        except json.JSONDecodeError as error:
            is_open = error.msg.startswith("Unterminated")
            effort += (len(text) if is_open else error.pos) - at
            if effort > _MAX_EFFORT:
                raise ValueError("too many faults") from None
            if _LOOKS_LIKE_JSON.match(text, at):
                nearly, end = _extent(text, at)
                found.append(_mended(nearly, is_cut=end is None))
                at = len(text) if end is None else end
            else:
                at += 1
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
            if len(opened) > _MAX_MENDED_DEPTH:
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


def _mended(nearly: str, *, is_cut: bool) -> FoundValue:
    with suppress(ValueError):
        return FoundValue(_DECODER.decode(nearly), is_cut=is_cut)
    if len(nearly) > _MAX_MENDED_CHARS:
        raise ValueError("too long")
    value: Any = json_repair.loads(nearly, skip_json_loads=True)
    return FoundValue(value, is_mended=True, is_cut=is_cut)
