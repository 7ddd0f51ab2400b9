"""Rows of JSON, CSV and HTML tables, with their places in the text that readers get (pure)."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from app.adapters.documents.extracting import format_read, text_of
from app.adapters.documents.record_text import MAX_ROWS, JsonText, lines_of_csv
from app.kernel.media_types import JSON, MediaType, TextFormat

MAX_JSON_CHARS = 4 * 1024 * 1024
"""Longest JSON that is read; it takes many times its length in memory."""
_HEADER_ROWS = 20
"""Number of rows of a table among which its header is looked for."""
_TABLES = 64
"""Number of tables whose headers are kept: the open ones."""
_STRANGE = re.compile(r"[\W_]+")
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None)
"""NaN and infinity, which JSON does not have, become null."""
_NO_FORMAT = "Without a model, only JSON, CSV and HTML tables are read."
_NO_COLUMN = "No column has the name of a property; source.columns can name columns."
_NO_MEMBER = "It has no member with the name of a property; source.path can name the list of rows."
_NOT_CSV = "From here on, it is not readable as CSV."
_LONG_CSV = f"Of CSV, only {MAX_ROWS:,} rows are read."
_NOT_JSON = "It is not readable as JSON, or has nothing at source.path."
_LONG_JSON = f"JSON of more than {MAX_JSON_CHARS:,} characters is read by a model only."


@dataclass(frozen=True)
class FoundRow:
    """Values by property, and the place in the artifact's text; `fault` tells why it has none.

    `is_last` if the rest of the file, or all of it, is not read because of the fault.
    """

    values: Mapping[str, JsonValue]
    start: int
    end: int
    fault: str = ""
    is_last: bool = False


@dataclass(frozen=True)
class Wanted:
    """Places of rows and values: a JSON pointer to the rows, and names of columns by property."""

    columns: Mapping[str, str]
    path: str = ""

    def places(self, names: Iterable[str]) -> dict[str, int]:
        """Return the numbers of the columns, of several equal ones the first.

        Names are compared without case, spaces, underscores and other signs.
        """
        known: dict[str, int] = {}
        for number, name in enumerate(names):
            known.setdefault(_folded(name), number)
        wanted = ((name, _folded(column)) for name, column in self.columns.items())
        return {name: known[folded] for name, folded in wanted if folded and folded in known}


def _folded(name: str) -> str:
    return _STRANGE.sub("", name).casefold()


def rows_of(
    pages: Iterable[bytes], declared: str, looks_like: str, wanted: Wanted
) -> Iterator[FoundRow]:
    """Yield the rows of a file, or a fault; slow for long files, so run it in a thread.

    Of a long CSV file, only a row is held at a time.
    """
    read_as = format_read(declared, looks_like)
    is_html = read_as is TextFormat.HTML
    parts = text_of(pages, MediaType.parse(declared).charset, is_html=is_html)
    if read_as is TextFormat.CSV:
        yield from _matched(_cells_of_csv(parts), wanted)
    elif is_html:
        # Imported late, since it imports lxml.
        from app.adapters.documents.page_text import rows_of_html  # noqa: PLC0415 - costly import

        yield from _matched(rows_of_html(parts), wanted)
    elif read_as is TextFormat.JSON or (read_as is TextFormat.PLAIN and looks_like == JSON):
        yield from _of_json(parts, wanted, is_rewritten=read_as is TextFormat.JSON)
    else:
        yield FoundRow({}, 0, 0, _NO_FORMAT, is_last=True)


_Cells = tuple[int, Sequence[str], int, int]
"""The number of a table, the cells of a row, and its place; below 0: no more is read."""


def _cells_of_csv(parts: Iterable[str]) -> Iterator[_Cells]:
    place = 0
    for number, (cells, line) in enumerate(lines_of_csv(parts)):
        start, place = place, place + len(line)
        if cells is not None:
            yield 0, cells, start, place
        elif line.strip():
            yield -1 if number < MAX_ROWS else -2, (), start, place
            return


def _matched(rows: Iterable[_Cells], wanted: Wanted) -> Iterator[FoundRow]:
    headers = _Headers(wanted)
    for table, cells, start, end in rows:
        if table < 0:
            fault = _NOT_CSV if table == -1 else _LONG_CSV
            yield FoundRow({}, start, end, fault, is_last=True)
            return
        places = headers.places(table)
        found = {name: cells[n].strip() for name, n in places.items() if n < len(cells)}
        if not places:
            headers.look_at(table, cells)
        # Without any of the values, it is a heading between rows.
        elif any(found.values()):
            yield FoundRow(found, start, end)
    if not headers.is_found:
        yield FoundRow({}, 0, 0, _NO_COLUMN)


class _Headers:
    """The headers of tables: of each, the first row that has the name of a wanted column."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._seen: dict[int, int] = {}
        """Number of rows in which a header was looked for, by table."""
        self._places: dict[int, dict[str, int]] = {}
        self.is_found = False

    def places(self, table: int) -> dict[str, int]:
        return self._places.get(table, {})

    def look_at(self, table: int, cells: Sequence[str]) -> None:
        seen = self._seen.get(table, 0)
        if seen == _HEADER_ROWS or not any(map(str.strip, cells)):
            return
        self._seen[table], self._places[table] = seen + 1, self._wanted.places(cells)
        self.is_found = self.is_found or bool(self._places[table])
        if len(self._seen) > _TABLES:
            oldest = next(iter(self._seen))
            del self._seen[oldest], self._places[oldest]


