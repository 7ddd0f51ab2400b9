"""JSON values in a model's text: strict JSON where it is, else what a library mends.

A reply is hostile until it is read: values that are only nearly JSON have bounds of length and
nesting, within which the library takes a time that grows with the length alone.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
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
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.?+[^"\\]*+)*+("?+)|[{}\[\]]', re.DOTALL)
_BRACKET = re.compile(r"[{}\[\]]")
_CLOSING = {"{": "}", "[": "]"}
_AFTER_END = "` \t\r\n"
"""Blanks, and the end of a fence."""
_MAX_STARTS = 20_000
"""Brackets that are tried, so that a reply full of them costs little."""
_MAX_EFFORT = 8_000_000
"""Characters that are read without a result: each of many nested lists may break off at its end."""
_MAX_MENDED_CHARS = 262_144
_MAX_MENDED_DEPTH = 32


class NotMended(Exception):
    """The text is too long or too deeply nested to be mended."""


@dataclass
class Values:
    """The outermost values of a text; `is_cut` is True if it ends inside the last of them.

    Of such a one, only whole objects are taken.
    """

    found: list[FoundValue] = field(default_factory=list)
    is_cut: bool = False


def values(text: str) -> Values:
    """Return the values in a text, in their order.

    Raises:
        NotMended: a value is no JSON, and too long or too deep to be mended or read to its fault.
        RecursionError: a value is nested too deeply.
        ValueError: a number is too long.
    """
    result = Values()
    at = effort = 0
    for _ in range(_MAX_STARTS):
        start = _START.search(text, at)
        if start is None:
            break
        at = start.start()
        try:
            value, at = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            is_open = error.msg.startswith("Unterminated")
            effort += (len(text) if is_open else error.pos) - at
            if effort > _MAX_EFFORT:
                raise NotMended from None
            if not _LOOKS_LIKE_JSON.match(text, at):
                at += 1
                continue
            nearly, end = _extent(text, at)
            result.is_cut = end is None
            result.found.append(_mended(nearly))
            at = len(text) if end is None else end
        else:
            result.found.append(FoundValue(value))
    return result


def _extent(text: str, start: int) -> tuple[str, int | None]:
    """Return the value that begins at a bracket, and its end.

    One that lacks the last brackets alone ends with the text. Any other without an end is closed
    after its last whole object; then there is no end.
    """
    opened: list[str] = []
    whole = ""
    for token in _tokens(text, start):
        sign = token[0]
        if sign in _CLOSING:
            opened.append(_CLOSING[sign])
            if len(opened) > _MAX_MENDED_DEPTH:
                raise NotMended
        elif sign in _CLOSING.values():
            opened.pop()
            if not opened:
                return text[start : token.end()], token.end()
            if _is_between_entries(opened) and sign == "}":
                whole = text[start : token.end()] + "".join(reversed(opened))
    rest = text[start:].rstrip(_AFTER_END)
    ends = rest.endswith(tuple(_CLOSING.values()))
    is_between = "]" not in opened or _is_between_entries(opened)
    return (rest, len(text)) if ends and is_between else (whole, None)


def _tokens(text: str, start: int) -> Iterator[re.Match[str]]:
    """Yield strings and brackets; after a quote that nothing closes, brackets alone.

    No later quote is closed either: each was found to be escaped. To look again for each of them
    would take a time that grows with the square of their number.
    """
    for token in _TOKEN.finditer(text, start):
        if token[1] == "":
            yield from _BRACKET.finditer(text, token.start())
            return
        yield token


def _is_between_entries(opened: Sequence[str]) -> bool:
    """Return True within the outermost list, outside its entries."""
    return opened[-1] == "]" and opened.count("]") == 1


def _mended(nearly: str) -> FoundValue:
    with suppress(ValueError):
        return FoundValue(json.loads(nearly, strict=False))
    if len(nearly) > _MAX_MENDED_CHARS:
        raise NotMended
    value: Any = json_repair.loads(nearly, skip_json_loads=True)
    return FoundValue(value, is_mended=True)
