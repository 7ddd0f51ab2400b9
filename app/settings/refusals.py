"""Messages about invalid settings, in the service's own words and without secrets."""

from collections.abc import Mapping
from json import JSONDecodeError
from typing import Any, get_args

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from app.settings.described import variable
from app.settings.settings import Settings
from app.settings.shown import is_shown

_MAX_CHARS = 80
_A_NUMBER = "must be a number"
_A_WHOLE_NUMBER = "must be a whole number"
_A_TRUTH = "must be true or false"
_AN_ARRAY = "must be a JSON array"
_AN_OBJECT = "must be a JSON object"
_WORDS = {
    "bool_parsing": _A_TRUTH,
    "bool_type": _A_TRUTH,
    "dataclass_type": _AN_OBJECT,
    "dict_type": _AN_OBJECT,
    "enum": "must be {expected}",
    "extra_forbidden": "must be left out: there is no such field",
    "finite_number": "must be a finite number",
    "float_parsing": _A_NUMBER,
    "float_type": _A_NUMBER,
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "int_from_float": _A_WHOLE_NUMBER,
    "int_parsing": _A_WHOLE_NUMBER,
    "int_parsing_size": "must be a whole number with fewer digits",
    "int_type": _A_WHOLE_NUMBER,
    "ip_any_network": "must be an address or a network, such as 10.0.0.0/8",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "list_type": _AN_ARRAY,
    "literal_error": "must be {expected}",
    "missing": "must be given",
    "model_type": _AN_OBJECT,
    "path_type": "must be a path",
    "string_too_short": "must have at least {min_length} characters",
    "string_type": "must be a text",
    "too_short": "must have a length of at least {min_length}",
    "tuple_type": _AN_ARRAY,
}
"""The words for a fault, by type of pydantic error; other types have their own message."""


def refusals(error: ValidationError) -> list[str]:
    """Return a sentence for each invalid setting or part of a setting."""
    return list(dict.fromkeys(map(_sentence, error.errors())))


def _sentence(item: ErrorDetails) -> str:
    wanted = _wanted(item).removesuffix(".")
    if not item["loc"]:
        # An error about several settings names them itself.
        return f"{wanted}."
    setting, *inner = item["loc"]
    got = _got(str(setting), item)
    if got and "got " not in wanted:
        wanted += f"; got {got}"
    name = variable(str(setting))
    return f"{name}: {_path(inner)} {wanted}." if inner else f"{name} {wanted}."


def _wanted(item: ErrorDetails) -> str:
    context: Mapping[str, Any] = item.get("ctx", {})
    if isinstance(context.get("error"), JSONDecodeError):
        return "must be JSON"
    if words := _WORDS.get(item["type"]):
        return words.format_map({name: _plain(value) for name, value in context.items()})
    return item["msg"].removeprefix("Value error, ")


def _plain(value: object) -> str:
    if isinstance(value, int | float):
        return f"{value:,}".removesuffix(".0")
    return str(value).replace("'", "")


def _path(inner: list[int | str]) -> str:
    """Format `("house", "tokens", 0)` as `house.tokens[0]`."""
    path = ""
    for part in inner:
        path += f"[{part}]" if isinstance(part, int) else f".{part[:_MAX_CHARS]}"
    return path.removeprefix(".")


def _got(setting: str, item: ErrorDetails) -> str:
    """Return the given value if it is short and cannot hold a secret."""
    given = item["input"]
    field = Settings.model_fields.get(setting)
    if field is None or _holds_secret(field.annotation) or not isinstance(given, str | int | float):
        return ""
    text = str(given)
    return text if 0 < len(text) <= _MAX_CHARS and is_shown(text) else ""


def _holds_secret(annotation: Any) -> bool:  # noqa: ANN401 - an annotation may be anything
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return any(_holds_secret(field.annotation) for field in annotation.model_fields.values())
    return annotation is SecretStr or any(map(_holds_secret, get_args(annotation)))
