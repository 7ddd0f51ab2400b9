"""A parser of a model's text, which is rarely nothing but the requested structure.

Accepted: prose around the JSON, code fences, `<think>` blocks before it, a tool call written as
text, a structure inside another, text that is nearly JSON, extra fields, null for a default. An
`EntriesReply` is put together from all values; of any other structure the last one counts. Prose
alone is accepted as the text of a `TextReply`. Refused: everything else that does not hold the
structure, including an empty object, the schema itself, and truncated text.
"""

import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import ValidationError

from app.adapters import offload
from app.adapters.llm.json_text import values
from app.adapters.llm.ports import OutputT
from app.kernel.errors import BadGateway, Reason
from app.kernel.wire.model_entries import EntriesReply, FoundValue, decoded, with_plain_names
from app.kernel.wire.model_text import TextReply

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
            return await offload.done(len(text) * _COST, parse, text, output)
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
        found = values(answer)
        if issubclass(output, EntriesReply):
            return _of_entries(found, output, is_cut=isinstance(text, CutText))
        return _last_valid(answer, found, output)
    except ValueError:
        raise InvalidReply("It was nested too deeply, or too long.") from None


def _of_entries(found: Sequence[FoundValue], output: type[_EntriesT], *, is_cut: bool) -> _EntriesT:
    """Return the structure of all entries; a text that was cut off gives at least an empty one."""
    reply = output.of_values([*found, *([FoundValue([])] if is_cut else [])])
    if reply is None:
        raise InvalidReply("It held no complete JSON object.")
    if is_cut or any(one.is_cut for one in found):
        reply.mark_cut("The model's answer was cut off.")
    if not reply.is_usable and not is_cut:
        raise InvalidReply("None of its entries followed the schema.")
    return reply


def _last_valid(answer: str, found: Sequence[FoundValue], output: type[OutputT]) -> OutputT:
    names = output.model_fields.keys()
    fault = f"It held no complete JSON object with the fields {', '.join(names)}."
    whole = () if any(one.is_cut for one in found) else reversed(found)
    for value in (one.value for one in whole):
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
    """Yield the objects that have a field of the structure: the value, or parts of a wrapper.

    A tool call written as text wraps a structure, a list of one, and a schema with values.
    """
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
    """Drop thoughts before the answer, and the quotes around a quoted answer."""
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
