"""Values after a label in Chinese and Japanese, which are written without blanks (pure)."""

import re
from collections.abc import Iterator

import re2  # type: ignore[import-untyped]  # google-re2 ships no types

from app.language.privacy.label_words import UNSPACED_NUMERIC, UNSPACED_WORDY
from app.language.privacy.labels import Bond, Class, Value, bare_end, looks

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
    found = _BEHIND.match(window)
    if found is None:
        return None
    bond = Bond.SIGN if found[1].strip() else Bond.LOOSE
    text = bare_end(found[3])
    if not looks(Value(text, 0, quoted=found[2] is not None), of, bond):
        return None
    start = end + len(window[: found.start(3)].encode())
    return start, start + len(text)


def _before(data: bytes, start: int) -> tuple[int, int] | None:
    window = data[max(0, start - _BEFORE_BYTES) : start].decode(errors="ignore")
    found = _BEFORE.search(window)
    if found is None or len(found[1]) < _LEAST_CHARS:
        return None
    begin = start - len(window[found.start(1) :].encode())
    return begin, begin + len(found[1])
