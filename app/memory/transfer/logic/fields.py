"""Kinds of archive lines: their columns, and the conversion of rows to lines and back.

A codec refuses every value that its column cannot hold. A forged archive therefore causes a client
error, never a database error.
"""

import base64
import math
import re
import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, partial
from sys import byteorder
from typing import Any

from pydantic.alias_generators import to_camel

from app.kernel.names import MAX_INT64
from app.kernel.wire.scalars import format_duration, parse_duration

_NO_OFFSET = timedelta(0)
_TIME_CHARS = len("2026-01-02T03:04:05.000006Z")
_DIGITS = re.compile(r"[0-9]{1,19}")
_DAY_MINUTES = 24 * 60
_HALFVEC_HEAD_BYTES = 4
_HALF_BYTES = 2
ENGINE_ID = {"engine_id": "the engine that it is read from or written to"}
"""The column that all kinds leave out, with the reason."""
_HERE = "{engine}"
_OTHER = "{}"


@dataclass(frozen=True)
class Codec:
    """Conversion of one type of values in archives.

    Attributes:
        encode: converts a database value to JSON; None: the value is JSON already.
        decode: converts JSON to a value that the database accepts; raises ValueError with the
            accepted form for any other value.
    """

    encode: Callable[[Any], Any] | None
    decode: Callable[[Any], Any]


def _of_type(kind: type, description: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:  # noqa: ANN401 - JSON
        if not isinstance(value, kind):
            raise ValueError(f"must be {description}")  # noqa: TRY004 - `Codec` documents it
        return value

    return read


def _list_of(kind: type, description: str) -> Callable[[Any], Any]:
    def read(value: Any) -> list[Any]:  # noqa: ANN401 - JSON
        if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
            raise ValueError(f"must be a list of {description}")
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
    """Read a time in the form of `write_time`."""
    if not isinstance(value, str) or len(value) != _TIME_CHARS or not value.endswith("Z"):
        raise ValueError("must be a time such as 2026-01-02T03:04:05.000006Z")
    return datetime.fromisoformat(value)


def _parsed(parse: Callable[[str], Any], description: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:  # noqa: ANN401 - JSON
        text = _read_text(value)
        try:
            return parse(text)
        except ValueError:
            raise ValueError(f"must be {description}") from None

    return read


def _read_duration(value: Any) -> timedelta:  # noqa: ANN401 - JSON
    return parse_duration(_read_text(value))


def _write_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


_read_base64 = _parsed(partial(base64.b64decode, validate=True), "base64")


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


TEXT = Codec(None, _read_text)
WHOLE = Codec(None, _read_whole)
OFFSET = Codec(None, _read_offset)
"""Offset of a clock from UTC in minutes; negative if the clock is behind."""
NUMBER = Codec(None, _read_number)
PLACE = Codec(None, _read_place)
"""Position in an order; it may be negative."""
FLAG = Codec(None, _of_type(bool, "true or false"))
OBJECT = Codec(None, _of_type(dict, "an object"))
OBJECTS = Codec(None, _list_of(dict, "objects"))
TEXTS = Codec(None, _list_of(str, "texts"))
ID = Codec(str, _read_id)
"""Integer as text, since many JSON readers parse all numbers as floats and lose digits."""
TIME = Codec(write_time, read_time)
DAY = Codec(date.isoformat, _parsed(date.fromisoformat, "a day such as 2026-01-02"))
DURATION = Codec(format_duration, _read_duration)
HASH = Codec(bytes.hex, _parsed(bytes.fromhex, "pairs of hexadecimal digits"))
DATA = Codec(_write_base64, _read_base64)
VECTOR = Codec(_write_vector, _read_vector)
"""Encodes the bytes of `halfvec_send`; decodes to a list of floats."""


@dataclass(frozen=True)
class ArchiveField:
    """A column in a line."""

    column: str
    codec: Codec
    is_nullable: bool = False
    wire: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "wire", self.wire or to_camel(self.column))


@dataclass(frozen=True, eq=False)
class LineKind:
    """A kind of lines.

    Attributes:
        key: the columns that order its lines, compared bytewise; empty: there is at most one line.
        left_out: the other columns of the table, each with the reason.
        names: the fields with resource names; lines hold them without the engine's name.
    """

    name: str
    table: str
    key: tuple[str, ...]
    fields: tuple[ArchiveField, ...]
    left_out: Mapping[str, str] = field(default_factory=lambda: ENGINE_ID)
    names: frozenset[str] = frozenset()

    @cached_property
    def wires(self) -> frozenset[str]:
        """The names of its fields in a line."""
        return frozenset(field.wire for field in self.fields)

    @cached_property
    def _encoded(self) -> Sequence[tuple[int, str, Callable[[Any], Any] | None]]:
        """Index in a row, wire name and encoder of each field, sorted by wire name."""
        placed = sorted(enumerate(self.fields), key=lambda field: field[1].wire)
        return [(place, field.wire, field.codec.encode) for place, field in placed]

    @cached_property
    def _decoded(self) -> Sequence[tuple[str, str, Callable[[Any], Any], bool]]:
        return [
            (field.column, field.wire, field.codec.decode, field.is_nullable)
            for field in self.fields
        ]

    def path_of(self, column: str, below: str = "") -> str:
        """Return the path of a column in a line, extended by the path `below` it."""
        named = {field.column: field.wire for field in self.fields}.get(column, column)
        return named if not below else named + ("" if below.startswith("[") else ".") + below

    def encode(self, row: Sequence[Any], *, engine: str = "") -> dict[str, Any]:
        """Return the fields of a line from a row, sorted by name and without nulls.

        The row has the order of `fields`. The engine's full name is removed from resource names.
        """
        encoded = {
            wire: row[place] if encode is None else encode(row[place])
            for place, wire, encode in self._encoded
            if row[place] is not None
        }
        for name in self.names & encoded.keys():
            encoded[name] = _map_texts(encoded[name], partial(_relative, engine))
        return encoded

    def decode(self, line: Mapping[str, Any], *, engine: str = "") -> dict[str, Any]:
        """Return the values of the columns from the fields of a line; ignore unknown fields.

        The full name of the engine is put before resource names.

        Raises:
            ValueError: a field is missing or has another type; the message names it.
        """
        values: dict[str, Any] = {}
        for column, wire, decode, is_nullable in self._decoded:
            value = line.get(wire)
            if value is None:
                if not is_nullable:
                    raise ValueError(f"{wire}: is missing")
                values[column] = None
                continue
            try:
                values[column] = decode(value)
            except ValueError as error:
                raise ValueError(f"{wire}: {error}") from None
        for name in self.names:
            values[name] = _map_texts(values[name], partial(_absolute, engine))
        return values

    def key_of(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the key of decoded values; lines are sorted by it in ascending order."""
        return tuple(values[name] for name in self.key)


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 - JSON
    """Return JSON with each text in it changed, but for names of fields."""
    match value:
        case dict():
            return {key: _map_texts(item, change) for key, item in value.items()}
        case list():
            return [_map_texts(item, change) for item in value]
        case str():
            return change(value)
        case _:
            return value


def _relative(engine: str, text: str) -> str:
    """Return a text with the engine's name at its start replaced."""
    if text == engine or text.startswith(engine + "/"):
        return _HERE + text[len(engine) :]
    return _OTHER + text if text.startswith("{") else text


def _absolute(engine: str, text: str) -> str:
    if text.startswith(_HERE):
        return engine + text[len(_HERE) :]
    return text.removeprefix(_OTHER)
