"""Filters of the API, built from the input of users and models."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress

_SPECIAL = frozenset("\\.+*?()|[]{}^$")
_DECODER = json.JSONDecoder()
_QUOTE = '"'
_FROM_BROWSER = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?P<seconds>:\d\d(\.\d+)?)?")


def all_of(parts: Iterable[str]) -> str:
    """Return a filter that joins the parts with AND and skips empty ones."""
    return " AND ".join(filter(None, parts))


def pair(field: str, written: str) -> str:
    """Return the comparison for a pair `key=value`; a key alone matches any value."""
    key, value = split_pair(written)
    name = f"{field}.{quoted(key)}"
    return f"{name}:*" if value is None else f"{name}={quoted(value)}"


def split_pair(written: str) -> tuple[str, str | None]:
    """Split a pair `key=value`; the value is None if there is no equals sign.

    A key in quotation marks, as in JSON, may hold an equals sign.
    """
    if written.lstrip().startswith(_QUOTE):
        with suppress(ValueError):
            key, end = _DECODER.raw_decode(written.lstrip())
            rest = written.lstrip()[end:].strip()
            if not rest or rest.startswith("="):
                return key, rest[1:].strip() if rest else None
    key, equals, value = written.partition("=")
    return key.strip(), value.strip() if equals else None


def written_pair(key: str, value: str) -> str:
    """Write a pair in the form that `split_pair` reads."""
    is_plain = "=" not in key and not key.startswith(_QUOTE) and key == key.strip()
    return f"{key if is_plain else quoted(key)}={value}"


def quoted(text: str) -> str:
    """Return a text in quotation marks, as filters write it."""
    return json.dumps(text, ensure_ascii=False)


def contains(field: str, text: str) -> str:
    """Return a comparison that finds a text anywhere in a field, ignoring case."""
    return f"{field}=~{quoted(f'(?is).*{_literal(text)}.*')}"


def begins(field: str, text: str) -> str:
    """Return a comparison that finds a text at the start of a field, ignoring case."""
    return f"{field}=~{quoted(f'(?is){_literal(text)}.*')}"


def moment(written: str) -> str:
    """Return the time from a form field in the syntax of filters."""
    return quoted(utc(written))


def utc(written: str) -> str:
    """Convert a time from a browser to the API's format in UTC; other texts are unchanged."""
    sent = _FROM_BROWSER.fullmatch(written)
    if sent is None:
        return written
    return f"{written}Z" if sent["seconds"] else f"{written}:00Z"


def _literal(text: str) -> str:
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)
