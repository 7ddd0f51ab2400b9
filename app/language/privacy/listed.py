"""Secrets of several words or codes after a label: seed phrases, recovery codes (pure)."""

import re
from collections.abc import Iterator
from itertools import takewhile

import re2  # type: ignore[import-untyped]  # google-re2 ships no types

from app.language.privacy.label_words import CODES, NOT_IN_PHRASES, PHRASES

_BEHIND_BYTES = 1_000
_LABEL = re2.compile(rf"(?i)(?:^|[^\pL\pN])(?:({PHRASES})|(?:{CODES}))".encode())
_NUMBER = r"(?:[0-9]{1,2}[.):]\s*|[-*•]\s+)?"
_APART = r"[\s,;|、，/\"'`]+"  # noqa: RUF001 - Chinese and Japanese commas
# Words of BIP 39 in any of its languages: three to eight letters, or one or more characters of a
# script without blanks.
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
_LEAST_WORDS = 12
_LETTERS = re.compile(r"[^\W\d_]+")
_LISTED_AT_ONCE = 12
_BEFORE_BYTES = 400
_SEED_BEFORE = re.compile(
    rf"(?<!\w)({_SEED_WORD}(?:{_APART}{_SEED_WORD}){{11,23}})\W{{1,4}}"
    rf"(?:is|are|ist|sind|es|son|est|sont|è|é|to|это|—)\s+[^\W\d_]{{1,8}}\s*$"
)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{2}-[0-9]{2}-[0-9]{4}")
_LEAST_CHARS = 8


def listed(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans, in bytes, of phrases and lists of codes announced by labels."""
    for match in _LABEL.finditer(data):
        window = data[match.end() : match.end() + _BEHIND_BYTES].decode(errors="ignore")
        is_phrase = match.start(1) >= 0
        span = _phrase(window) if is_phrase else _codes(window)
        if span is not None:
            start, end = span
            begin = match.end() + len(window[:start].encode())
            yield begin, begin + len(window[start:end].encode())
        elif is_phrase and (span := _phrase_before(data, match.start(1))) is not None:
            yield span


def _phrase(window: str) -> tuple[int, int] | None:
    match = _SEED.match(window)
    if match is None:
        return None
    end = _length(match[1])
    return None if end is None else (match.start(1), match.start(1) + end)


def _length(words: str) -> int | None:
    """Return the length of the phrase at the beginning of `words`; None for a sentence."""
    words_found = _LETTERS.finditer(words)
    kept = list(takewhile(lambda word: word[0].casefold() not in NOT_IN_PHRASES, words_found))
    return kept[-1].end() if len(kept) >= _LEAST_WORDS else None


def _phrase_before(data: bytes, label: int) -> tuple[int, int] | None:
    window = data[max(0, label - _BEFORE_BYTES) : label].decode(errors="ignore")
    match = _SEED_BEFORE.search(window)
    if match is None or _length(match[1]) != len(match[1]):
        return None
    begin = label - len(window[match.start(1) :].encode())
    return begin, begin + len(match[1].encode())


def _codes(window: str) -> tuple[int, int] | None:
    lead = _LEAD.match(window)
    least = _LISTED_AT_ONCE if lead is None else _LEAST_CHARS
    match = _CODES.match(window, len(window) - len(window.lstrip()) if lead is None else lead.end())
    if match is None or len(re.sub(r"\W", "", match[1])) < least or _DAY.match(match[1]):
        return None
    return match.span(1)
