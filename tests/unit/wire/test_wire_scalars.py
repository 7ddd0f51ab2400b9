"""The JSON forms of scalars."""

from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Annotated

import pytest
from pydantic import TypeAdapter, ValidationError

from app.kernel.errors import InvalidArgument
from app.kernel.names import MAX_INT64
from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import (
    MIN_INT64,
    Base64Bytes,
    Duration,
    Int64,
    PositiveDuration,
    Timestamp,
    format_timestamp,
    moment_after,
    one_of,
    parse_timestamp,
    with_utc_offset,
)

DURATION: TypeAdapter[timedelta] = TypeAdapter(Duration)
POSITIVE: TypeAdapter[timedelta] = TypeAdapter(PositiveDuration)
TIMESTAMP: TypeAdapter[datetime] = TypeAdapter(Timestamp)
INT64: TypeAdapter[int] = TypeAdapter(Int64)
BYTES: TypeAdapter[bytes] = TypeAdapter(Base64Bytes)


class Colour(StrEnum):
    RED = "RED"
    BLUE = "BLUE"


class Everything(WireModel):
    lasts: Duration | None = None
    at: Timestamp | None = None
    count: Int64 | None = None
    colour: Annotated[Colour, one_of(Colour)] | None = None
    data: Base64Bytes | None = None


@pytest.mark.parametrize(
    ("text", "length", "written"),
    [
        ("3600s", timedelta(hours=1), "3600s"),
        ("1.5s", timedelta(seconds=1.5), "1.5s"),
        ("0s", timedelta(0), "0s"),
        ("-0.000001s", timedelta(microseconds=-1), "-0.000001s"),
        ("-1.5s", timedelta(seconds=-1.5), "-1.5s"),
        ("1.123456789s", timedelta(seconds=1, microseconds=123456), "1.123456s"),
        ("0.1s", timedelta(milliseconds=100), "0.1s"),
        ("315576000000s", timedelta(seconds=315576000000), "315576000000s"),
    ],
)
def test_durations(text: str, length: timedelta, written: str) -> None:
    assert DURATION.validate_python(text) == length
    assert DURATION.dump_python(length, mode="json") == written


@pytest.mark.parametrize(
    "value",
    [
        "",
        "1",
        "1m",
        "s",
        "1.s",
        ".5s",
        "+1s",
        "1.1234567890s",
        "1 s",
        "1s\n",
        "\u0661s",
        "1e3s",
        "PT1H",
        "315576000000.1s",
        "315576000001s",
        "9999999999999s",
        1,
        1.5,
        True,
        None,
        {},
    ],
)
def test_bad_durations_are_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        DURATION.validate_python(value)


