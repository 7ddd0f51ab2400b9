"""Edits of JSON files that may have comments and trailing commas.

An edit puts or takes one member of a section, an object of the root. All other bytes stay.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENTS = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?\*/|\A\ufeff", re.DOTALL)
_TRAILING = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_NOT_ENDS = re.compile(r"[^\r\n]")
_INDENTED = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_SPACES = " \t\r\n"
_UNIT = "  "


@dataclass(frozen=True)
class _Member:
    """A member of an object, by the offsets of its key, its value and its end."""

    key: str
    start: int
    value: int
    end: int


def read(text: str) -> Any:  # noqa: ANN401 - any JSON
    """Parse a file; an empty one is an empty object.

    Raises:
        ValueError: it is not JSON, even without comments and trailing commas.
    """
    return json.loads(_plain(text)) if text.strip("\ufeff" + _SPACES) else {}


def dump(section: str, name: str, entry: Mapping[str, Any]) -> str:
    """Return a file with one entry."""
    return json.dumps({section: {name: entry}}, indent=_UNIT, ensure_ascii=False)


def put(text: str, section: str, name: str, entry: Mapping[str, Any]) -> str:
    """Add an entry to a section, or replace it; add the section if there is none."""
    if not text.strip("\ufeff" + _SPACES):
        return dump(section, name, entry) + "\n"
    edit = _Edit(text)
    root = edit.skip(0)
    holder = edit.find(root, section)
    if holder is None:
        return edit.insert(root, section, {name: entry})
    known = edit.find(holder.value, name)
    if known is None:
        return edit.insert(holder.value, name, entry)
    value = edit.dumped(entry, edit.indent(known.start))
    return text[: known.value] + value + text[known.end :]


def take(text: str, section: str, name: str) -> str:
    """Remove an entry that the section has."""
    edit = _Edit(text)
    holder = edit.find(edit.skip(0), section)
    return text if holder is None else edit.remove(holder.value, name)


def _blanked(found: "re.Match[str]") -> str:
    return found[0] if found[0].startswith('"') else _NOT_ENDS.sub(" ", found[0])


def _without_comments(text: str) -> str:
    return _COMMENTS.sub(_blanked, text)


def _plain(text: str) -> str:
    """Return JSON of the same length, with spaces for comments and trailing commas."""
    return _TRAILING.sub(_blanked, _without_comments(text))


class _Edit:
    """A text that is JSON but for comments and trailing commas, and its offsets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._bare = _without_comments(text)
        self._plain = _plain(text)
        self._newline = "\r\n" if "\r\n" in text else "\n"
        first = _INDENTED.search(text)
        self._unit = first[1] if first else _UNIT

    def skip(self, at: int) -> int:
        """Return the offset of the next character that is no space."""
        while self._plain[at] in _SPACES:
            at += 1
        return at

    def _members(self, at: int) -> tuple[list[_Member], int]:
        """Return the members of the object at an offset, and the offset of its last brace."""
        decoder = json.JSONDecoder()
        members = []
        at = self.skip(at + 1)
        while self._plain[at] != "}":
            start = at
            key, at = decoder.raw_decode(self._plain, at)
            value = self.skip(self.skip(at) + 1)
            _, end = decoder.raw_decode(self._plain, value)
            members.append(_Member(key, start, value, end))
            at = self.skip(end)
            if self._plain[at] == ",":
                at = self.skip(at + 1)
        return members, at

    def find(self, at: int, key: str) -> _Member | None:
        """Return a member of the object at an offset; parsers use the last of several."""
        members, _ = self._members(at)
        return next((member for member in reversed(members) if member.key == key), None)

    def indent(self, at: int) -> str:
        """Return the indentation of the line of an offset."""
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip(" \t"))]

    def dumped(self, value: object, indent: str) -> str:
        """Return a value whose further lines have an indentation."""
        written = json.dumps(value, indent=self._unit, ensure_ascii=False)
        return written.replace("\n", self._newline + indent)

    def insert(self, at: int, key: str, value: object) -> str:
        """Add a member behind all others of the object at an offset."""
        members, close = self._members(at)
        outer = self.indent(at)
        indent = self.indent(members[0].start) if members else outer
        if indent == outer:
            indent = outer + self._unit
        end = close
        while self.text[end - 1] in _SPACES:
            end -= 1
        last = members[-1].end if members else at + 1
        # Files with a trailing comma keep one, so that a removal restores them.
        has_comma = "," in self._bare[last:close]
        member = f"{json.dumps(key)}: {self.dumped(value, indent)}" + "," * has_comma
        rest = self.text[end:close]
        return "".join(
            [
                self.text[:last],
                "," * (bool(members) and not has_comma),
                self.text[last:end],
                self._newline + indent + member,
                rest if "\n" in rest else self._newline + outer,
                self.text[close:],
            ]
        )

    def remove(self, at: int, key: str) -> str:
        """Remove a member of the object at an offset, with its comma and its empty line."""
        members, close = self._members(at)
        index = max(i for i, member in enumerate(members) if member.key == key)
        before, found, behind = members[:index], members[index], members[index + 1 :]
        if not before and not behind and not self.text[at + 1 : found.start].strip(_SPACES):
            rest = self.text[found.end : close].strip(_SPACES + ",")
            if not rest:
                return self.text[: at + 1] + self.text[close:]
        kept = self.text[: found.start]
        end = found.end
        comma = self._bare.find(",", end, behind[0].start if behind else close)
        if comma >= 0:
            # A comment between the value and its comma goes with them.
            end = comma + 1
        elif before:
            comma = self._bare.index(",", before[-1].end)
            kept = kept[:comma] + kept[comma + 1 :]
        kept = kept.rstrip(" \t")
        if self.text[end:].lstrip(" \t").startswith(("\n", "\r\n")):
            # The line has nothing else: its end goes, too.
            kept = kept.removesuffix("\n").removesuffix("\r")
        return kept + self.text[end:]
