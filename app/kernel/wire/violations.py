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
    violations = [
        FieldViolation(_path(item["loc"][skipped:]), _description(item)) for item in named
    ]
    listed = "; ".join(f"{v.field}: {v.description}" for v in violations[:3])
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


def _description(item: Any) -> str:  # noqa: ANN401 - the shape is pydantic's
    match item["type"]:
        case "extra_forbidden":
            return "is not a field of this message."
        case "missing":
            return "is required."
        case "value_error":
            return str(item["msg"]).removeprefix("Value error, ")
        case _:
            text = str(item["msg"])
            return text[:1].lower() + text[1:] + ("" if text.endswith(".") else ".")
