"""Filters of the API, made of the fields of a filter row."""

import json
from collections.abc import Iterable

_SPECIAL = frozenset("\\.+*?()|[]{}^$")
_MINUTES = len("2026-01-15T12:00")


def all_of(parts: Iterable[str]) -> str:
    """Return the filter that demands all parts."""
    return " AND ".join(parts)


def pair(field: str, written: str) -> str:
    """Return the comparison of a pair `key=value`; without a value: the key is there."""
    key, equals, value = written.partition("=")
    name = f"{field}.{quoted(key.strip())}"
    return f"{name}={quoted(value.strip())}" if equals else f"{name}:*"


def quoted(text: str) -> str:
    """Return a text as a filter writes it."""
    return json.dumps(text, ensure_ascii=False)


def contains(field: str, text: str) -> str:
    """Return the comparison that finds a text anywhere in a field, whatever its case."""
    literal = "".join(
        f"\\{character}" if character in _SPECIAL else character for character in text
    )
    return f"{field}=~{quoted(f'(?is).*{literal}.*')}"


def moment(written: str) -> str:
    """Return a time as browsers send it, in UTC, as the API takes it; others as they are."""
    if len(written) == _MINUTES:
        written += ":00"
    has_zone = written.endswith("Z") or "+" in written
    return quoted(written if has_zone else f"{written}Z")
