"""A parser of a model's text, which is rarely nothing but the requested structure.

Accepted: prose around the JSON, code fences, `<think>` blocks before it, a tool call written as
text, JSON inside a JSON string, extra fields, null for a default. Prose alone is accepted as the
text of a `TextReply`. Refused: everything else that does not hold the structure, including
an empty object, the schema itself, and truncated text.
"""

import json
import re
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.adapters.llm.ports import OutputT
from app.kernel.wire.model_text import TextReply

_DECODER = json.JSONDecoder()
_MAX_STARTS = 64
"""Opening braces that are tried, so that a reply full of them costs little."""
_MAX_ERRORS = 5
"""Faults that are named to the model; more would add nothing."""
_MAX_NULLS = 500
"""Faults that are examined; a reply with more of them is not repaired."""
_MAX_FAULT_CHARS = 500
_THOUGHT_ENDS = "</think>"
_ARGUMENTS = ("arguments", "parameters")
_FENCED = re.compile(r"```[\w-]*[ \t]*\n?(.*?)\n?```", re.DOTALL)
"""A whole text between code fences; the group is the text."""


class InvalidReply(Exception):
    """The text holds no valid structure. The message is for the model, never for a log."""


def parse(text: str, output: type[OutputT]) -> OutputT:
    """Return the last object in the text that is a valid `output`; for `TextReply`, else the text.

    Raises:
        InvalidReply: none is valid; the message describes the faults of the last one.
    """
    try:
        return _last_valid(text, output)
    except RecursionError:
        raise InvalidReply("It was nested too deeply.") from None
    except ValueError:
        # `json` raises it for numbers of thousands of digits.
        raise InvalidReply("It held a number that is too long.") from None


def _last_valid(text: str, output: type[OutputT]) -> OutputT:
    why = "It held no complete JSON object."
    answer = _unwrapped(text)
    for candidate in reversed(_objects(answer)):
        try:
            return _validated(_without_call(candidate, output), output)
        except InvalidReply as invalid:
            why = str(invalid)
    if issubclass(output, TextReply) and (prose := _prose(answer, output)):
        with suppress(ValidationError):
            return output.of_prose(prose)
    raise InvalidReply(why)


def _prose(answer: str, output: type[BaseModel]) -> str:
    """Return a model's prose in place of a structure; empty: nothing, or an invalid structure.

    An invalid structure begins with a brace, or has one of the fields in quotes somewhere.
    """
    fenced = _FENCED.fullmatch(answer)
    prose = (fenced[1] if fenced else answer).strip()
    is_structure = prose.startswith("{") or prose == "null"
    is_structure = is_structure or any(f'"{name}"' in prose for name in _names(output))
    return "" if is_structure else prose


def _validated(candidate: dict[str, Any], output: type[OutputT]) -> OutputT:
    if _is_schema(candidate, output):
        raise InvalidReply("It was the schema, not an answer that follows the schema.")
    if output.model_fields and candidate.keys().isdisjoint(_names(output)):
        raise InvalidReply(f"It had none of the fields {', '.join(sorted(_names(output)))}.")
    try:
        return _read(candidate, output)
    except ValidationError as error:
        faults = _faults(error)
    if not _drop_nulls(candidate, faults):
        raise InvalidReply(_message(faults))
    try:
        return _read(candidate, output)
    except ValidationError as error:
        raise InvalidReply(_message(_faults(error))) from None


def _read(candidate: dict[str, Any], output: type[OutputT]) -> OutputT:
    """Validate from JSON, which converts strings more strictly than validation of objects.

    Unknown fields are ignored: only some providers keep models from adding them.
    """
    return output.model_validate_json(json.dumps(candidate), extra="ignore")


def _faults(error: ValidationError) -> list[ErrorDetails]:
    if error.error_count() > _MAX_NULLS:
        raise InvalidReply(f"It had {error.error_count()} faults.") from None
    return error.errors(include_url=False, include_context=False)


def _drop_nulls(candidate: dict[str, Any], faults: list[ErrorDetails]) -> bool:
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


def _message(faults: list[ErrorDetails]) -> str:
    named = [
        f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults[:_MAX_ERRORS]
    ]
    return "; ".join(named)[:_MAX_FAULT_CHARS] + "."


def _without_call(candidate: dict[str, Any], output: type[BaseModel]) -> dict[str, Any]:
    """Return the arguments if the object is a tool call written as text."""
    if "name" not in candidate or "name" in _names(output):
        return candidate
    for key in _ARGUMENTS:
        inner = candidate.get(key)
        if isinstance(inner, str):
            try:
                inner = json.loads(inner)
            except ValueError:
                continue
        if isinstance(inner, dict) and key not in _names(output):
            return inner
    return candidate


def _is_schema(candidate: dict[str, Any], output: type[BaseModel]) -> bool:
    return (
        isinstance(candidate.get("properties"), dict)
        and "properties" not in _names(output)
        and ("type" in candidate or "$defs" in candidate)
    )


def _names(output: type[BaseModel]) -> set[str]:
    """Return the accepted names of the top-level fields."""
    aliases = {field.alias for field in output.model_fields.values() if field.alias}
    return set(output.model_fields) | aliases


def _unwrapped(text: str) -> str:
    """Drop thoughts before the answer, and the quotes around a quoted answer.

    Raises:
        InvalidReply: it is a list of other than one answer.
    """
    stripped = text.strip()
    if _THOUGHT_ENDS in stripped and not stripped.startswith("{"):
        # The first end tag: a later one may stand in a string of the answer.
        stripped = stripped.partition(_THOUGHT_ENDS)[2].strip()
    elif stripped.startswith("<think"):
        return ""
    if not stripped.startswith(('"', "[")):
        return stripped
    try:
        whole = json.loads(stripped)
    except (ValueError, RecursionError):
        return stripped
    if isinstance(whole, list) and len(whole) != 1:
        raise InvalidReply(f"It held {len(whole)} answers in place of one with everything in it.")
    return whole if isinstance(whole, str) else stripped


def _objects(text: str) -> list[dict[str, Any]]:
    """Return the outermost JSON objects of the text; none if the text is cut off inside one.

    An inner object is only a part of the answer; one before the cut is only a part of what was
    meant.
    """
    objects = []
    at = text.find("{")
    for _ in range(_MAX_STARTS):
        if at < 0:
            break
        try:
            candidate, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
                return []
            end = at + 1
        else:
            objects.append(candidate)
        at = text.find("{", end)
    return objects
