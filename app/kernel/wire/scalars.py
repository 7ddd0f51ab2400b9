"""The JSON forms of durations, timestamps, 64-bit integers, enums and bytes.

Python values of the inner type are accepted as well: values of a row need no conversion for an
output model.

Source: proto3 JSON mapping; RFC 3339; google.protobuf.Duration; google.protobuf.Timestamp.
"""

import base64
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Annotated, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BeforeValidator,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)

from app.kernel.errors import InvalidArgument
from app.kernel.names import MAX_INT64

MIN_INT64 = -MAX_INT64 - 1
MAX_DURATION = timedelta(seconds=315_576_000_000)
"""About 10,000 years, the bound of google.protobuf.Duration."""

_MICROSECOND_DIGITS = 6
_DURATION_PATTERN = r"^-?[0-9]{1,12}(\.[0-9]{1,9})?s$"
_DURATION = re.compile(r"(-?)([0-9]{1,12})(?:\.([0-9]{1,9}))?s")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]{1,9}))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_INT64 = re.compile(r"-?[0-9]{1,19}")
# The largest whole number that a JSON number read as a float represents exactly.
_MAX_EXACT_FLOAT = 2**53

_E = TypeVar("_E", bound=StrEnum)


def parse_duration(text: str) -> timedelta:
    """Parse `3600s` or `1.5s`, truncated to microseconds."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError('must be seconds with the suffix s, such as "3600s" or "1.5s"')
    sign, seconds, fraction = match.groups()
    length = timedelta(seconds=int(seconds), microseconds=_microseconds(fraction))
    if length > MAX_DURATION:
        raise ValueError("must be at most 315576000000s")
    return -length if sign else length


def format_duration(length: timedelta) -> str:
    """Format a duration as seconds with as many fractional digits as needed and the suffix `s`."""
    sign = "-" if length < timedelta(0) else ""
    length = abs(length)
    seconds = length.days * 86_400 + length.seconds
    fraction = f".{length.microseconds:06d}".rstrip("0").rstrip(".")
    return f"{sign}{seconds}{fraction}s"


def parse_timestamp(text: str) -> datetime:
    """Parse an RFC 3339 timestamp into UTC, truncated to microseconds."""
    return parse_zoned_timestamp(text).astimezone(UTC)


def parse_zoned_timestamp(text: str) -> datetime:
    """Parse an RFC 3339 timestamp as `parse_timestamp` does, but keep its offset from UTC."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError('must be an RFC 3339 moment with an offset, like "2030-01-02T03:04:05Z"')
    *fields, fraction, sign, hours, minutes = match.groups()
    try:
        offset = timedelta(hours=int(hours or 0), minutes=_minutes(minutes or "0"))
        zone = timezone(-offset if sign == "-" else offset)
        year, month, day, hour, minute, second = map(int, fields)
        moment = datetime(year, month, day, hour, minute, second, _microseconds(fraction), zone)
        moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("must be a moment that exists, in the years 1 to 9999 of UTC") from None
    return moment


def format_timestamp(moment: datetime) -> str:
    """Format an aware time in UTC with `Z` and zero, three or six fractional digits."""
    # Without `timespec`, which costs as much as the rest: six fractional digits, or none.
    text = moment.astimezone(UTC).isoformat().removesuffix("+00:00")
    has_microseconds = moment.microsecond % 1000 or not moment.microsecond
    return (text if has_microseconds else text[:-3]) + "Z"


def format_zoned_timestamp(moment: datetime) -> str:
    """Format an aware time with its own offset; an offset of zero becomes `Z`."""
    if not moment.utcoffset():
        return format_timestamp(moment)
    return moment.isoformat()


def utc_offset(moment: datetime) -> int | None:
    """Return the offset of the sender's clock from UTC in minutes; None if it is unknown."""
    # Many clients write UTC wherever they are, so an offset of zero counts as unknown.
    offset = moment.utcoffset()
    return round(offset.total_seconds() / 60) if offset else None


def with_utc_offset(moment: datetime, minutes: int | None) -> datetime:
    """Return a time with the offset that `utc_offset` returned; in UTC if out of the calendar."""
    zone = UTC if minutes is None else timezone(timedelta(minutes=minutes))
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment.astimezone(UTC)


def moment_after(moment: datetime, length: timedelta, field: str) -> datetime:
    """Add a caller's duration to a time.

    Raises:
        InvalidArgument: the sum lies outside the calendar; the error names the field.
    """
    try:
        return moment + length
    except OverflowError:
        description = "must be a duration that ends before the year 10000."
        raise InvalidArgument.of_field(field, description) from None


def _microseconds(fraction: str | None) -> int:
    return int((fraction or "").ljust(_MICROSECOND_DIGITS, "0")[:_MICROSECOND_DIGITS])


