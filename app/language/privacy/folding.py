"""The searched copy of a text, with one form for characters that look or count alike (pure).

The copy is in NFKC, with ASCII digits, hyphens and blanks. It has no default-ignorable characters,
and no marks except on letters. Look-alike letters are folded only in words that mix scripts.
"""

import re
import unicodedata
from array import array
from bisect import bisect_right
from functools import cache, lru_cache

_IGNORED = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
"""Unicode's `Default_Ignorable_Code_Point`, which Python's standard library lacks."""
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u3099\u309a\ufe20-\ufe2f"
"""Combining marks of any script and of kana, from Unicode's blocks of combining characters."""
_SAME = str.maketrans(
    "\u1680\u0085\u2028\u2029\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212", " \n\n\n--------"
)
_LIKE_LATIN = str.maketrans(
    "АВЕЅІЈКМНОРСТУХѴԌԚԜҮӀавесԁһіјкмноԛпгѕтхуѵԝүӏрьΑΒΕΖΗΙΚΜΝΟΡΤΥΧαβγεηικνορςστυχωϲϳ",
    "ABESIJKMHOPCTYXVGQWYIabecdhijkmhoqnrstxyvwylpbABEZHIKMNOPTYXabyenikvopsstuxwcj",
)
_LETTER, _ALIKE = "A-Za-z", "\u0370-\u03ff\u0400-\u052f"
_IS_ALIKE = re.compile(f"[{_ALIKE}]")
_MIXED = re.compile(rf"[{_LETTER}][0-9_]*[{_ALIKE}]|[{_ALIKE}][0-9_]*[{_LETTER}]")
_WORD = re.compile(rf"[{_LETTER}{_ALIKE}0-9_]+")
_JOINED = re.compile(f"[{_IGNORED}{_MARKS}]")
_IS_IGNORED, _IS_MARK = re.compile(f"[{_IGNORED}]+"), re.compile(f"[{_MARKS}]+")
_MOST_MARKS = 16
"""Maximum marks counted on a letter: Python sorts them in quadratic time."""
_MOST_CHARS = 4
"""Maximum length of one folded character; a longer one stands for a whole word or phrase."""


class Copy:
    """The copy of a text, with a mapping back to the text."""

    def __init__(self, text: str) -> None:
        # Beginning and end of each differing piece, in the copy and in the text.
        self._begins, self._ends = array("I"), array("I")
        self._from, self._to = array("I"), array("I")
        self._longer = 0
        self.text = text
        if _changing().search(text) is not None:
            # The pattern with a letter before its marks is far slower: only used with marks.
            pieces = _changing() if _JOINED.search(text) is None else _pieces()
            self.text = pieces.sub(self._replaced, text)
        if _mixes_scripts(self.text):
            self.text = _WORD.sub(_like_latin, self.text)

    def _replaced(self, match: re.Match[str]) -> str:
        folded = _one(_IS_IGNORED.sub("", match[0])[:_MOST_MARKS])
        begin = match.start() + self._longer
        self._begins.append(begin)
        self._ends.append(begin + len(folded))
        self._from.append(match.start())
        self._to.append(match.end())
        self._longer += len(folded) - len(match[0])
        return folded

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the text for a span of the copy, which must not be empty.

        A character of the text belongs to the span if any part of its form in the copy does.
        """
        first, last = bisect_right(self._begins, start) - 1, bisect_right(self._begins, end - 1) - 1
        if first >= 0:
            beyond = start - self._ends[first]
            start = self._from[first] if beyond < 0 else self._to[first] + beyond
        if last >= 0:
            end = self._to[last] + max(0, end - self._ends[last])
        return start, end


def copy_of(text: str) -> Copy | None:
    """Return the copy of a text; None if it would equal the text."""
    if text.isascii() or (_changing().search(text) is None and not _mixes_scripts(text)):
        return None
    copy = Copy(text)
    return None if copy.text == text else copy


@cache
def _changing() -> re.Pattern[str]:
    # Compiled on first use. Includes all of the higher planes, since their letters are rare.
    single = "".join(
        char
        for char in map(chr, range(0x80, 0x10000))
        if char.isdecimal() or not unicodedata.is_normalized("NFKC", char)
    )
    same = "".join(map(chr, _SAME))
    return re.compile(f"[{single}{same}{_IGNORED}{_MARKS}\U00010000-\U0010ffff]")


@cache
def _pieces() -> re.Pattern[str]:
    joined = _IGNORED + _MARKS
    return re.compile(f"[^{joined}]?[{joined}]+|{_changing().pattern}")


@lru_cache(maxsize=4_096)
def _one(piece: str) -> str:
    folded = _IS_MARK.sub("", unicodedata.normalize("NFKC", piece)).translate(_SAME)
    if len(folded) > _MOST_CHARS:
        return piece
    return "".join(
        char if char.isascii() or (digit := unicodedata.decimal(char, None)) is None else str(digit)
        for char in folded
    )


def _mixes_scripts(text: str) -> bool:
    # The first search is ten times as fast, and most texts have no look-alike letter.
    return _IS_ALIKE.search(text) is not None and _MIXED.search(text) is not None


def _like_latin(match: re.Match[str]) -> str:
    word = match[0]
    return word.translate(_LIKE_LATIN) if _MIXED.search(word) is not None else word
