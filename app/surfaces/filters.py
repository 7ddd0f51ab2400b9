"""Filters of the API, made of what users and models give."""

import json
import re
from collections.abc import Iterable

_SPECIAL = frozenset("\\.+*?()|[]{}^$")
_FROM_BROWSER = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?P<seconds>:\d\d(\.\d+)?)?")


def all_of(parts: Iterable[str]) -> str:
    """Return the filter that demands all parts; empty ones demand nothing."""
    return " AND ".join(filter(None, parts))


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
    return f"{field}=~{quoted(f'(?is).*{_literal(text)}.*')}"


def begins(field: str, text: str) -> str:
    """Return the comparison that finds a text at the beginning of a field, whatever its case."""
    return f"{field}=~{quoted(f'(?is){_literal(text)}.*')}"


def moment(written: str) -> str:
    """Return a time of a form as a filter writes it."""
    return quoted(utc(written))


def utc(written: str) -> str:
    """Return a time as browsers send it, in UTC, as the API takes it; others as they are."""
    sent = _FROM_BROWSER.fullmatch(written)
    if sent is None:
        return written
    return f"{written}Z" if sent["seconds"] else f"{written}:00Z"


def _literal(text: str) -> str:
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)
