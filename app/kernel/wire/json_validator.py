"""The validator of plain schemas (JSON Schema 2020-12). Importing this module is expensive."""

from collections.abc import Iterable

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend
from pydantic import JsonValue

from app.kernel.wire.json_schema import JsonObject, compiled
from app.kernel.wire.scalars import parse_timestamp


def _pattern(
    _validator: object, pattern: str, value: object, _schema: object
) -> Iterable[ValidationError]:
    if isinstance(value, str) and not compiled(pattern).search(value):
        yield ValidationError("does not match the pattern")


_FORMATS = FormatChecker(formats=("date", "email", "ipv4", "ipv6", "uuid"))


@_FORMATS.checks("date-time", raises=ValueError)
def _is_date_time(value: object) -> bool:
    return not isinstance(value, str) or parse_timestamp(value) is not None


_Validator = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]


def is_valid(schema: JsonObject, value: JsonValue) -> bool:
    """Return True if a value is valid under its plain schema."""
    accepts: bool = _Validator(schema, format_checker=_FORMATS).is_valid(value)
    return accepts
