"""Search for sensitive values in a text (pure). The time is linear in the text's length."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import re2  # type: ignore[import-untyped]  # google-re2 ships no types

from app.kernel.wire.privacy_config import Kind
from app.language.privacy.folding import copy_of
from app.language.privacy.kinds import FORMS, Form, Span
from app.language.privacy.labels import CODES, NOT_IN_PHRASES, PHRASES, labelled, unspaced

_MASK = re2.compile(rb"\[[A-Z_]{1,32}\]")
_SHOWN = re2.compile(rb"[\pL\pN]")
_LEAST_BYTES = 3
_LEAST_LETTERS = 16
"""Length of the shortest value that may consist of letters only, an AWS key."""

_Placed = tuple[int, int, str]
"""Begin, end and kind of a value."""

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


@dataclass(frozen=True)
class Finding:
    """A sensitive value: its kind, and its begin and end in characters."""

    kind: str
    start: int
    end: int


def find(
    text: str, kinds: Collection[str], custom: Mapping[str, Any] | None = None
) -> list[Finding]:
    """Return the values of some kinds, in their order; they do not overlap.

    Overlapping values are merged into one, of the kind of the longest, to leave no part of any
    value. A text is searched as it is, and in a copy with unified look-alike characters. `custom`
    has compiled patterns by name.
    """
    if len(text) < _LEAST_BYTES or (not custom and _is_short_word(text)):
        return []
    spans = _spans(text, kinds, custom or {})
    copy = copy_of(text)
    if copy is not None:
        in_copy = _spans(copy.text, kinds, custom or {})
        spans += [(*copy.origin(start, end), kind) for start, end, kind in in_copy]
        spans = _merged(sorted(spans))
    return [Finding(kind, start, end) for start, end, kind in spans]


def _spans(text: str, kinds: Collection[str], custom: Mapping[str, Any]) -> list[_Placed]:
    data = text.encode(errors="surrogatepass")
    spans = sorted(_found(data, kinds, custom))
    return _in_characters(data, _merged(_unmasked(data, spans))) if spans else []


def _is_short_word(text: str) -> bool:
    """Return True for a word that is too short to match a form, such as most field names."""
    return len(text) < _LEAST_LETTERS and text.isascii() and text.isalpha()


def _found(data: bytes, kinds: Collection[str], custom: Mapping[str, Any]) -> Iterator[_Placed]:
    for kind, forms in FORMS.items():
        if kind in kinds:
            for form in forms:
                yield from ((*span, kind) for span in _of_form(data, form))
    if Kind.CREDENTIAL in kinds:
        for announced in (labelled, _listed, unspaced):
            yield from ((*span, Kind.CREDENTIAL) for span in announced(data))
    for name, pattern in custom.items():
        if name in kinds:
            matches = (match.span() for match in pattern.finditer(data))
            yield from ((*span, name) for span in matches if span[0] < span[1])


def _of_form(data: bytes, form: Form) -> Iterator[Span]:
    if form.sign not in data:
        return
    for match in form.pattern.finditer(data):
        yield from form.spans(match)


def _unmasked(data: bytes, spans: list[_Placed]) -> list[_Placed]:
    masks = [match.span() for match in _MASK.finditer(data)]
    kept, at = [], 0
    for span in spans:
        while at < len(masks) and masks[at][1] <= span[0]:
            at += 1
        is_masked = at < len(masks) and masks[at][0] < span[1]
        if not is_masked or _SHOWN.search(data[span[0] : masks[at][0]]):
            kept.append(span)
    return kept


def _merged(spans: list[_Placed]) -> list[_Placed]:
    merged: list[_Placed] = []
    longest = 0
    for start, end, kind in spans:
        if merged and start < merged[-1][1]:
            first, last, former = merged[-1]
            is_longer = end - start > longest
            merged[-1] = (first, max(last, end), kind if is_longer else former)
            longest = max(longest, end - start)
        else:
            merged.append((start, end, kind))
            longest = end - start
    return merged


def _in_characters(data: bytes, spans: list[_Placed]) -> list[_Placed]:
    if data.isascii():
        return spans
    placed: list[_Placed] = []
    at, chars = 0, 0
    for start, end, kind in spans:
        first = chars + _length(data[at:start])
        chars = first + _length(data[start:end])
        at = end
        placed.append((first, chars, kind))
    return placed


def _length(data: bytes) -> int:
    # Continuation bytes have the form 10xxxxxx. No span begins with one, since RE2 matches whole
    # characters, and patterns with \C are refused.
    return (
        sum((byte & 0xC0) != 0x80 for byte in data)
        if len(data) < 64
        else len(data.decode(errors="surrogatepass"))
    )


def _listed(data: bytes) -> Iterator[tuple[int, int]]:
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
    end = _phrase_length(match[1])
    return None if end is None else (match.start(1), match.start(1) + end)


def _phrase_length(words: str) -> int | None:
    """Return the length of the phrase at the beginning of `words`; None for a sentence."""
    words_found = _LETTERS.finditer(words)
    kept = list(takewhile(lambda word: word[0].casefold() not in NOT_IN_PHRASES, words_found))
    return kept[-1].end() if len(kept) >= _LEAST_WORDS else None


def _phrase_before(data: bytes, label: int) -> tuple[int, int] | None:
    window = data[max(0, label - _BEFORE_BYTES) : label].decode(errors="ignore")
    match = _SEED_BEFORE.search(window)
    if match is None or _phrase_length(match[1]) != len(match[1]):
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
