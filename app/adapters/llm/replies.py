"""Reads the structure out of a model's text, which is rarely nothing but the structure.

Taken: prose around the JSON, code fences, `<think>` blocks before it, a tool call written as text,
JSON inside a JSON string, fields that nobody asked for, null for a default. Where the structure is
`Told`, prose alone is taken as its text. Refused: everything else that does not hold the asked
structure, also an empty object, the schema itself, and what was cut off.
"""

import json
import re
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.adapters.llm.ports import OutputT
from app.kernel.wire.model_text import Told

_DECODER = json.JSONDecoder()
_MAX_STARTS = 64
"""Opening braces that are tried, so that a reply full of them costs little."""
_MAX_ERRORS = 5
"""Faults that are named to the model; more say no more."""
_MAX_NULLS = 500
"""Faults that are looked at; a reply with more of them is not mended."""
_MAX_FAULT_CHARS = 500
_THOUGHT_ENDS = "</think>"
_ARGUMENTS = ("arguments", "parameters")
_FENCED = re.compile(r"```[\w-]*[ \t]*\n?(.*?)\n?```", re.DOTALL)
"""A whole text between fences, without them."""


class InvalidReply(Exception):
    """The text holds no such structure. The message is for the model, never for a log."""


def parse(text: str, output: type[OutputT]) -> OutputT:
    """Return the last object in the text that is a valid `output`; of `Told`, else the text itself.

    Raises:
        InvalidReply: there is none; the message says what is wrong with the last one.
    """
    try:
        return _last_valid(text, output)
    except RecursionError:
        raise InvalidReply("It was nested too deeply.") from None
    except ValueError:
        # Of `json`, for numbers of thousands of digits.
        raise InvalidReply("It held a number that is too long.") from None


def _last_valid(text: str, output: type[OutputT]) -> OutputT:
    why = "It held no complete JSON object."
    said = _unwrapped(text)
    for found in reversed(_objects(said)):
        try:
            return _validated(_without_call(found, output), output)
        except InvalidReply as invalid:
            why = str(invalid)
    if issubclass(output, Told) and (prose := _prose(said, output)):
        with suppress(ValidationError):
            return output.of_prose(prose)
    raise InvalidReply(why)


def _prose(said: str, output: type[BaseModel]) -> str:
    """Return what a model says in place of a structure; empty: nothing, or a structure gone wrong.

    A structure gone wrong begins with a brace, or has one of the fields in quotes somewhere.
    """
    fenced = _FENCED.fullmatch(said)
    prose = (fenced[1] if fenced else said).strip()
    is_structure = prose.startswith("{") or prose == "null"
    is_structure = is_structure or any(f'"{name}"' in prose for name in _names(output))
    return "" if is_structure else prose


def _validated(found: dict[str, Any], output: type[OutputT]) -> OutputT:
    if _is_schema(found, output):
        raise InvalidReply("It was the schema, not an answer that follows the schema.")
    if output.model_fields and found.keys().isdisjoint(_names(output)):
        raise InvalidReply(f"It had none of the fields {', '.join(sorted(_names(output)))}.")
    try:
        return _read(found, output)
    except ValidationError as error:
        faults = _faults(error)
    if not _drop_nulls(found, faults):
        raise InvalidReply(_told(faults))
    try:
        return _read(found, output)
    except ValidationError as error:
        raise InvalidReply(_told(_faults(error))) from None


def _read(found: dict[str, Any], output: type[OutputT]) -> OutputT:
    """Read from JSON, which is stricter than from objects about what a string may stand for.

    Fields that are not known are passed over: only some providers keep models from adding them.
    """
    return output.model_validate_json(json.dumps(found), extra="ignore")


def _faults(error: ValidationError) -> list[ErrorDetails]:
    if error.error_count() > _MAX_NULLS:
        raise InvalidReply(f"It had {error.error_count()} faults.") from None
    return error.errors(include_url=False, include_context=False)


def _drop_nulls(found: dict[str, Any], faults: list[ErrorDetails]) -> bool:
    """Leave out each field that is null and may not be, and say whether there was any.

    Many models write null for what has a default; one without is then told to be missing.
    """
    nulls = [one["loc"] for one in faults if one["input"] is None]
    for *path, name in nulls:
        holder: Any = found
        # Not every step of a place is a key: some name the kind that was tried.
        with suppress(LookupError, TypeError):
            for step in path:
                holder = holder[step]
            if isinstance(holder, dict):
                del holder[name]
    return bool(nulls)


def _told(faults: list[ErrorDetails]) -> str:
    named = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in faults[:_MAX_ERRORS]]
    return "; ".join(named)[:_MAX_FAULT_CHARS] + "."


def _without_call(found: dict[str, Any], output: type[BaseModel]) -> dict[str, Any]:
    """Return the arguments, where the object is a tool call that was written out."""
    if "name" not in found or "name" in _names(output):
        return found
    for key in _ARGUMENTS:
        inner = found.get(key)
        if isinstance(inner, str):
            try:
                inner = json.loads(inner)
            except ValueError:
                continue
        if isinstance(inner, dict) and key not in _names(output):
            return inner
    return found


def _is_schema(found: dict[str, Any], output: type[BaseModel]) -> bool:
    return (
        isinstance(found.get("properties"), dict)
        and "properties" not in _names(output)
        and ("type" in found or "$defs" in found)
    )


def _names(output: type[BaseModel]) -> set[str]:
    """Return what the top-level fields may be called."""
    aliases = {field.alias for field in output.model_fields.values() if field.alias}
    return set(output.model_fields) | aliases


def _unwrapped(text: str) -> str:
    """Drop thoughts that come before the answer, and the quotes around a quoted answer.

    Raises:
        InvalidReply: it is a list of other than one answer, of which none is the answer.
    """
    stripped = text.strip()
    if _THOUGHT_ENDS in stripped and not stripped.startswith("{"):
        # The first one: a later one may stand in a string of the answer.
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
    """Return the outermost JSON objects of the text; none where the text was cut off in one.

    An object further in is a part of the answer, one before the cut a part of what was meant.
    """
    found = []
    at = text.find("{")
    for _ in range(_MAX_STARTS):
        if at < 0:
            break
        try:
            one, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
                return []
            end = at + 1
        else:
            found.append(one)
        at = text.find("{", end)
    return found
