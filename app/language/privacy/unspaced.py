"""Values that a label announces in Chinese and Japanese, which put no blanks between words (pure)."""

from collections.abc import Iterator

import re2  # type: ignore[import-untyped]  # google-re2 ships no types

from app.language.privacy.label_words import UNSPACED_NUMERIC, UNSPACED_WORDY
from app.language.privacy.labels import Bond, Class, Value, bare_end, looks

_BINDS = "是|为|為|就是|设为|設為|改为|改為|は|が|を|:|=|->|→"
_LABEL = f"(?:({UNSPACED_WORDY})|(?:{UNSPACED_NUMERIC}))"
_QUOTE = r"[「『“\"'`]"
_BEHIND = re2.compile(
    rf"{_LABEL}[\s」』\"']*((?:{_BINDS}|\s)*)({_QUOTE})?([!-~]+)".encode()
)
_BEFORE = re2.compile(rf"([!-~]*[0-9][!-~]*)\s*[」』”]?(?:是|为|為|が|は)\pL{{0,6}}{_LABEL}".encode())
_LEAST_CHARS = 4


def unspaced(data: bytes) -> Iterator[tuple[int, int]]:
    """Return the spans, in bytes, of values in ASCII beside labels."""
    if data.isascii():
        return
    for match in _BEHIND.finditer(data):
        label, binds, quote, value = match.groups()
        of = Class.NUMERIC if label is None else Class.WORDY
        bond = Bond.SIGN if binds.strip() else Bond.LOOSE
        text = bare_end(value.decode())
        if looks(Value(text, 0, quoted=quote is not None), of, bond):
            yield match.start(4), match.start(4) + len(text)
    for match in _BEFORE.finditer(data):
        if match.end(1) - match.start(1) >= _LEAST_CHARS:
            yield match.span(1)
