"""Values announced by a label: "my password is ...", `API_KEY=...` (pure).

RE2 finds a label in the whole text; its value is searched in a short window around it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice

import re2  # type: ignore[import-untyped]  # google-re2 ships no types

from app.language.phrases import any_case
from app.language.privacy.folding import copy_of
from app.language.privacy.label_words import (
    ARTICLES,
    BACKWARD,
    BECOMES,
    COMPOUNDS,
    EQUALS,
    FILLERS,
    GOES_ON,
    NUMERIC,
    OPAQUE,
    ORDINARY,
    ORDINARY_END,
    UNSPACED_NUMERIC,
    UNSPACED_WORDY,
    WORDY,
)

_BEHIND_BYTES, _BEFORE_BYTES = 600, 100
_MAX_WORDS, _MAX_WORDS_BEFORE = 8, 4
_MAX_FILLERS = 2
_LEAST_CHARS, _LEAST_DIGITS, _LEAST_OPAQUE = 4, 3, 6

LABEL = re2.compile(
    rf"(?i)(?P<wordy>{WORDY})|(?:^|[^\pL\pN]|[a-z]_)(?P<numeric>{NUMERIC})(?:[^\pL]|$)"
    rf"|(?:^|[^\pL\pN])(?P<opaque>{OPAQUE})".encode()
)
# The groups of `LABEL`, by position: access by name is slower.
_QUOTES = "\"'`\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019"
_NOISE = rf"[\s{_QUOTES}*_\\)\]|]*"
_ADJACENT = any_case(
    rf"(?:[_-][a-z0-9]{{1,16}}){{0,3}}{_NOISE}(?::=|=>|->|→|[:=|]|>(?!=)|\s[-\u2013\u2014](?=\s))[*_]*\s*"
)
_SUFFIX = any_case(r"(?:[_-][a-z0-9]{1,16}){1,3}")
_OPENED = re.compile(r"\\*([\"'`\u201c\u201e\u00ab\u2018]|\*\*)")
_CLOSING = {
    "\u201c": '\u201d\u201c"',
    "\u201e": "\u201c\u201d",
    "\u00ab": "\u00bb",
    "\u2018": "\u2019",
    "**": "*",
}
_WORD = re.compile(r"\S+")
_BARE = f" \t\r\n{_QUOTES}*_\\()[]{{}},;|"
_END = re.compile(rf"[.,;:!?…)\]}}{_QUOTES}*\\|<>]+$")
_PLACEHOLDER = re.compile(
    r"<.*|\$?\{.*|\$[A-Z_]+|%[A-Za-z_]+%?|[*•xX.…_#?-]+|\[.*|your[_-].*|https?://.*|//.*"
    r"|[A-Za-z_.][\w.]*\([^)]*\).*|\w+(?:\.\w+)+\(.*|\w+\(\w*=.*|[A-Za-z_][\w.]*\[.*|(?:os|process|self|config|settings)\..*",
    re.IGNORECASE | re.DOTALL,
)
_ORDINARY_END = re.compile(rf".*{ORDINARY_END}", re.IGNORECASE | re.DOTALL)
_DIGIT = re.compile(rb"[0-9]")
_POLISH = ("hasło".encode(), b"haslo")
_CODE = re.compile(r"[=(]|://")
_NAME = re.compile(r"[A-Za-z]+(?:_[A-Za-z]+)+")
_GROUPED = re.compile(r"[0-9](?:[ -]?[0-9]){2,11}(?![\w/.-]*\w)")
_JOINED = re.compile(r"[-'\u2019\s]+")
_BINDS = "是|为|為|就是|设为|設為|改为|改為|は|が|を|:|=|->|→"
_UNSPACED = re2.compile(f"({UNSPACED_WORDY})|{UNSPACED_NUMERIC}".encode())
_UNSPACED_BEHIND = re.compile(rf"[\s」』\"']*((?:{_BINDS}|\s)*)([「『“\"'`])?([!-~]+)")
_UNSPACED_BEFORE = re.compile(r"([!-~]*[0-9][!-~]*)\s*[」』”]?(?:是|为|為|が|は)[^\W\d_]{0,6}$")
_UNSPACED_BEHIND_BYTES, _UNSPACED_BEFORE_BYTES = 300, 100


class Class(Enum):
    """Classes of values, by their label."""

    WORDY = auto()
    NUMERIC = auto()
    OPAQUE = auto()


class Bond(Enum):
    """Links between a value and its label."""

    SIGN = auto()
    """A colon or similar."""
    VERB = auto()
    LOOSE = auto()
    """No link, or a word that need not introduce a value."""


@dataclass(frozen=True)
class Value:
    """A text at the expected place of a label's value, with its position in a window."""

    text: str
    start: int
    quoted: bool = False


_CLASSES = tuple(enumerate(Class, start=1))


