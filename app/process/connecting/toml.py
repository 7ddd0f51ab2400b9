"""Edits of TOML files: the tables of one entry are put or taken, and all other bytes stay."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

_LINES = re.compile(r"(?<=\n)")


def read(text: str) -> Any:  # noqa: ANN401 - as the reader of JSON
    """Parse a file.

    Raises:
        ValueError: it is not TOML.
    """
    return tomllib.loads(text.removeprefix("\ufeff"))


def dump(section: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return a file with one entry, whose values are texts and tables of texts."""
    lines = [f"{key} = {_value(value)}" for key, value in entry.items()]
    return "\n".join([f"[{section}.{name}]", *lines])


def put(text: str, section: str, name: str, entry: Mapping[str, Any]) -> str:
    """Replace the tables of an entry where the first one is, or add one at the end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    written = f"{dump(section, name, entry)}\n".replace("\n", newline)
    own = [table for table in _tables(text) if table.path[:2] == (section, name)]
    if own:
        for table in reversed(own[1:]):
            text = table.without(text)
        return text[: own[0].start] + written + text[own[0].end :]
    if not text:
        return written
    return text + newline * (not text.endswith("\n")) + newline + written


def take(text: str, section: str, name: str) -> str:
    """Remove the tables of an entry."""
    for table in reversed(list(_tables(text))):
        if table.path[:2] == (section, name):
            text = table.without(text)
    return text


@dataclass(frozen=True)
class _Table:
    """The lines of a table, without the comments and empty lines before the next table."""

    path: tuple[str, ...]
    start: int
    end: int

    def without(self, text: str) -> str:
        """Remove the table, and one of the empty lines around it."""
        kept = text[: self.start]
        for empty in ("\n\r\n", "\n\n"):
            if kept.endswith(empty):
                kept = kept.removesuffix(empty) + "\n"
                break
        return kept + text[self.end :]


def _tables(text: str) -> Iterator[_Table]:
    starts = [*_headers(text), (len(text), ())]
    for (start, path), (following, _) in pairwise(starts):
        lines = _LINES.split(text[start:following])
        while lines[-1].strip() == "" or lines[-1].lstrip().startswith("#"):
            # They may be about the next table.
            lines.pop()
        yield _Table(path, start, start + sum(map(len, lines)))


def _headers(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the offset and the path of each header of a table."""
    at = 0
    for line in _LINES.split(text):
        if line.lstrip().startswith("[") and _is_whole(text[:at]):
            yield at, _path(read(line))
        at += len(line)


def _is_whole(text: str) -> bool:
    """Return False within a list or a text of several lines, which has no headers."""
    try:
        read(text)
    except ValueError:
        return False
    return True


def _path(table: Any) -> tuple[str, ...]:  # noqa: ANN401 - a table or a list of tables
    if not isinstance(table, dict) or not table:
        return ()
    ((key, value),) = table.items()
    return (key, *_path(value))


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{key} = {_value(held)}" for key, held in value.items())
        return f"{{ {', '.join(pairs)} }}"
    # The escapes of JSON are escapes of TOML, too.
    return json.dumps(value, ensure_ascii=False)
