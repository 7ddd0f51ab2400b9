"""Reads the structure out of a model's text, which is rarely nothing but the structure.

Taken: prose around the JSON, code fences, `<think>` blocks before it, a tool call written as text,
JSON inside a JSON string. Refused: everything that does not hold the asked structure, also an
empty object, the schema itself, and what was cut off.
"""

import json

from pydantic import BaseModel, ValidationError

from app.llm.ports import OutputT

_DECODER = json.JSONDecoder()
_MAX_STARTS = 64
"""Opening braces that are tried, so that a reply full of them costs little."""
_MAX_ERRORS = 5
"""Faults that are named to the model; more say no more."""
_THOUGHT_ENDS = "</think>"
_ARGUMENTS = ("arguments", "parameters")


class InvalidReply(Exception):
    """The text holds no such structure. The message is for the model, never for a log."""


def parse(text: str, output: type[OutputT]) -> OutputT:
    """Return the last object in the text that is a valid `output`.

    Raises:
        InvalidReply: there is none; the message says what is wrong with the last one.
    """
    why = "It held no complete JSON object."
    for found in reversed(_objects(_unwrapped(text))):
        try:
            return _validated(found, output)
        except InvalidReply as invalid:
            why = str(invalid)
    raise InvalidReply(why)


def _validated(text: str, output: type[OutputT]) -> OutputT:
    found = _without_call(json.loads(text), output)
    if _is_schema(found, output):
        raise InvalidReply("It was the schema, not an answer that follows the schema.")
    if output.model_fields and found.keys().isdisjoint(_names(output)):
        raise InvalidReply(f"It had none of the fields {', '.join(sorted(_names(output)))}.")
    try:
        # From JSON, which is stricter than from Python objects about what a string may stand for.
        return output.model_validate_json(json.dumps(found))
    except ValidationError as error:
        raise InvalidReply(_faults(error)) from None


def _without_call(found: dict[str, object], output: type[BaseModel]) -> dict[str, object]:
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


def _is_schema(found: dict[str, object], output: type[BaseModel]) -> bool:
    return (
        isinstance(found.get("properties"), dict)
        and "properties" not in _names(output)
        and ("type" in found or "$defs" in found)
    )


def _names(output: type[BaseModel]) -> set[str]:
    """Return what the top-level fields may be called."""
    aliases = {field.alias for field in output.model_fields.values() if field.alias}
    return set(output.model_fields) | aliases


def _faults(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    named = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found[:_MAX_ERRORS]]
    return "; ".join(named) + "."


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


def _objects(text: str) -> list[str]:
    """Return the outermost JSON objects of the text; none where the text was cut off in one.

    An object further in is a part of the answer, one before the cut a part of what was meant.
    """
    found = []
    at = text.find("{")
    for _ in range(_MAX_STARTS):
        if at < 0:
            break
        try:
            _, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
                return []
            end = at + 1
        except RecursionError:
            return []
        else:
            found.append(text[at:end])
        at = text.find("{", end)
    return found
