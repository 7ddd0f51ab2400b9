"""Errors that name the invalid fields of a message. Source: google.rpc.BadRequest."""

from collections.abc import Sequence
from typing import Any

from app.kernel.errors import FieldViolation, InvalidArgument, Reason

# The answer must stay small even if every field of the request is wrong.
MAX_VIOLATIONS = 20
_MAX_NAME_CHARS = 80


def invalid_fields(errors: Sequence[Any], *, skipped: int = 0) -> InvalidArgument:
    """Return an error that names the refused fields in wire spelling, never their values.

    `skipped` is the number of leading path parts outside the message.
    """
    named = errors[:MAX_VIOLATIONS]
    violations = [FieldViolation(_path(item["loc"][skipped:]), described(item)) for item in named]
    listed = "; ".join(f"{v.field}: {v.description}" for v in violations[:3]).replace(".; ", "; ")
    return InvalidArgument(listed, Reason.FIELD_INVALID, violations=violations)


def _path(location: Sequence[str | int]) -> str:
    """Format `("events", 0, "content")` as `events[0].content`."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            # An unknown name may have any length.
            path += f".{part[:_MAX_NAME_CHARS]}" if path else part[:_MAX_NAME_CHARS]
    return path or "body"


_WORDS = {
    **dict.fromkeys(("string_type", "string_unicode", "bytes_type"), "a string"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_parsing_size", "int_from_float"), "an integer"
    ),
    **dict.fromkeys(("float_type", "float_parsing", "decimal_type", "decimal_parsing"), "a number"),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"),
        "an object",
    ),
    **dict.fromkeys(
        ("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"), "a list"
    ),
    "none_required": "null",
    "json_invalid": "JSON",
    "json_type": "a string",
    **dict.fromkeys(("date_type", "date_parsing"), "a date, such as 2026-01-31"),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing"),
        "a time, such as 2026-01-31T12:00:00Z",
    ),
    **dict.fromkeys(("uuid_type", "uuid_parsing"), "a UUID"),
    **dict.fromkeys(("url_type", "url_parsing", "url_syntax_violation"), "a URL"),
}
"""JSON words for the expected type, in place of pydantic's Python names."""
_FORMS = {
    "extra_forbidden": "is not a field of this message.",
    "missing": "is required.",
    "string_pattern_mismatch": "must match the pattern {pattern}.",
    "union_tag_invalid": "must have as {discriminator} one of {expected_tags}.",
    "union_tag_not_found": "must have {discriminator}.",
}
_DEMAND = " should "
_COUNTED = " after validation, not "


def described(item: Any) -> str:  # noqa: ANN401 - the shape is pydantic's
    """Describe the requirement that a field violates in JSON terms, from one error of pydantic."""
    kind, text = str(item["type"]), str(item["msg"])
    if kind in _FORMS:
        return _FORMS[kind].format_map(item.get("ctx") or {})
    if kind == "value_error":
        return text.removeprefix("Value error, ")
    if kind in _WORDS:
        word = _WORDS[kind]
    elif _DEMAND in text:
        return f"must {text.partition(_DEMAND)[2].replace(_COUNTED, '; got ')}."
    else:
        word = "of another form"
    return f"must be {word}."
