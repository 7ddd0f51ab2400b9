"""Kinds of archive lines: their columns, and the conversion of rows to lines and back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic.alias_generators import to_camel

from app.memory.transfer.logic.codecs import Codec

ENGINE_ID = {"engine_id": "the engine that it is read from or written to"}
"""The column that all kinds leave out, with the reason."""


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
class Kind:
    """A kind of lines.

    Attributes:
        name: the name of the kind in lines.
        table: the table of its rows.
        key: the columns that order its lines, compared bytewise; empty: there is at most one line.
        fields: the columns that are written.
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

        Args:
            row: the values of the columns, in the order of `fields`.
            engine: the full name of the engine, which is removed from resource names.
        """
        encoded = {
            wire: row[place] if encode is None else encode(row[place])
            for place, wire, encode in self._encoded
            if row[place] is not None
        }
        for name in self.names & encoded.keys():
            encoded[name] = _relative(encoded[name], engine)
        return encoded

    def decode(self, line: Mapping[str, Any], *, engine: str = "") -> dict[str, Any]:
        """Return the values of the columns from the fields of a line.

        Args:
            line: the fields of the line; unknown ones are ignored.
            engine: the full name of the engine, which is put before resource names.

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
            values[name] = _absolute(values[name], engine)
        return values

    def key_of(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the key of decoded values; lines are sorted by it in ascending order."""
        return tuple(values[name] for name in self.key)


_HERE = "{engine}"
_OTHER = "{}"


def _relative(value: Any, engine: str) -> Any:  # noqa: ANN401 - JSON
    """Return JSON with the engine's name replaced wherever a text begins with it."""
    match value:
        case dict():
            return {key: _relative(item, engine) for key, item in value.items()}
        case list():
            return [_relative(item, engine) for item in value]
        case str() if value == engine or value.startswith(engine + "/"):
            return _HERE + value[len(engine) :]
        case str() if value.startswith("{"):
            return _OTHER + value
        case _:
            return value


def _absolute(value: Any, engine: str) -> Any:  # noqa: ANN401 - JSON
    """Invert `_relative`, with the name of another engine."""
    match value:
        case dict():
            return {key: _absolute(item, engine) for key, item in value.items()}
        case list():
            return [_absolute(item, engine) for item in value]
        case str() if value.startswith(_HERE):
            return engine + value[len(_HERE) :]
        case str() if value.startswith(_OTHER):
            return value[len(_OTHER) :]
        case _:
            return value
