"""Secrets of several words or codes that a label announces: seed phrases, recovery codes (pure)."""

import re
from collections.abc import Iterator

import re2  # type: ignore[import-untyped]  # google-re2 ships no types

from app.language.privacy.label_words import CODES, PHRASES

_BEHIND_BYTES = 1_000
_LABEL = re2.compile(rf"(?i)(?:^|[^\pL\pN])(?:({PHRASES})|(?:{CODES}))".encode())
_NUMBER = r"(?:[0-9]{1,2}[.):]\s*|[-*•]\s+)?"
_APART = r"[\s,;|、，/\"'`]+"  # noqa: RUF001 - Chinese and Japanese commas
# Words of BIP 39 in any of its languages: three to eight letters, or one or more of a script
# without blanks.
_SEED_WORD = r"(?:[^\W\d_]{3,9}|[\u3040-\u30ff\u3400-\u9fff]{1,8})"
_SEED = re.compile(
    rf"[\s\S]{{0,60}}?(?<!\w){_NUMBER}({_SEED_WORD}(?:{_APART}{_NUMBER}{_SEED_WORD}){{11,23}})(?!\w)"
)
_LEAD = re.compile(
    r"\W{0,3}(?:\([^)\n]{0,30}\))?(?:\s+[^\W\d_]+){0,3}?\s*"
    r"(?::|=|\n|\b(?:is|are|sind|lauten|son|sont|sono|são|zijn|to|это)\b|是|は|\u2014|-\s)"
    r"[\s:\-\u2013*`\"'\[({]*"
)
_CODE = r"(?=[A-Za-z-]{0,12}[0-9])[A-Za-z0-9]{4,16}(?:-[A-Za-z0-9]{3,12}){0,4}"
_CODES = re.compile(
    rf"{_NUMBER}({_CODE}(?:{_APART}(?:and |und |y |et |e |i |и )?{_NUMBER}{_CODE})*)"
)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{2}-[0-9]{2}-[0-9]{4}")
_LEAST_CHARS = 8


def listed(data: bytes) -> Iterator[tuple[int, int]]:
    """Return the spans, in bytes, of phrases and lists of codes that labels announce."""
    for match in _LABEL.finditer(data):
        window = data[match.end() : match.end() + _BEHIND_BYTES].decode(errors="ignore")
        found = _phrase(window) if match.start(1) >= 0 else _codes(window)
        if found is not None:
            start, end = found
            begin = match.end() + len(window[:start].encode())
            yield begin, begin + len(window[start:end].encode())


def _phrase(window: str) -> tuple[int, int] | None:
    found = _SEED.match(window)
    return None if found is None else found.span(1)


def _codes(window: str) -> tuple[int, int] | None:
    lead = _LEAD.match(window)
    found = None if lead is None else _CODES.match(window, lead.end())
    if found is None or len(re.sub(r"\W", "", found[1])) < _LEAST_CHARS or _DAY.match(found[1]):
        return None
    return found.span(1)
