"""The validator of plain schemas (JSON Schema 2020-12). Importing this module is expensive."""

from collections.abc import Callable, Iterable

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.validators import extend
from pydantic import JsonValue

from app.kernel.wire.json_schema import JsonObject, compiled
from app.kernel.wire.scalars import parse_timestamp

_MAX_PLACE_CHARS = 200


def _pattern(
    _validator: object, pattern: str, value: object, _schema: object
) -> Iterable[ValidationError]:
    if isinstance(value, str) and not compiled(pattern).search(value):
        yield ValidationError("does not match the pattern")


def _multiple_of(
    validator: object, divisor: object, value: object, schema: object
) -> Iterable[ValidationError]:
    try:
        yield from Draft202012Validator.VALIDATORS["multipleOf"](validator, divisor, value, schema)
    except OverflowError:
        # An integer above the largest float, with a divisor that is one.
        yield ValidationError("is too large")


_FORMATS = FormatChecker(formats=("date", "email", "ipv4", "ipv6", "uuid"))


@_FORMATS.checks("date-time", raises=ValueError)
def _is_date_time(value: object) -> bool:
    return not isinstance(value, str) or parse_timestamp(value) is not None


_Validator = extend(Draft202012Validator, {"pattern": _pattern, "multipleOf": _multiple_of})  # type: ignore[no-untyped-call]


def is_valid(schema: JsonObject, value: JsonValue) -> bool:
    """Return True if a value is valid under its plain schema."""
    accepts: bool = _Validator(schema, format_checker=_FORMATS).is_valid(value)
    return accepts


def fault_finder(schema: JsonObject) -> Callable[[JsonObject], str]:
    """Return a function that names the keyword of a plain schema that an object fails; "": none.

    The words come from the schema alone, never from the object.
    """
    validator = _Validator(schema, format_checker=_FORMATS)

    def fault(value: JsonObject) -> str:
        error: ValidationError | None = next(validator.iter_errors(value), None)
        if error is None:
            return ""
        place = "/".join(map(str, error.absolute_schema_path))
        required = error.validator_value
        instance = error.instance
        if (
            error.validator == "required"
            and isinstance(instance, dict)
            and isinstance(required, list)
        ):
            missing = [name for name in required if name not in instance]
            place += f" ({', '.join(missing)})"
        return f"It does not meet /{place[:_MAX_PLACE_CHARS]} of the schema."

    return fault