@pytest.mark.parametrize("text", ["0s", "-1s", "0.0000001s"])
def test_a_positive_duration_is_above_zero(text: str) -> None:
    assert POSITIVE.validate_python("0.000001s") == timedelta(microseconds=1)
    with pytest.raises(ValidationError, match="must be longer"):
        POSITIVE.validate_python(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2030-01-02T03:04:05Z", "2030-01-02T03:04:05Z"),
        ("2030-01-02t03:04:05z", "2030-01-02T03:04:05Z"),
        ("2030-01-02T03:04:05+00:00", "2030-01-02T03:04:05Z"),
        ("2030-01-02T03:04:05-01:30", "2030-01-02T04:34:05Z"),
        ("2030-01-02T03:04:05.1Z", "2030-01-02T03:04:05.100Z"),
        ("2030-01-02T03:04:05.123456789Z", "2030-01-02T03:04:05.123456Z"),
        ("2030-01-02T03:04:05.000000001Z", "2030-01-02T03:04:05Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_timestamps(text: str, written: str) -> None:
    moment = TIMESTAMP.validate_python(text)
    assert moment.tzinfo is UTC
    assert TIMESTAMP.dump_python(moment, mode="json") == written


@pytest.mark.parametrize(
    "value",
    [
        "",
        "2030-01-02",
        "2030-01-02T03:04:05",
        "2030-01-02 03:04:05Z",
        "2030-1-2T03:04:05Z",
        "2030-02-30T00:00:00Z",
        "2030-01-02T24:00:00Z",
        "2030-01-02T03:04:60Z",
        "2030-01-02T03:04:05+24:00",
        "2030-01-02T03:04:05+01:60",
        "2030-01-02T03:04:05.Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-00:01",
        "2030-01-02T03:04:05Z\n",
        "\u0662030-01-02T03:04:05Z",
        "1700000000",
        1700000000,
        1.5,
        None,
        datetime(2030, 1, 2),  # noqa: DTZ001 - a naive moment is what is tested
    ],
)
def test_bad_timestamps_are_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        TIMESTAMP.validate_python(value)


def test_aware_moments_become_utc() -> None:
    moment = datetime(2030, 1, 2, 3, tzinfo=timezone(timedelta(hours=1)))
    assert TIMESTAMP.validate_python(moment) == moment
    assert format_timestamp(moment) == "2030-01-02T02:00:00Z"


def test_a_duration_may_not_leave_the_calendar() -> None:
    moment = parse_timestamp("2030-01-02T03:04:05Z")
    assert moment_after(moment, timedelta(days=1), "ttl") == moment + timedelta(days=1)
    with pytest.raises(InvalidArgument, match="ttl: must be a duration that ends before"):
        moment_after(moment, timedelta(seconds=315576000000), "ttl")


@pytest.mark.parametrize(
    ("value", "number"),
    [("42", 42), (42, 42), (42.0, 42), ("-1", -1), (str(MIN_INT64), MIN_INT64), ("007", 7)],
)
def test_int64_is_read_from_text_and_numbers(value: object, number: int) -> None:
    assert INT64.validate_python(value) == number


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        "1.0",
        "1e3",
        " 1",
        "\u0661",
        "+1",
        "9" * 5000,
        str(MAX_INT64 + 1),
        MAX_INT64 + 1,
        MIN_INT64 - 1,
        1.5,
        1e300,
        float("nan"),
        float("inf"),
        True,
        None,
        [],
    ],
)
def test_bad_int64_is_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        INT64.validate_python(value)


@pytest.mark.parametrize("text", ["-_8=", "-_8", "+/8=", "+/8"])
def test_both_alphabets_of_base64_are_read(text: str) -> None:
    assert BYTES.validate_python(text) == b"\xfb\xff"


@pytest.mark.parametrize("value", ["a", "a\n", "é", "a b=", "\ud800", "=a", 1, None])
def test_bad_base64_is_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        BYTES.validate_python(value)


@pytest.mark.parametrize("value", ["GREEN", "red", "", 2, -1, True, 0.0, None, [], {}])
def test_an_unknown_enum_value_is_refused_naming_the_known(value: object) -> None:
    adapter: TypeAdapter[Colour] = TypeAdapter(Annotated[Colour, one_of(Colour)])
    assert adapter.validate_python("RED") is Colour.RED
    assert adapter.validate_python(1) is Colour.BLUE
    with pytest.raises(ValidationError, match="must be one of RED, BLUE"):
        adapter.validate_python(value)


def test_a_model_writes_what_it_reads() -> None:
    body = {
        "lasts": "1.5s",
        "at": "2030-01-02T03:04:05.006Z",
        "count": "42",
        "colour": "BLUE",
        "data": "+/8=",
    }
    read = Everything.model_validate(body)
    assert read.wire() == body
    assert Everything(**dict(read)) == read
    assert Everything().wire() == {}


def test_schemas_are_those_of_strings() -> None:
    schema = Everything.model_json_schema()
    formats = {
        name: found["anyOf"][0].get("format") for name, found in schema["properties"].items()
    }
    assert formats == {
        "lasts": "google-duration",
        "at": "date-time",
        "count": "int64",
        "colour": None,
        "data": "byte",
    }


def test_an_offset_that_leads_out_of_the_calendar_leaves_the_time_in_utc() -> None:
    first = datetime(1, 1, 1, tzinfo=UTC)
    assert with_utc_offset(first, 60).utcoffset() == timedelta(hours=1)
    assert with_utc_offset(first, -60).utcoffset() == timedelta()
