"""Text normalised for storage and for comparison, and its language."""

import re
import string
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Self


class Language(StrEnum):
    """A language that Postgres can stem, by its ISO 639-1 code."""

    configuration: str
    """The name of the text-search configuration; Postgres 15 has each of them."""

    def __new__(cls, code: str, configuration: str) -> Self:
        """Make a member of its code and its configuration."""
        language = str.__new__(cls, code)
        language._value_ = code
        language.configuration = configuration
        return language

    SIMPLE = "simple", "simple"
    """Any other language: words are not stemmed."""
    AR = "ar", "arabic"
    CA = "ca", "catalan"
    DA = "da", "danish"
    DE = "de", "german"
    EL = "el", "greek"
    EN = "en", "english"
    ES = "es", "spanish"
    ET = "et", "estonian"
    EU = "eu", "basque"
    FI = "fi", "finnish"
    FR = "fr", "french"
    GA = "ga", "irish"
    HI = "hi", "hindi"
    HU = "hu", "hungarian"
    HY = "hy", "armenian"
    ID = "id", "indonesian"
    IT = "it", "italian"
    LT = "lt", "lithuanian"
    NE = "ne", "nepali"
    NL = "nl", "dutch"
    NO = "no", "norwegian"
    PT = "pt", "portuguese"
    RO = "ro", "romanian"
    RU = "ru", "russian"
    SR = "sr", "serbian"
    SV = "sv", "swedish"
    TA = "ta", "tamil"
    TR = "tr", "turkish"
    YI = "yi", "yiddish"


_WITHOUT_STEMS = {
    "cs": "czech",
    "he": "hebrew",
    "ja": "japanese",
    "ko": "korean",
    "pl": "polish",
    "th": "thai",
    "vi": "vietnamese",
    "zh": "chinese",
}
NAMES = {lang.value: lang.configuration for lang in Language if lang is not Language.SIMPLE}
NAMES |= _WITHOUT_STEMS
"""Names of languages by ISO 639-1 code, equal to the name of a Postgres configuration if any."""
CODES = {name: code for code, name in NAMES.items()}
"""Codes of languages by their names."""


_ACCENTS = re.compile("[\u0300-\u036f]")
APOSTROPHES = re.compile("['\u2019\u02bc`\u00b4]")
_FORMAT = re.compile(
    "[\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    "\U000e0020-\U000e007f\U000e0100-\U000e01ef]"
)
"""Format characters (Unicode's class Cf) and variation selectors."""
# `+`, `#`, `%` and currency signs distinguish names ("C", "C++", "C#"); other signs do not.
_SEPARATORS = re.compile(r"[^\w+#%$€£¥]+|_+")
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""A character that the database does not store: U+0000, or half of a surrogate pair."""
# Scripts in which some marks stay separate from the preceding letter, even after NFKC.
_MARKED = re.compile("[\u0483-\u1dff\ua66f-\uabff]")
_FIRST_SURROGATE, _AFTER_SURROGATES = 0xD800, 0xE000
_HIDDEN = frozenset({"Cc", "Cf"})
_MARKS = frozenset({"Mn", "Mc"})
_JOINERS = frozenset("\u200c\u200d")
"""Characters that scripts and emoji need within words."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff]")


def texts_in(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Yield every text in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, below in value.items():
            yield key
            yield from texts_in(below)
    elif isinstance(value, list):
        for below in value:
            yield from texts_in(below)


def is_storable(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Return True if the database can hold every text in a JSON value."""
    return not any(UNSTORABLE.search(text) for text in texts_in(value))


def clean(text: str) -> str:
    """Remove the characters that the database cannot store or a reader cannot see."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def is_hidden(character: str) -> bool:
    """Return True if a character is invisible or changes the direction of the text."""
    return character not in _JOINERS and unicodedata.category(character) in _HIDDEN


def without_format(text: str) -> str:
    """Remove format characters: direction marks, invisible blanks and variation selectors."""
    return text if text.isascii() else _FORMAT.sub("", text)


def fold(text: str) -> str:
    """Return the text without case, accents, punctuation, format characters and extra spaces."""
    plain = APOSTROPHES.sub("", text)
    separator: str | Callable[[re.Match[str]], str] = " "
    if not plain.isascii():
        bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", _FORMAT.sub("", plain)))
        plain = unicodedata.normalize("NFKC", bare)
        if _MARKED.search(plain):
            separator = _marks_in
    return " ".join(_SEPARATORS.sub(separator, plain.casefold()).split()) or text.strip()


def _marks_in(separators: re.Match[str]) -> str:
    """Replace the characters between two letters by blanks, except combining marks."""
    return "".join(
        character if unicodedata.category(character) in _MARKS else " "
        for character in separators[0]
    )


def after_all_with(prefix: str) -> str | None:
    """Return the least text that is greater than all texts with a prefix; None: there is none."""
    # The byte order of UTF-8 is the order of the characters.
    kept = prefix.rstrip(chr(sys.maxunicode))
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    # A text cannot contain half of a surrogate pair.
    return kept[:-1] + chr(_AFTER_SURROGATES if following == _FIRST_SURROGATE else following)


def places_of(text: str) -> Sequence[str] | None:
    """Return the placeholders of a template in order; None if one has a format or a conversion."""
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        raise ValueError("must have its braces in pairs; write {{ for a brace") from None
    if any(spec or conversion for _, _, spec, conversion in parts):
        return None
    return [name for _, name, _, _ in parts if name is not None]


def span_of(text: str, wanted: Sequence[str]) -> tuple[int, int] | None:
    """Return the span of all wanted texts that stand in a text; None: it has none of them.

    Of several places of one, the place nearest to the longest wanted text counts.
    """
    spans: list[tuple[int, int]] = []
    for one in sorted(filter(None, wanted), key=len, reverse=True):
        anchor = spans[0][0] if spans else 0
        found = [text.rfind(one, 0, anchor), text.find(one, anchor)]
        starts = [start for start in found if start >= 0]
        if starts:
            start = min(starts, key=lambda start: abs(start - anchor))
            spans.append((start, start + len(one)))
    return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else None
