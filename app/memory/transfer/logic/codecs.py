"""Codecs of archives: convert the values of each column type to JSON and back.

A codec refuses every value that its column cannot hold. A forged archive therefore causes a client
error, never a database error.
"""

import base64
import math
import re
import struct
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from sys import byteorder
from typing import Any

from app.kernel.names import MAX_INT64
from app.kernel.wire.scalars import format_duration, parse_duration

_NO_OFFSET = timedelta(0)
_TIME_CHARS = len("2026-01-02T03:04:05.000006Z")
_DIGITS = re.compile(r"[0-9]{1,19}")
_DAY_MINUTES = 24 * 60
_HALFVEC_HEAD_BYTES = 4
_HALF_BYTES = 2


@dataclass(frozen=True)
class Codec:
    """Conversion of one type of values in archives.

    Attributes:
        encode: converts a database value to JSON; None: the value is JSON already.
        decode: converts JSON to a value that the database accepts.
            Raises ValueError with the accepted form for any other value.
    """

    encode: Callable[[Any], Any] | None
    decode: Callable[[Any], Any]


def _of_type(kind: type, description: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:  # noqa: ANN401 - JSON
        if not isinstance(value, kind):
            raise ValueError(f"must be {description}")  # noqa: TRY004 - `Codec` documents it
        return value

    return read


_read_text = _of_type(str, "a text")


def _read_whole(value: Any) -> int:  # noqa: ANN401 - JSON
    # Counts, sizes and positions: a negative one would hide usage from a quota.
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_INT64:
        raise ValueError("must be a whole number from 0 to 2^63 - 1")
    return value


def _read_offset(value: Any) -> int:  # noqa: ANN401 - JSON
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= _DAY_MINUTES:
        raise ValueError("must be a whole number of minutes, less than a day")
    return value


def _read_place(value: Any) -> float:  # noqa: ANN401 - JSON
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")  # noqa: TRY004 - `Codec` documents it
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("must be a number of 64 bits")
    return number


def _read_number(value: Any) -> float:  # noqa: ANN401 - JSON
    number = _read_place(value)
    if number < 0:
        raise ValueError("must be a number from 0 of 64 bits")
    return number


def _read_id(value: Any) -> int:  # noqa: ANN401 - JSON
    if not isinstance(value, str) or not _DIGITS.fullmatch(value) or int(value) > MAX_INT64:
        raise ValueError("must be a text of digits")
    return int(value)


def write_time(moment: datetime) -> str:
    """Return an aware time in UTC as RFC 3339 with six fractional digits."""
    if moment.tzinfo is not UTC and moment.utcoffset() != _NO_OFFSET:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="microseconds")[: -len("+00:00")] + "Z"


def read_time(value: Any) -> datetime:  # noqa: ANN401 - JSON
    """Read a time in the form of `write_time`.

    Raises:
        ValueError: the time has another form.
    """
    if not isinstance(value, str) or len(value) != _TIME_CHARS or not value.endswith("Z"):
        raise ValueError("must be a time such as 2026-01-02T03:04:05.000006Z")
    return datetime.fromisoformat(value)


def _read_day(value: Any) -> date:  # noqa: ANN401 - JSON
    text = _read_text(value)
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError("must be a day such as 2026-01-02") from None


def _read_duration(value: Any) -> timedelta:  # noqa: ANN401 - JSON
    return parse_duration(_read_text(value))


def _read_hex(value: Any) -> bytes:  # noqa: ANN401 - JSON
    text = _read_text(value)
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError("must be pairs of hexadecimal digits") from None


def _write_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _read_base64(value: Any) -> bytes:  # noqa: ANN401 - JSON
    text = _read_text(value)
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise ValueError("must be base64") from None


def _write_vector(sent: bytes) -> str:
    """Return the little-endian float16 numbers of a vector from the output of `halfvec_send`."""
    numbers = array("H", sent[_HALFVEC_HEAD_BYTES:])
    if byteorder == "little":
        numbers.byteswap()
    return _write_base64(numbers.tobytes())


def _read_vector(value: Any) -> list[float]:  # noqa: ANN401 - JSON
    data = _read_base64(value)
    if not data or len(data) % _HALF_BYTES:
        raise ValueError("must be base64 of numbers of 16 bits")
    numbers = [*struct.unpack(f"<{len(data) // _HALF_BYTES}e", data)]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("must have finite numbers")
    return numbers


def _read_texts(value: Any) -> list[str]:  # noqa: ANN401 - JSON
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("must be a list of texts")
    return value


def _read_objects(value: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - JSON
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError("must be a list of objects")
    return value


TEXT = Codec(None, _read_text)
WHOLE = Codec(None, _read_whole)
OFFSET = Codec(None, _read_offset)
"""Offset of a clock from UTC in minutes; negative if the clock is behind."""
NUMBER = Codec(None, _read_number)
PLACE = Codec(None, _read_place)
"""Position in an order; it may be negative."""
FLAG = Codec(None, _of_type(bool, "true or false"))
OBJECT = Codec(None, _of_type(dict, "an object"))
OBJECTS = Codec(None, _read_objects)
TEXTS = Codec(None, _read_texts)
ID = Codec(str, _read_id)
"""Integer as text, since many JSON readers parse all numbers as floats and lose digits."""
TIME = Codec(write_time, read_time)
DAY = Codec(date.isoformat, _read_day)
DURATION = Codec(format_duration, _read_duration)
HASH = Codec(bytes.hex, _read_hex)
DATA = Codec(_write_base64, _read_base64)
VECTOR = Codec(_write_vector, _read_vector)
"""Encodes the bytes of `halfvec_send`; decodes to a list of floats."""
