"""A parser of a model's text, which is rarely nothing but the requested structure.

Accepted: prose around the JSON, code fences, `<think>` blocks before it, a tool call written as
text, a structure inside another, text that is nearly JSON, extra fields, null for a default. An
`EntriesReply` is put together from all values; of any other structure the last one counts. Prose
alone is accepted as the text of a `TextReply`. Refused: everything else that does not hold the
structure, including an empty object, the schema itself, and truncated text.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.adapters.llm.json_text import NotMended, Values, values
from app.adapters.llm.ports import OutputT
from app.kernel.text import UNSTORABLE
from app.kernel.wire.model_entries import EntriesReply, FoundValue
from app.kernel.wire.model_text import TextReply

_MAX_ERRORS = 5
"""Faults that are named to the model; more would add nothing."""
_MAX_NULLS = 500
"""Faults that are examined; a reply with more of them is not repaired."""
_MAX_FAULT_CHARS = 500
_MAX_WRAPPERS = 3
_THOUGHT_ENDS = "</think>"
_NO_JSON = "It held no complete JSON object."
_CUT = "The model's answer was cut off."
_FENCED = re.compile(r"```[\w-]*[ \t]*\n?(.*?)\n?```", re.DOTALL)
"""A whole text between code fences; the group is the text."""

_EntriesT = TypeVar("_EntriesT", bound=EntriesReply)


class CutText(str):
    """A text that was cut off at its longest, as its provider says."""

    __slots__ = ()


class InvalidReply(Exception):
    """The text holds no valid structure. The message is for the model, never for a log."""


def parse(text: str, output: type[OutputT]) -> OutputT:
    """Return the structure in the text; for `TextReply`, else the text.

    Raises:
        InvalidReply: none is valid; the message describes the faults of the last one.
    """
    answer = _unwrapped(text)
    try:
        found = values(answer)
        if issubclass(output, EntriesReply):
            return _of_entries(found, output, is_cut=isinstance(text, CutText))
        return _last_valid(answer, found, output)
    except (RecursionError, NotMended):
        raise InvalidReply("It was nested too deeply, or too long.") from None
    except ValueError:
        # `json` raises it for numbers of thousands of digits.
        raise InvalidReply("It held a number that is too long.") from None


def _of_entries(found: Values, output: type[_EntriesT], *, is_cut: bool) -> _EntriesT:
    """Return the structure of all entries; a text that was cut off gives at least an empty one."""
    reply = output.of_values([*found.found, *([FoundValue([])] if is_cut else [])])
    if reply is None:
        raise InvalidReply(_NO_JSON)
    if is_cut or found.is_cut:
        reply.mark_cut(_CUT)
    if not reply.is_usable and not is_cut:
        raise InvalidReply("None of its entries followed the schema.")
    return reply


def _last_valid(answer: str, found: Values, output: type[OutputT]) -> OutputT:
    why = _NO_JSON
    if not found.is_cut:
        for one in reversed(found.found):
            try:
                return _validated(one.value, output)
            except InvalidReply as invalid:
                why = str(invalid)
    if issubclass(output, TextReply) and (prose := _prose(answer, output)):
        with suppress(ValidationError):
            return output.of_prose(prose)
    raise InvalidReply(why)


def _prose(answer: str, output: type[BaseModel]) -> str:
    """Return a model's prose in place of a structure; empty: nothing, or an invalid structure.

    An invalid structure begins with a brace, is JSON, or has one of the fields in quotes somewhere.
    """
    fenced = _FENCED.fullmatch(answer)
    prose = (fenced[1] if fenced else answer).strip()
    is_structure = prose.startswith("{") or prose == "null" or _is_json_list(prose)
    is_structure = is_structure or any(f'"{name}"' in prose for name in _names(output))
    return "" if is_structure else prose


def _is_json_list(text: str) -> bool:
    with suppress(ValueError):
        return text.startswith("[") and isinstance(json.loads(text), list)
    return False


def _validated(value: object, output: type[OutputT]) -> OutputT:
    """Return the structure in a value: all of it, else what it wraps."""
    if isinstance(value, list) and len(value) != 1:
        raise InvalidReply(f"It held {len(value)} answers in place of one with everything in it.")
    faults: list[str] = []
    for candidate in _structures(value, output):
        try:
            return _filled(candidate, output)
        except ValidationError as error:
            faults.append(_message(error))
    names = ", ".join(sorted(_names(output)))
    raise InvalidReply(faults[0] if faults else f"It had none of the fields {names}.")


def _filled(candidate: dict[str, Any], output: type[OutputT]) -> OutputT:
    """Validate an object; a null that must not be one stands for a default."""
    try:
        return _read(candidate, output)
    except ValidationError as error:
        if error.error_count() > _MAX_NULLS or not _drop_nulls(candidate, error.errors()):
            raise
    return _read(candidate, output)


def _structures(value: object, output: type[BaseModel], depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the objects that have a field of the structure: the value, or parts of a wrapper.

    A tool call written as text wraps a structure, a list of one, and a schema with values.
    """
    if isinstance(value, str) and depth and value.lstrip().startswith("{"):
        with suppress(ValueError):
            value = json.loads(value, strict=False)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict) or depth > _MAX_WRAPPERS:
        return
    names = _names(output)
    is_schema = isinstance(value.get("properties"), dict) and "properties" not in names
    if not output.model_fields or not names.isdisjoint(value):
        yield value
    if not (is_schema and "type" in value and _is_described(value["properties"])):
        for inner in value.values():
            yield from _structures(inner, output, depth + 1)


def _is_described(properties: dict[str, Any]) -> bool:
    """Return True for the properties of a schema, which describe values and have none."""
    return all(
        isinstance(one, dict) and {"type", "$ref", "anyOf"} & one.keys()
        for one in properties.values()
    )


def _read(candidate: dict[str, Any], output: type[OutputT]) -> OutputT:
    """Validate from JSON, which converts strings more strictly than validation of objects.

    Unknown fields are ignored: only some providers keep models from adding them.
    """
    written = UNSTORABLE.sub("", json.dumps(candidate, ensure_ascii=False))
    return output.model_validate_json(written, extra="ignore")


def _drop_nulls(candidate: dict[str, Any], faults: Sequence[ErrorDetails]) -> bool:
    """Remove each null field that must not be null; return True if there was any.

    Many models write null for a default; a field without one is then reported as missing.
    """
    nulls = [fault["loc"] for fault in faults if fault["input"] is None]
    for *path, name in nulls:
        holder: Any = candidate
        # Not every step of a location is a key: some name the kind that was tried.
        with suppress(LookupError, TypeError):
            for step in path:
                holder = holder[step]
            if isinstance(holder, dict):
                del holder[name]
    return bool(nulls)


def _message(error: ValidationError) -> str:
    if error.error_count() > _MAX_NULLS:
        return f"It had {error.error_count()} faults."
    faults = error.errors(include_url=False, include_context=False)[:_MAX_ERRORS]
    named = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults]
    return "; ".join(named)[:_MAX_FAULT_CHARS] + "."


def _names(output: type[BaseModel]) -> set[str]:
    """Return the accepted names of the top-level fields."""
    aliases = {field.alias for field in output.model_fields.values() if field.alias}
    return set(output.model_fields) | aliases


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
