"""Search for sensitive values in a text (pure). The time is linear in the text's length."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import re2  # type: ignore[import-untyped]  # google-re2 ships no types

from app.kernel.wire.privacy_config import Kind
from app.language.privacy.folding import copy_of
from app.language.privacy.kinds import FORMS, Form, Span
from app.language.privacy.label_words import UNSPACED_NUMERIC, UNSPACED_WORDY
from app.language.privacy.labels import Bond, Class, Value, bare_end, labelled, looks
from app.language.privacy.listed import listed

_BINDS = "是|为|為|就是|设为|設為|改为|改為|は|が|を|:|=|->|→"
_LABEL = re2.compile(f"({UNSPACED_WORDY})|{UNSPACED_NUMERIC}".encode())
_BEHIND = re.compile(rf"[\s」』\"']*((?:{_BINDS}|\s)*)([「『“\"'`])?([!-~]+)")
_BEFORE = re.compile(r"([!-~]*[0-9][!-~]*)\s*[」』”]?(?:是|为|為|が|は)[^\W\d_]{0,6}$")
_BEHIND_BYTES, _BEFORE_BYTES = 300, 100
_LEAST_CHARS = 4


def unspaced(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans, in bytes, of ASCII values next to labels."""
    if data.isascii():
        return
    for match in _LABEL.finditer(data):
        of = Class.NUMERIC if match.start(1) < 0 else Class.WORDY
        span = _behind(data, match.end(), of) or _before(data, match.start())
        if span is not None:
            yield span


def _behind(data: bytes, end: int, of: Class) -> tuple[int, int] | None:
    window = data[end : end + _BEHIND_BYTES].decode(errors="ignore")
    match = _BEHIND.match(window)
    if match is None:
        return None
    bond = Bond.SIGN if match[1].strip() else Bond.LOOSE
    text = bare_end(match[3])
    if not looks(Value(text, 0, quoted=match[2] is not None), of, bond):
        return None
    start = end + len(window[: match.start(3)].encode())
    return start, start + len(text)


def _before(data: bytes, start: int) -> tuple[int, int] | None:
    window = data[max(0, start - _BEFORE_BYTES) : start].decode(errors="ignore")
    match = _BEFORE.search(window)
    if match is None or len(match[1]) < _LEAST_CHARS:
        return None
    begin = start - len(window[match.start(1) :].encode())
    return begin, begin + len(match[1])


_MASK = re2.compile(rb"\[[A-Z_]{1,32}\]")
_SHOWN = re2.compile(rb"[\pL\pN]")
_LEAST_BYTES = 3
_LEAST_LETTERS = 16
"""Length of the shortest value that may consist of letters only, an AWS key."""

_Placed = tuple[int, int, str]
"""Begin, end and kind of a value."""


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
    value. A text is searched as it is, and in a copy with unified look-alike characters.
    `custom` has compiled patterns by name.
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
        for announced in (labelled, listed, unspaced):
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
    """Omit the values that begin with a mask, which are already hidden."""
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
