"""The text of JSON and CSV: one record a line; invalid input is kept almost unchanged (pure)."""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

_OUTSIDE = re.compile(r'[^\s",:{}\[\]]+|\s+|.')
_INSIDE = re.compile(r'[^"\\]+|\\u[0-9a-fA-F]{4}|\\.|"', re.DOTALL)
_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_PAIR_CHARS = 12
_ESCAPED = {"n": "\n", "t": "\t", "r": "\n", "b": "", "f": "\n"}
_LAID_OUT = {",": ", ", ":": ": "}

_DELIMITERS = ",;\t|"
_MAX_LINE = 64 * 1024
_MAX_ROW = 256 * 1024
"""Most characters of a row, which is held as cells that take many times their length. Only quotes
around line breaks make longer rows; such text is returned as raw lines."""
MAX_ROWS = 200_000
"""Further rows are returned as raw lines."""
_MAX_NAME = 60
_MAX_GROWTH, _FREE = 4, 64 * 1024
"""Limit for the length of the text: a factor of the file's length, and a constant part."""


def text_of_json(parts: Iterable[str]) -> Iterator[str]:
    """Yield JSON with one line for each innermost object or array, and strings unescaped."""
    reader = JsonText()
    for part in parts:
        yield "".join(reader.feed(part))
    yield "".join(reader.feed("", is_last=True))


class JsonText:
    """A rewriter of JSON, which may come in parts of any size."""

    def __init__(self) -> None:
        self._held = ""
        self._is_inside = False
        self._has_closed = False

    def feed(self, part: str, *, is_last: bool = False) -> Iterator[str]:
        """Yield the text of a part."""
        text, place = self._held + part, 0
        while place < len(text):
            if self._is_inside:
                # An escape may continue in the next part.
                if text[place] == "\\" and not is_last and len(text) - place < _PAIR_CHARS:
                    break
                shown, place = self._inside(text, place)
            else:
                match = _OUTSIDE.match(text, place)
                if match is None:
                    raise AssertionError  # any character matches
                shown, place = self._outside(match.group()), match.end()
            yield shown
        self._held = text[place:]

    def _outside(self, sign: str) -> str:
        if sign == '"':
            self._is_inside = True
        if sign.isspace():
            return ""
        ends_record = self._has_closed and sign == ","
        self._has_closed = sign in {"}", "]"}
        return ",\n" if ends_record else _LAID_OUT.get(sign, sign)

    def _inside(self, text: str, place: int) -> tuple[str, int]:
        pair = _PAIR.match(text, place)
        if pair is not None:
            units = bytes.fromhex(pair.group(1) + pair.group(2))
            return units.decode("utf-16-be"), pair.end()
        match = _INSIDE.match(text, place)
        if match is None:
            # A backslash at the very end.
            return text[place:], len(text)
        sign = match.group()
        if sign == '"':
            self._is_inside = False
        return _unescaped(sign) if sign[0] == "\\" else sign, match.end()


def _unescaped(sign: str) -> str:
    if len(sign) == 6:
        # Replaces half a surrogate pair, and NUL, which the database does not store.
        return bytes.fromhex(sign[2:]).decode("utf-16-be", "replace").replace("\0", "\ufffd")
    return _ESCAPED.get(sign[1], sign[1])


def text_of_csv(parts: Iterable[str]) -> Iterator[str]:
    """Yield a table with one line per row; cells have their column names, if there are any."""
    for _, line in lines_of_csv(parts):
        yield line


def lines_of_csv(parts: Iterable[str]) -> Iterator[tuple[Sequence[str] | None, str]]:
    """Yield the lines of a table's text, each with the cells of its row; None: raw text."""
    rows = _Rows(parts)
    columns: Sequence[str] = ()
    read = written = 0
    for number, (row, raw) in enumerate(rows.read()):
        if row is None:
            yield None, raw
            continue
        if number == 0:
            columns = _columns(row)
        read += len(raw)
        # Long names over short cells would inflate the text.
        is_named = number > 0 and written <= read * _MAX_GROWTH + _FREE
        line = _line(row, columns if is_named else ())
        written += len(line)
        yield row, line


def _line(row: Sequence[str], columns: Sequence[str]) -> str:
    named = zip(row, [*columns, *[""] * (len(row) - len(columns))], strict=False)
    cells = (f"{name}: {cell.strip()}" if name else cell.strip() for cell, name in named if cell)
    return ", ".join(cells) + "\n"


def _columns(row: Sequence[str]) -> Sequence[str]:
    names = [" ".join(cell.split())[:_MAX_NAME] for cell in row]
    are_texts = all(any(sign.isalpha() for sign in name) for name in names)
    return names if are_texts and len(names) > 1 and len(set(names)) == len(names) else ()


class _Rows:
    """The rows of a table with their raw text; after invalid CSV, only the raw text."""

    def __init__(self, parts: Iterable[str]) -> None:
        self._lines = _Lines(parts)
        self._raw: list[str] = []
        """The lines of the current row."""
        self._length = 0
        """The number of characters in these lines."""

    def read(self) -> Iterator[tuple[Sequence[str] | None, str]]:
        lines = iter(self._lines)
        first = next(lines, "")
        if not first:
            return
        delimiter = max(_DELIMITERS, key=first.count)
        rows = csv.reader(self._recorded(chain([first], lines)), delimiter=delimiter)
        try:
            for row in islice(rows, MAX_ROWS):
                yield row, self._take_raw()
        except csv.Error:
            # A cell or row over the limit is most likely an unended quote.
            yield None, self._take_raw()
        for part in self._lines.rest():
            yield None, part

    def _recorded(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self._raw.append(line)
            self._length += len(line)
            if self._length > _MAX_ROW:
                raise csv.Error
            yield line

    def _take_raw(self) -> str:
        raw, self._raw, self._length = "".join(self._raw), [], 0
        return raw


class _Lines:
    """The lines of a text, with very long lines in pieces, and the remaining text."""

    def __init__(self, parts: Iterable[str]) -> None:
        self._parts = iter(parts)
        self._waiting: deque[str] = deque()
        """Lines and pieces of lines, with their ends."""
        self._held = ""

    def __iter__(self) -> Iterator[str]:
        for part in self._parts:
            *whole, self._held = (self._held + part).split("\n")
            for line in whole:
                self._waiting.extend(_pieces(line + "\n"))
            if len(self._held) > _MAX_LINE:
                held, self._held = self._held, ""
                self._waiting.extend(_pieces(held))
            while self._waiting:
                yield self._waiting.popleft()
        held, self._held = self._held, ""
        if held:
            yield held

    def rest(self) -> Iterator[str]:
        yield "".join(self._waiting) + self._held
        self._waiting.clear()
        self._held = ""
        yield from self._parts


def _pieces(line: str) -> Iterator[str]:
    for start in range(0, len(line), _MAX_LINE):
        yield line[start : start + _MAX_LINE]
