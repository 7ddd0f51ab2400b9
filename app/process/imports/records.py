"""Streaming reader of a file's records: JSON documents, or one JSON value per line (pure).

A document is a list of records, a single record, or an object with lists of records under known
names, such as `{"results": [...]}`. The reader holds one record of a list at a time.
"""

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MAX_VALUE_CHARS = 64 * 1024 * 1024
"""Maximum length of a record, or of another field of a document."""
_PEEK_CHARS = 1024 * 1024
_PEEK_LINES = 10
_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Record:
    """A record in a file.

    Attributes:
        number: line number, or position in a document, from 1.
        value: the JSON value; the raw line if `error` is set.
        heading: the document's other fields that precede the record.
        error: the reason why the line could not be parsed.
    """

    number: int
    value: Any
    heading: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


class FileError(Exception):
    """Error of a file that cannot be read further; the message is a sentence for the user."""


def read_records(pieces: Iterable[bytes], containers: Sequence[str]) -> Iterator[Record]:
    """Yield the records of a file; `containers` names the fields with lists of records.

    In a file with one value per line, an invalid line becomes a record with an error.

    Raises:
        FileError: a document is not JSON, or a value is too long.
    """
    text = _Text(pieces)
    if text.has_values_by_line():
        yield from _by_line(text, containers)
    else:
        yield from _Documents(text, containers).records()


class _Text:
    """Buffer of decoded text that discards text once it is read."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self.buffer = ""
        self.position = 0
        self.has_ended = False

    def more(self) -> bool:
        """Read at least as many characters as the buffer has; return False at the end."""
        if self.has_ended:
            return False
        # Doubling steps avoid a new scan of a long value after each piece.
        parts, wanted = [self.buffer[self.position :]], max(1, len(self.buffer) - self.position)
        self.position = 0
        if wanted > MAX_VALUE_CHARS:
            raise FileError(f"The file has a value of more than {MAX_VALUE_CHARS} characters.")
        while wanted > 0 and not self.has_ended:
            piece = next(self._pieces, None)
            self.has_ended = piece is None
            try:
                parts.append(self._decode(piece or b"", self.has_ended))
            except UnicodeDecodeError:
                raise FileError("The file is not UTF-8.") from None
            wanted -= len(parts[-1])
        self.buffer = "".join(parts)
        return True

    def skip_blanks(self) -> str:
        """Return the next non-blank character without reading it; "" at the end."""
        while True:
            match = _BLANK.match(self.buffer, self.position)
            self.position = match.end() if match else self.position
            if self.position < len(self.buffer):
                return self.buffer[self.position]
            if not self.more():
                return ""

    def line(self) -> str | None:
        searched = 0
        while True:
            end = self.buffer.find("\n", self.position + searched)
            if end >= 0:
                line, self.position = self.buffer[self.position : end], end + 1
                return line
            searched = len(self.buffer) - self.position
            if not self.more():
                rest, self.position = self.buffer[self.position :], len(self.buffer)
                return rest or None

    def has_values_by_line(self) -> bool:
        """Return True if each line seems to be a JSON value; the first line may be invalid."""
        while (
            self.buffer.count("\n") < _PEEK_LINES and len(self.buffer) < _PEEK_CHARS and self.more()
        ):
            pass
        lines = [line for line in self.buffer.split("\n")[:_PEEK_LINES] if line.strip()]
        if not lines or _is_json(lines[0]):
            return bool(lines)
        if lines[0].lstrip().startswith("[") or len(lines) == 1:
            return False
        return _is_json(lines[1]) and not _begins_with_json(self.buffer)


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _begins_with_json(text: str) -> bool:
    try:
        _DECODER.raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return False
    return True


def _by_line(text: _Text, containers: Sequence[str]) -> Iterator[Record]:
    number = 0
    while (line := text.line()) is not None:
        number += 1
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            yield Record(number, line, error="The line is not JSON.")
            continue
        for inner, heading in _unpacked(value, containers):
            yield Record(number, inner, heading)


def _unpacked(value: Any, containers: Sequence[str]) -> Iterator[tuple[Any, dict[str, Any]]]:  # noqa: ANN401 - any JSON value
    """Yield the records in a value, each with the other fields of the object around it."""
    if isinstance(value, list):
        yield from ((inner, {}) for inner in value)
        return
    lists = _record_lists(value, containers)
    if not lists:
        yield value, {}
        return
    heading = {name: inner for name, inner in value.items() if name not in lists}
    for name in lists:
        yield from ((inner, heading) for inner in value[name])


def _record_lists(value: Any, containers: Sequence[str]) -> list[str]:  # noqa: ANN401 - any JSON value
    if not isinstance(value, dict):
        return []
    return [name for name in value if name in containers and isinstance(value[name], list)]


class _Documents:
    """Parser of consecutive documents."""

    def __init__(self, text: _Text, containers: Sequence[str]) -> None:
        self._text = text
        self._containers = containers
        self._number = 0

    def records(self) -> Iterator[Record]:
        while first := self._text.skip_blanks():
            if first == "[":
                yield from self._list({})
            elif first == "{":
                yield from self._object()
            else:
                raise self._broken()

    def _list(self, heading: dict[str, Any]) -> Iterator[Record]:
        for _ in self._entries("]"):
            yield self._record(self._value(), heading)

    def _object(self) -> Iterator[Record]:
        heading: dict[str, Any] = {}
        has_records = False
        for _ in self._entries("}"):
            name = self._value()
            if not isinstance(name, str) or self._text.skip_blanks() != ":":
                raise self._broken()
            self._text.position += 1
            if name in self._containers and self._text.skip_blanks() == "[":
                has_records = True
                yield from self._list(heading)
            else:
                heading[name] = self._value()
        if not has_records:
            yield self._record(heading, {})

    def _entries(self, end: str) -> Iterator[None]:
        self._text.position += 1
        if self._text.skip_blanks() == end:
            self._text.position += 1
            return
        while True:
            yield
            sign = self._text.skip_blanks()
            self._text.position += 1
            if sign == end:
                return
            if sign != ",":
                raise self._broken()

    def _value(self) -> Any:  # noqa: ANN401 - any JSON value
        self._text.skip_blanks()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text.buffer, self._text.position)
            except (ValueError, RecursionError):
                if self._text.more():
                    continue
                raise self._broken() from None
            # A number at the end of the buffer may have further digits.
            if end == len(self._text.buffer) and self._text.more():
                continue
            self._text.position = end
            return value

    def _record(self, value: Any, heading: dict[str, Any]) -> Record:  # noqa: ANN401 - any JSON value
        self._number += 1
        return Record(self._number, value, heading)

    def _broken(self) -> FileError:
        return FileError(f"The file is not JSON after item {self._number}.")
