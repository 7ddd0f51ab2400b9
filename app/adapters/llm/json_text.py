"""JSON values in a model's text: strict JSON where it is, else what a library mends.

A reply is hostile until it is read: values have a bound of nesting, and what is only nearly JSON
has one of length and quotes together, within which the library takes three seconds at most.
"""

import json
import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

import json_repair

from app.kernel.wire.model_entries import FoundValue

_DECODER = json.JSONDecoder(strict=False)
"""Raw line ends and tabs are taken within strings."""
_START = re.compile(r"""[{\[]\s*(?:[{\[\]}"'\u201c]|//|/\*|#|\w+["']?\s*:)""")
"""A bracket that may begin JSON, not a remark in prose."""
_STRING = r"""
    Q (?: [^Q\\}]++ | \\.?+ | Q (?! \s*+ (?: [,:}\]] | \Z))
        | } (?! [\s,{}\[\]`]{0,40} (?: Q \w{1,40} Q \s*+ : | \Z))
    )*+ Q?
"""
_STRINGS = "|".join(_STRING.replace("Q", quote) for quote in "\"'")
_TOKEN = re.compile(rf"[{{\[,:] \s*+ (?:{_STRINGS})? | [}}\]]", re.DOTALL | re.VERBOSE)
"""A sign, with the string that follows it.

A string ends at a quote that a sign follows, or else before a brace that another entry or nothing
follows: so a quote too many or too few costs its entry alone. JSON has no such quotes.
"""
_CLOSING = {"{": "}", "[": "]"}
_MAX_VALUES = 20_000
_MAX_DEPTH = 32
_MAX_EFFORT = 65_000_000
"""For each character that is mended: the quotes of its text, and `_EASE` more."""
_EASE = 250
"""The library may look through a list for each quote; most characters it reads once."""
_PLACE = 10**11
"""The number in the place of the first entry while the text around entries is mended."""


def values(text: str) -> list[FoundValue]:
    """Return the outermost values in a text, in their order.

    Of the last one only whole objects are taken if the text ends inside it.

    Raises:
        ValueError: a value is nested too deeply, or too long for one that is no JSON.
    """
    found: list[FoundValue] = []
    at: int | None = 0
    reader = _Reader()
    while at is not None and len(found) < _MAX_VALUES and (start := _START.search(text, at)):
        value, at, _ = _extent(text, start.start())
        found.append(replace(reader.read(value), is_cut=at is None))
    return found


class _Reader:
    """A reader of values that mends entry by entry, so that one costs no other."""

    def __init__(self) -> None:
        self._left = _MAX_EFFORT

    def read(self, value: str) -> FoundValue:
        """Return a value; an entry that is too long to be mended is null.

        Raises:
            ValueError: the text around the entries is too long, or has a number that is.
        """
        with suppress(ValueError):
            return FoundValue(_DECODER.decode(value))
        entries = dict(enumerate(_extent(value, 0)[2], _PLACE))
        around, at = "", 0
        for place, (start, end) in entries.items():
            between = value[at:start]
            around += (between if between.strip() else ",") + str(place)
            at = end
        around += value[at:]
        effort = len(around) * (around.count('"') + around.count("'") + _EASE)
        if effort > self._left:
            raise ValueError("too long")
        self._left -= effort
        mended: Any = json_repair.loads(around, skip_json_loads=True)
        if entries:
            held: dict[str, object] = dict.fromkeys(map(str, entries))
            for place, (start, end) in entries.items():
                with suppress(ValueError):
                    held[str(place)] = self.read(value[start:end]).value
            mended = json.loads(json.dumps(mended), parse_int=lambda n: held.get(n, n))
        return FoundValue(mended, is_mended=True)


def _extent(text: str, start: int) -> tuple[str, int | None, list[tuple[int, int]]]:
    """Return the value that begins at a bracket, its end, and the entries of its outermost lists.

    One that lacks the last brackets alone ends with the text. Any other without an end is closed
    after its last whole object; then there is no end.
    """
    opened = missing = ""
    entries: list[tuple[int, int]] = []
    begin = end = start
    for token in _TOKEN.finditer(text, start):
        sign = token[0][0]
        if sign in _CLOSING:
            begin = token.start() if _is_between_entries(opened) else begin
            opened += _CLOSING[sign]
            if len(opened) > _MAX_DEPTH:
                raise ValueError("too deep")
        elif sign in opened:
            opened = opened[: opened.rindex(sign)]
            if not opened:
                return text[start : token.end()], token.end(), entries
            if sign == "}" and _is_between_entries(opened):
                end, missing = token.end(), opened[::-1]
                entries.append((begin - start, end - start))
    # Before blanks, and the end of a fence.
    rest = text[start:].rstrip("` \t\r\n")
    if rest.endswith(("}", "]")) and ("]" not in opened or _is_between_entries(opened)):
        return rest, len(text), entries
    return text[start:end] + missing, None, entries


def _is_between_entries(opened: str) -> bool:
    """Return True within the outermost list, outside its entries."""
    return opened.endswith("]") and opened.count("]") == 1