def _of_json(parts: Iterable[str], wanted: Wanted, *, is_rewritten: bool) -> Iterator[FoundRow]:
    held: list[str] = []
    length = read = 0
    for part in parts:
        length += len(part)
        if not part.strip():
            # Padding at the end does not count, and is not held.
            continue
        held.append(part.rjust(length - read))
        read = length
        if length > MAX_JSON_CHARS:
            yield FoundRow({}, 0, 0, _LONG_JSON, is_last=True)
            return
    text = "".join(held)
    del held
    shown, done, place = JsonText(), 0, 0

    def passed(end: int) -> int:
        part = text[done:end]
        return sum(map(len, shown.feed(part))) if is_rewritten else len(part)

    try:
        for value, start, end in _values(text, wanted.path):
            place += passed(start)
            begin, done = place, start
            place += passed(end)
            done = end
            found = _picked(value, wanted)
            yield FoundRow(found, begin, place, "" if found else _NO_MEMBER)
    except (ValueError, LookupError, RecursionError):
        yield FoundRow({}, place, place, _NOT_JSON, is_last=True)


def _picked(value: JsonValue, wanted: Wanted) -> dict[str, JsonValue]:
    if not isinstance(value, dict):
        return {}
    names = list(value)
    found = {name: value[names[place]] for name, place in wanted.places(names).items()}
    for name, column in wanted.columns.items():
        if column.startswith("/"):
            member = _at(value, column)
            found |= {name: member} if member is not None else {}
    return found


def _at(value: JsonValue, pointer: str) -> JsonValue:
    for part in _parts(pointer):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part[:9]) < len(value):
            value = value[int(part[:9])]
        else:
            return None
    return value


def _parts(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _values(text: str, pointer: str) -> Iterator[tuple[JsonValue, int, int]]:
    """Yield each row with its place: the elements of a list, or the only value.

    Without a pointer, each of several values in a row counts, as in JSON lines.
    """
    place = _after_space(text, 0)
    for part in _parts(pointer):
        place = _member(text, place, part)
    if pointer and place == len(text):
        raise LookupError
    while place < len(text):
        if text[place] == "[":
            end, ends = place + 1, list[int]()
            for _, start in _members(text, place, ends):
                value, end = _DECODER.raw_decode(text, start)
                ends.append(end)
                yield value, start, end
            end = _after_space(text, end) + 1
        else:
            value, end = _DECODER.raw_decode(text, place)
            yield value, place, end
        if pointer:
            return
        place = _after_space(text, end)


def _member(text: str, place: int, name: str) -> int:
    for key, start in _members(text, place):
        if key == name:
            return start
    raise LookupError


def _members(text: str, place: int, ends: list[int] | None = None) -> Iterator[tuple[str, int]]:
    """Yield the key of each member of an object or list, and the place of its value.

    A caller that decodes the value adds its end to `ends`: twice decoded, it takes twice the
    memory.
    """
    if text[place] not in "[{":
        raise LookupError
    is_object, number = text[place] == "{", 0
    place = _after_space(text, place + 1)
    while text[place] not in "}]":
        key = str(number)
        if is_object:
            key, place = _DECODER.raw_decode(text, place)
            place = _after_space(text, _after_space(text, place) + 1)
        yield key, place
        place = _after_space(text, ends.pop() if ends else _DECODER.raw_decode(text, place)[1])
        place = _after_space(text, place + 1) if text[place] == "," else place
        number += 1


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place
