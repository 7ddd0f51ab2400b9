"""Settings for administrators, without secrets: their facts, their values, and their faults."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from json import JSONDecodeError
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, JsonValue, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, to_jsonable_python

from app.kernel.tuning import Tuning
from app.settings.environment import PREFIX
from app.settings.settings import Settings

_UNITS = {"seconds": "seconds", "bytes": "bytes", "chars": "characters", "rows": "rows"}
_STEPS = {
    "seconds": ((86_400, "day"), (3_600, "hour"), (60, "minute")),
    "bytes": ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")),
}
_BOUNDS = ("ge", "gt", "le", "lt")
HIDDEN = "set"
"""Stand-in for a secret."""
# User information or a query may contain a password or an access key.
_ADDRESS_WITH_SECRET = re.compile(r"://\S*[@?]")
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


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


def unit(name: str) -> str:
    """Return the unit of a setting, which is part of its name."""
    counted, is_rate, _ = name.partition("_per_second")
    word = counted.removesuffix("_per_key").removesuffix("_held").rpartition("_")[2]
    found = _UNITS.get(word, "")
    return f"{found or word} a second" if is_rate else found


def choices(setting: FieldInfo) -> list[str]:
    """Return the allowed values of a setting; empty if it is not an enumeration."""
    return [str(choice) for part in _parts(setting.annotation) for choice in _choices(part)]


def bounds(setting: FieldInfo) -> list[tuple[str, int | float]]:
    """Return the bounds of a number as pairs of `ge`, `gt`, `le` or `lt` and the bound."""
    return [
        (name, bound)
        for limit in setting.metadata
        for name in _BOUNDS
        if isinstance(bound := getattr(limit, name, None), int | float)
    ]


def rounded(word: str, value: float) -> str:
    """Return seconds or bytes in a larger unit, in brackets; empty if none divides them evenly."""
    for size, larger in _STEPS.get(word, ()):
        if value >= size and value % size == 0:
            count = round(value / size)
            plural = "s" if word == "seconds" and count != 1 else ""
            return f" ({count:,} {larger}{plural})"
    return ""


def _parts(annotation: object) -> Iterator[object]:
    if get_origin(annotation) in {None, Literal}:
        yield annotation
        return
    for part in get_args(annotation):
        yield from _parts(part)


def _choices(annotation: object) -> list[object]:
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return [member.value for member in annotation]
    return []


@dataclass(frozen=True)
class ShownSetting:
    """A setting; `HIDDEN` replaces each secret in the value, and None means not set."""

    name: str
    description: str
    default: JsonValue
    value: JsonValue

    @property
    def is_default(self) -> bool:
        """True if the value is the default."""
        return self.value == self.default


def shown_settings(settings: Settings) -> Iterator[ShownSetting]:
    """Yield all settings with the names of their variables."""
    for name, field in type(settings).model_fields.items():
        value = _shown(getattr(settings, name))
        default = _shown(field.get_default(call_default_factory=True))
        description = field.description or ""
        yield ShownSetting(variable(name), description, default, value)


def is_shown(text: str) -> bool:
    """Return True unless the text may be an address with a password or an access key."""
    return not _ADDRESS_WITH_SECRET.search(text)


def _shown(value: Any) -> JsonValue:  # noqa: ANN401 - settings are of any type
    match _ungrouped(value):
        case SecretStr() as secret:
            return HIDDEN if secret.get_secret_value() else None
        case str() as text if not is_shown(text):
            return HIDDEN
        case Mapping() as entries:
            return {str(key): _shown(entry) for key, entry in entries.items()}
        case list() | tuple() as items:
            return [_shown(item) for item in items]
        case other:
            shown: JsonValue = to_jsonable_python(other)
            return shown


def _ungrouped(value: Any) -> Any:  # noqa: ANN401 - as above
    """Convert a group of values to a map that keeps `SecretStr`; other values are unchanged."""
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True, exclude_none=True)
    return asdict(value) if isinstance(value, Tuning) else value


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
