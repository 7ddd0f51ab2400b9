"""A parser of a model's text, which is rarely nothing but the requested structure.

Accepted: prose around the JSON, code fences, `<think>` blocks before it, a tool call written as
text, a structure inside another, text that is nearly JSON, extra fields, null for a default. An
`EntriesReply` is put together from all values; of any other structure the last one counts. Prose
alone is accepted as the text of a `TextReply`.

A reply is hostile until it is read: the nesting of values is bounded. Text that is only nearly
JSON, which a library mends, has a bound of length and quotes together: that takes three seconds at
most.
"""

import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import json_repair
from pydantic import ValidationError

from app.adapters.concurrency import offloaded
from app.adapters.llm.ports import OutputT
from app.kernel.errors import BadGateway, Reason
from app.kernel.wire.model_entries import (
    EntriesReply,
    FoundValue,
    TextReply,
    decoded,
    with_plain_names,
)

_COST = 64
"""Times that a text may take longer to read than others, if it has to be mended."""
_MAX_FAULT_CHARS = 500
_MAX_WRAPPERS = 3
_THOUGHT_ENDS = "</think>"
_FENCED = re.compile(r"```[\w-]*[ \t]*\n?(.*?)\n?```", re.DOTALL)
"""A whole text between code fences; the group is the text."""
_EntriesT = TypeVar("_EntriesT", bound=EntriesReply)
Request = Callable[[str | None], Awaitable[str]]
"""Sends a request and returns its text; takes the fault of the first answer, if any."""
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


class CutText(str):
    """A text that was cut off at its longest, as its provider says."""

    __slots__ = ()


class InvalidReply(Exception):
    """The text holds no valid structure. The message is for the model, never for a log."""


async def answered(request: Request, output: type[OutputT]) -> OutputT:
    """Return the model's structured answer; ask again once if it is invalid.

    Raises:
        BadGateway: both answers are invalid; the message quotes nothing of them.
    """
    fault = None
    for _ in range(2):
        text = await request(fault)
        try:
            return await offloaded(len(text) * _COST, parse, text, output)
        except InvalidReply as invalid:
            fault = str(invalid)
    raise BadGateway(
        "The model's output was invalid, also when asked again.", Reason.MODEL_OUTPUT_INVALID
    )


def parse(text: str, output: type[OutputT]) -> OutputT:
    """Return the structure in the text; for `TextReply`, else the text.

    Raises:
        InvalidReply: none is valid; the message describes the faults of one.
    """
    answer = _unwrapped(text)
    try:
        json_values = values(answer)
        if issubclass(output, EntriesReply):
            return _of_entries(json_values, output, is_cut=isinstance(text, CutText))
        return _last_valid(answer, json_values, output)
    except ValueError:
        raise InvalidReply("It was nested too deeply, or too long.") from None


def _of_entries(
    json_values: Sequence[FoundValue], output: type[_EntriesT], *, is_cut: bool
) -> _EntriesT:
    reply = output.of_values([*json_values, *([FoundValue([])] if is_cut else [])])
    if reply is None:
        raise InvalidReply("It held no complete JSON object.")
    if is_cut or any(value.is_cut for value in json_values):
        reply.mark_cut("The model's answer was cut off.")
    if not reply.is_usable and not is_cut:
        raise InvalidReply("None of its entries followed the schema.")
    return reply


def _last_valid(answer: str, json_values: Sequence[FoundValue], output: type[OutputT]) -> OutputT:
    names = output.model_fields.keys()
    fault = f"It held no complete JSON object with the fields {', '.join(names)}."
    whole = () if any(value.is_cut for value in json_values) else reversed(json_values)
    for value in (entry.value for entry in whole):
        if isinstance(value, list) and len(value) > 1:
            fault = f"It held {len(value)} answers in place of one with everything in it."
        for candidate in _structures(value, names):
            given = {name: part for name, part in candidate.items() if part is not None}
            try:
                return output.model_validate(given, extra="ignore")
            except ValidationError as error:
                fault = _message(error)
    if issubclass(output, TextReply) and (prose := _prose(answer, names)):
        with suppress(ValidationError):
            return output.of_prose(prose)
    raise InvalidReply(fault)


def _structures(value: object, names: Collection[str], depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the objects that have a field of the structure: the value, or parts of a wrapper."""
    value = decoded(value)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict) or depth > _MAX_WRAPPERS:
        return
    plain = with_plain_names(value)
    if any(name in plain for name in names):
        yield plain
    for inner in value.values():
        yield from _structures(inner, names, depth + 1)


def _prose(answer: str, names: Collection[str]) -> str:
    """Return a model's prose in place of a structure; empty: nothing, or an invalid structure.

    An invalid structure begins with a brace, is JSON, or has one of the fields in quotes somewhere.
    """
    fenced = _FENCED.fullmatch(answer)
    prose = (fenced[1] if fenced else answer).strip()
    is_list = isinstance(decoded(prose), list)
    is_structure = prose.startswith("{") or prose == "null" or is_list
    return "" if is_structure or any(f'"{name}"' in prose for name in names) else prose


def _message(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False)
    named = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults]
    return "; ".join(named)[:_MAX_FAULT_CHARS] + "."


def _unwrapped(text: str) -> str:
    stripped = text.strip()
    if _THOUGHT_ENDS in stripped and not stripped.startswith("{"):
        # The first end tag: a later one may stand in a string of the answer.
        stripped = stripped.partition(_THOUGHT_ENDS)[2].strip()
    elif stripped.startswith("<think"):
        return ""
    if stripped.startswith('"'):
        with suppress(ValueError):
            return str(json.loads(stripped))
    return stripped


def values(text: str) -> list[FoundValue]:
    """Return the outermost values in a text; of a last one that is cut, only whole objects.

    Raises:
        ValueError: a value is nested too deeply, or too long for one that is no JSON.
    """
    json_values: list[FoundValue] = []
    at: int | None = 0
    reader = _Reader()
    while at is not None and len(json_values) < _MAX_VALUES and (start := _START.search(text, at)):
        value, at, _ = _extent(text, start.start())
        json_values.append(replace(reader.read(value), is_cut=at is None))
    return json_values


class _Reader:
    """A reader of values that mends entry by entry, so that one costs no other."""

    def __init__(self) -> None:
        self._left = _MAX_EFFORT

    def read(self, value: str) -> FoundValue:
        """Return a value; an entry that is too long to be mended is null."""
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
