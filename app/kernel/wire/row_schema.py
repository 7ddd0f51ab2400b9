"""Schemas of rows, given by callers; values converted to them, and rows as text."""

import json
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, JsonValue, WithJsonSchema

from app.kernel.csv_cells import cell, csv_of, json_of
from app.kernel.text import is_storable
from app.kernel.wire.json_schema import JsonObject, read_schema
from app.kernel.wire.json_values import coerced, is_small, types_of

MAX_SCHEMA_BYTES = 16 * 1024
MAX_PROPERTIES = 100
MAX_PROPERTY_CHARS = 200
_LONG = "A value has more than 4 KiB or 200 parts."
_NUMBER = re.compile(
    "([+-]?)"
    "([1-9][0-9]{0,2}([ '.,\u00a0\u2019\u202f])[0-9]{3}(?:\\3[0-9]{3})*|[0-9]{1,15})"
    "(?:([.,])([0-9]{1,15}))?"
)
"""Sign, whole number, separator of thousands, sign before decimals, decimals."""


def _read_text(value: object) -> object:
    # The argument of a model's tool: some APIs refuse objects whose members are not declared.
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError("must be a JSON schema, as an object or as JSON text") from None


def _row_schema(value: JsonObject) -> JsonObject:
    plain = read_schema(value)
    names = _object(plain.get("properties"))
    if plain.get("type") != "object" or not 1 <= len(names) <= MAX_PROPERTIES:
        raise ValueError(
            f'must be the schema of one row, of "type": "object" with 1 to {MAX_PROPERTIES}'
            " properties"
        )
    if not all(1 <= len(name) <= MAX_PROPERTY_CHARS for name in names):
        raise ValueError(f"must have properties with names of 1 to {MAX_PROPERTY_CHARS} characters")
    if len(json.dumps(plain)) > MAX_SCHEMA_BYTES:
        raise ValueError(f"must have at most {MAX_SCHEMA_BYTES} bytes as JSON")
    if not is_storable(plain):
        raise ValueError("must hold no U+0000 and no half of a surrogate pair")
    return plain


RowSchema = Annotated[
    JsonObject,
    BeforeValidator(_read_text),
    AfterValidator(_row_schema),
    WithJsonSchema({"type": "object", "additionalProperties": True}),
]
"""A schema of one row, in its plain form."""


class RowReader:
    """A reader of rows of a schema. The first one of a process takes long to make."""

    def __init__(self, schema: JsonObject) -> None:
        # Imported late: few requests have values to validate.
        from app.kernel.wire.json_validator import fault_finder  # noqa: PLC0415 - costly import

        self._fault = fault_finder(schema)
        self.properties = {
            name: _object(each) for name, each in _object(schema["properties"]).items()
        }

    def __call__(self, values: Mapping[str, JsonValue]) -> JsonObject:
        """Return the properties of a row, converted where that loses nothing.

        Blank values are left out, or null where the schema allows it.

        Raises:
            ValueError: the row does not meet the schema; the message has nothing of its content.
        """
        known = {name: value for name, value in values.items() if name in self.properties}
        if not all(map(is_small, known.values())):
            raise ValueError(_LONG)
        row: JsonObject = {}
        for name, value in known.items():
            schema = self.properties[name]
            if value is not None and not (isinstance(value, str) and not value.strip()):
                row[name] = coerced(schema, _typed(types_of(schema), value))
            elif "null" in _listed(schema.get("type")):
                row[name] = None
        if fault := self._fault(row):
            raise ValueError(fault)
        return row


class RowFormat(StrEnum):
    """Form of extracted rows."""

    JSON = "json"
    CSV = "csv"


class RowText:
    """Rows as text, with a bound of its bytes: as CSV, or as a JSON list of entries."""

    def __init__(self, form: RowFormat, columns: Iterable[str], most_bytes: int) -> None:
        self._left = most_bytes
        self._lines: list[str] = []
        self._columns = list(columns)
        self.is_csv = form is RowFormat.CSV
        if self.is_csv:
            self._append(csv_of([list(map(cell, self._columns))]))

    def add(self, row: JsonObject, entry: object) -> bool:
        """Add a row, which has this entry in JSON; return False if there is no room for it."""
        cells = [cell(row.get(name)) for name in self._columns]
        return self._append(csv_of([cells]) if self.is_csv else json_of(entry))

    def text(self) -> str:
        """Return the text."""
        return "".join(self._lines) if self.is_csv else "[" + ",\n".join(self._lines) + "]"

    def _append(self, line: str) -> bool:
        # Two more for what stands between entries and around all.
        self._left -= len(line.encode()) + 2
        if self._left >= 0:
            self._lines.append(line)
        return self._left >= 0


def _typed(types: list[str], value: JsonValue) -> JsonValue:
    if isinstance(value, str) and types in (["integer"], ["number"]):
        return plain_number(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return json_of(value) if is_number and types == ["string"] else value


def plain_number(text: str) -> str:
    """Return a number without separators of thousands, and with a point before decimals.

    A number that can be read in two ways, such as "1,234", is returned unchanged, like any other
    text.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return text
    sign, whole, group, point, decimals = match.groups()
    is_twofold = group in {",", "."} and not point and whole.count(group) == 1
    if is_twofold or (group and group == point):
        return text
    digits = whole.replace(group, "") if group else whole
    return f"{sign}{digits}.{decimals}" if decimals else f"{sign}{digits}"


def _object(value: Any) -> JsonObject:  # noqa: ANN401 - JSON
    return value if isinstance(value, dict) else {}


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [value]