def _minutes(text: str) -> int:
    minutes = int(text)
    if minutes > 59:
        raise ValueError("must be at most 59")
    return minutes


def _read_duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        raise ValueError('must be a string such as "3600s"')  # noqa: TRY004 - pydantic reads ValueError
    return parse_duration(value)


def _read_positive_duration(value: object) -> timedelta:
    length = _read_duration(value)
    if length <= timedelta(0):
        raise ValueError('must be longer than "0s"')
    return length


def _read_timestamp(value: object) -> datetime:
    return _read_zoned_timestamp(value).astimezone(UTC)


def _read_zoned_timestamp(value: object) -> datetime:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("must have an offset")
        return value
    if not isinstance(value, str):
        raise ValueError('must be a string such as "2030-01-02T03:04:05Z"')  # noqa: TRY004 - as above
    return parse_zoned_timestamp(value)


def _read_int64(value: object) -> int:
    number = _whole_number(value)
    if number is None or not MIN_INT64 <= number <= MAX_INT64:
        raise ValueError("must be a whole number of 64 bits, as a string or a number")
    return number


def _whole_number(value: object) -> int | None:
    match value:
        case bool():
            return None
        case int():
            return value
        case float() if value.is_integer() and abs(value) <= _MAX_EXACT_FLOAT:
            return int(value)
        case str() if _INT64.fullmatch(value):
            return int(value)
        case _:
            return None


def _read_base64(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    # Other types fail below, like text with an invalid character.
    text = value if isinstance(value, str) else "?"
    standard = text.translate(str.maketrans("-_", "+/")).rstrip("=")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except ValueError:
        raise ValueError("must be base64, standard or URL-safe") from None


def _write_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def one_of(kind: type[_E]) -> BeforeValidator:
    """Return the validator of an enum field; it refuses unknown values and names the known ones.

    A number selects the member at its position, as in the API's definition: generated clients send
    enums so. Source: proto3 JSON mapping, "parsers accept both enum names and integers". An answer
    field that must accept values of later versions is declared as `str` instead.
    """
    members = list(kind)
    names = ", ".join(members)

    def read(value: object) -> object:
        if isinstance(value, str) and value in members:
            return kind(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(members):
            return members[value]
        raise ValueError(f"must be one of {names}")

    return BeforeValidator(read)


def _check_time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError('must be an IANA time zone, such as "Europe/Berlin"') from None
    return name


def _schema(form: str, pattern: str | None, *examples: str) -> WithJsonSchema:
    schema: dict[str, object] = {"type": "string", "format": form, "examples": list(examples)}
    if pattern is not None:
        schema["pattern"] = pattern
    return WithJsonSchema(schema)


def _output(write: Callable[..., str]) -> PlainSerializer:
    return PlainSerializer(write, return_type=str, when_used="json-unless-none")


# The JSON Schema `format` named "duration" means ISO 8601 ("PT1H"), a different form.
_DURATION_SCHEMA = _schema("google-duration", _DURATION_PATTERN, "3600s", "1.5s")

Duration = Annotated[
    timedelta, PlainValidator(_read_duration), _output(format_duration), _DURATION_SCHEMA
]
"""A duration of either sign: `"3600s"`."""

PositiveDuration = Annotated[
    timedelta, PlainValidator(_read_positive_duration), _output(format_duration), _DURATION_SCHEMA
]
"""A duration above zero."""

Timestamp = Annotated[
    datetime,
    PlainValidator(_read_timestamp),
    _output(format_timestamp),
    _schema("date-time", None, "2030-01-02T03:04:05Z"),
]
"""A timestamp in UTC: `"2030-01-02T03:04:05Z"`."""

ZonedTimestamp = Annotated[
    datetime,
    PlainValidator(_read_zoned_timestamp),
    _output(format_zoned_timestamp),
    _schema("date-time", None, "2030-01-02T03:04:05+02:00"),
]
"""A timestamp with the offset of the clock that it was read from: `"2030-01-02T03:04:05+02:00"`."""

TimeZone = Annotated[str, AfterValidator(_check_time_zone)]
"""The name of a time zone: `"Europe/Berlin"`."""

Int64 = Annotated[
    int,
    PlainValidator(_read_int64),
    _output(str),
    _schema("int64", r"^-?[0-9]{1,19}$", "42"),
]
"""A 64-bit integer, a string on the wire: `"42"`."""

Base64Bytes = Annotated[
    bytes,
    PlainValidator(_read_base64),
    _output(_write_base64),
    _schema("byte", r"^[A-Za-z0-9+/_-]*={0,2}$", "aGVsbG8="),
]
"""Bytes as base64: standard out, standard or URL-safe in, padded or not."""