def labelled(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans, in bytes, of the values announced by labels."""
    at = 0
    while (match := LABEL.search(data, at)) is not None:
        (start, end), of = next(
            (match.span(group), of) for group, of in _CLASSES if match.start(group) >= 0
        )
        span = _behind(data, start, end, of) or _before(data, start, end)
        if span is not None:
            yield span
        at = max(end, span[1] if span is not None else end)


def unspaced(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans, in bytes, of ASCII values next to labels."""
    if data.isascii():
        return
    for match in _UNSPACED.finditer(data):
        of = Class.NUMERIC if match.start(1) < 0 else Class.WORDY
        span = _unspaced_behind(data, match.end(), of) or _unspaced_before(data, match.start())
        if span is not None:
            yield span


def is_label(text: str) -> bool:
    """Return True if a text contains a label, as the key of a value may."""
    copy = copy_of(text)
    searched = text if copy is None else copy.text
    return LABEL.search(searched.encode(errors="surrogatepass")) is not None


def _behind(data: bytes, start: int, end: int, of: Class) -> tuple[int, int] | None:
    window = data[end : end + _BEHIND_BYTES].decode(errors="ignore")
    if window[:1].isalpha():
        return None
    if data[start:end].lower().startswith(_POLISH):
        # "Hasło to" means "the password is"; the English word need not introduce a value.
        window = window.replace(" to ", " is ", 1)
    value = _value_behind(window, of)
    if value is None:
        return None
    start = end + len(window[: value.start].encode())
    return start, start + len(value.text.encode())


def _value_behind(window: str, of: Class) -> Value | None:
    """Return the value that follows a label, if any."""
    adjacent = _ADJACENT.match(window)
    if adjacent is not None:
        parts = {part.casefold() for part in re.split(r"[\W_]+", adjacent[0]) if part}
        if parts & COMPOUNDS:
            return None
        bond = Bond.SIGN if re.search("[:=]", adjacent[0]) else Bond.VERB
        value = _value_at(window, adjacent.end(), of, bond)
        if value is not None or adjacent[0].strip(_BARE) not in {":", ""}:
            return value
    elif _SUFFIX.match(window):
        return None
    return _value_after_words(window, of)


def _value_after_words(window: str, of: Class) -> Value | None:
    words = list(islice(_WORD.finditer(window), _MAX_WORDS + _MAX_FILLERS))
    if window[:1].strip() and not words[0][0].strip(_BARE + "s:"):
        words = words[1:]
    if (
        words
        and not window.startswith(",")
        and (value := _value_at(window, words[0].start(), of, Bond.LOOSE))
    ):
        return value
    is_far = False
    for position, word in enumerate(words[:_MAX_WORDS]):
        bare = word[0].strip(_BARE + ":=").casefold()
        if bare in COMPOUNDS:
            return None
        is_far = is_far or position > _MAX_WORDS_BEFORE
        bond = _bond(bare, word[0], is_far=is_far)
        if bond is not None and (value := _after(window, words[position + 1 :], of, bond)):
            return value
        if bare.endswith((".", "!", "?", "…")):
            following = words[position + 1][0].casefold() if position + 1 < len(words) else ""
            if following not in GOES_ON:
                return None
            is_far = True
    return None


def _bond(bare: str, word: str, *, is_far: bool) -> Bond | None:
    """Return the link of a word to the next value; distant values must look like secrets."""
    is_sign = word.endswith((":", "=", "->", "=>", "→"))
    if is_sign or bare in EQUALS:
        return Bond.LOOSE if is_far else Bond.VERB
    return Bond.LOOSE if bare in BECOMES else None


def _after(window: str, words: list[re.Match[str]], of: Class, bond: Bond) -> Value | None:
    for word in words[: _MAX_FILLERS + 1]:
        if word[0] in {"=", ":", "->", "=>", "→"}:
            bond = Bond.SIGN
        elif word[0].casefold() in ARTICLES:
            bond = Bond.LOOSE
        elif word[0].casefold() not in FILLERS:
            return _value_at(window, word.start(), of, bond)
    return None


def _value_at(window: str, at: int, of: Class, bond: Bond) -> Value | None:
    """Return the value that begins at a position, if it fits the class of its label."""
    at += len(window[at:]) - len(window[at:].lstrip())
    opened = _OPENED.match(window, at)
    value = _bare(window, at, of) if opened is None else _quoted(window, opened)
    rest = window[value.start + len(value.text) :].partition("\n")[0]
    if bond is Bond.SIGN and of is Class.OPAQUE and not value.quoted and rest.strip(_BARE + ".!?"):
        # A word with further words behind it belongs to a sentence.
        bond = Bond.VERB
    return value if _looks(value, of, bond) else None


def _quoted(window: str, opened: re.Match[str]) -> Value:
    start, closing = opened.end(), _CLOSING.get(opened[1], opened[1]) + "\n"
    end = next((n for n in range(start, len(window)) if window[n] in closing), len(window))
    return Value(window[start:end].rstrip("\\"), start, quoted=True)


def _bare(window: str, at: int, of: Class) -> Value:
    # A number may be written in groups.
    groups = _GROUPED.match(window, at) if of is Class.NUMERIC else None
    token = groups or _WORD.match(window, at)
    text = token[0] if token is not None else ""
    if window[max(0, at - 1) : at] == ">":
        text = text.partition("<")[0]
    opened = len(text) - len(text.lstrip("(["))
    return Value(_END.sub("", text[opened:]), at + opened)


def _looks(value: Value, of: Class, bond: Bond) -> bool:
    """Return True if a value fits the class of its label; a looser link requires stronger signs."""
    text = value.text
    digits = sum(char.isdigit() for char in text)
    if digits >= _LEAST_DIGITS and _GROUPED.fullmatch(text):
        digits = len(text)
    least = _LEAST_DIGITS if digits == len(text) else _LEAST_CHARS
    if len(text) < least or _PLACEHOLDER.fullmatch(text) or text.casefold() in ORDINARY:
        return False
    if digits == len(text):
        return _may_be_number(digits, of, bond)
    if of is Class.NUMERIC or _is_word(text):
        may_be = digits >= _LEAST_DIGITS if of is Class.NUMERIC else _may_be_word(value, of, bond)
        return may_be and bond is not Bond.LOOSE
    refused = _CODE.search(text) if bond is Bond.LOOSE else of is Class.OPAQUE and _is_name(text)
    return not refused and (bool(digits) or bond is not Bond.LOOSE)


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def _may_be_number(digits: int, of: Class, bond: Bond) -> bool:
    if of is Class.OPAQUE:
        return digits >= _LEAST_OPAQUE and bond is not Bond.LOOSE
    return of is Class.NUMERIC or digits >= _LEAST_CHARS


def _is_word(text: str) -> bool:
    """Return True for a word of ordinary talk, "Case-sensitive" included."""
    parts = _JOINED.split(text)
    mixed = any(part[1:].lower() != part[1:] and not part.isupper() for part in parts)
    return all(part.isalpha() for part in parts) and not mixed


def _may_be_word(value: Value, of: Class, bond: Bond) -> bool:
    parts = [part.casefold() for part in _JOINED.split(value.text)]
    if value.quoted:
        return len(parts) == 1 or of is Class.WORDY
    ordinary = [part in ORDINARY or _ORDINARY_END.fullmatch(part) is not None for part in parts]
    if all(ordinary) or (any(ordinary) and bond is not Bond.SIGN):
        return False
    return of is Class.WORDY or bond is Bond.SIGN


def _before(data: bytes, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of a value before its label: "... is my PIN"."""
    before = data[max(0, start - _BEFORE_BYTES) : start]
    # Most labels have no value before them, and a value in that place has a digit.
    if data[end : end + 1].isalpha() or _DIGIT.search(before) is None:
        return None
    following = data[end : end + 64].decode(errors="ignore").split()
    if following and following[0].strip(_BARE).casefold() in COMPOUNDS:
        return None
    window = before.decode(errors="ignore")
    words = window.rsplit(maxsplit=_MAX_WORDS_BEFORE)
    for position in range(len(words) - 1, 0, -1):
        if words[position].casefold() in BACKWARD:
            # The first item holds all words before the others.
            word = words[position - 1].rsplit(maxsplit=1)[-1].lstrip(_BARE)
            text = _END.sub("", word)
            if not _is_opaque(text):
                return None
            behind = window[window.rindex(words[position]) :]
            begin = window.rindex(word, 0, len(window) - len(behind))
            begin = start - len(window[begin:].encode())
            return begin, begin + len(text.encode())
    return None


def _is_opaque(text: str) -> bool:
    digits = sum(char.isdigit() for char in text)
    return bool(digits) and len(text) >= _LEAST_CHARS and not _PLACEHOLDER.fullmatch(text)


def _unspaced_behind(data: bytes, end: int, of: Class) -> tuple[int, int] | None:
    window = data[end : end + _UNSPACED_BEHIND_BYTES].decode(errors="ignore")
    match = _UNSPACED_BEHIND.match(window)
    if match is None:
        return None
    bond = Bond.SIGN if match[1].strip() else Bond.LOOSE
    text = _END.sub("", match[3])
    if not _looks(Value(text, 0, quoted=match[2] is not None), of, bond):
        return None
    start = end + len(window[: match.start(3)].encode())
    return start, start + len(text)


def _unspaced_before(data: bytes, start: int) -> tuple[int, int] | None:
    window = data[max(0, start - _UNSPACED_BEFORE_BYTES) : start].decode(errors="ignore")
    match = _UNSPACED_BEFORE.search(window)
    if match is None or len(match[1]) < _LEAST_CHARS:
        return None
    begin = start - len(window[match.start(1) :].encode())
    return begin, begin + len(match[1])
