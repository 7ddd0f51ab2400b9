"""Search for words that a quote nearly repeats: with a slip, an omission or an extra mark (pure).

A near quote is no proof, so its fact has to be confirmed. The record keeps the user's exact words
instead of the near quote.
"""

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

_LABEL = re.compile(
    r"^\W*(?:(?:line\s+)?\d+\s+)?(?:U|R|user)(?:\s+\d{4}-\d\d-\d\d(?:\s+\w{3})?)?\s*:\s*",
    re.IGNORECASE,
)
"""The beginning of a line in a prompt."""
_NUMBER = re.compile(r"\d+")
_LEAST_CHARS = 8
_LEAST_SIGNS = 4
"""Minimum length of a quote to search for: in ASCII letters, and in scripts with more signs."""
_MAX_QUOTE, _MAX_LINE = 400, 4_000
"""Maximum characters of a quote and of a line that are compared."""
_MAX_EFFORT = 150_000
"""Maximum effort: about the effort of searching 400 letters of English in 4,000."""
_LEAST_RUN = 3
"""Minimum run of equal characters that counts as repeated."""
_LEAST_SHARE = 0.8
_LEAST_PAIRS = 0.64
_CHARS_PER_RUN = 6


def plain(quote: str) -> str:
    """Return a quote without the label of its line, and with its HTML entities decoded."""
    return _LABEL.sub("", html.unescape(quote))


@dataclass(frozen=True)
class NearWords:
    """A text in which quotes are searched for by the order of their letters and digits."""

    text: str

    @cached_property
    def _letters(self) -> tuple[str, Sequence[int]]:
        return _letters(self.text)

    @cached_property
    def _pairs(self) -> frozenset[str]:
        return frozenset(_pairs(self._letters[0]))

    @cached_property
    def _numbers(self) -> frozenset[str]:
        return frozenset(_NUMBER.findall(self.text))

    def find(self, quote: str) -> str | None:
        """Return the words that a quote nearly repeats, or None."""
        wanted, _ = _letters(quote[:_MAX_QUOTE])
        letters, places = self._letters
        least = _LEAST_CHARS if wanted.isascii() else _LEAST_SIGNS
        if not least <= len(wanted) or len(quote) > _MAX_QUOTE or len(letters) > _MAX_LINE:
            return None
        if not self._numbers.issuperset(_NUMBER.findall(quote)) or not self._may_have(wanted):
            return None
        if self.effort(quote) > _MAX_EFFORT:
            return None
        matcher = SequenceMatcher(None, letters, wanted, autojunk=False)
        runs = [run for run in matcher.get_matching_blocks() if run.size >= _LEAST_RUN]
        share = sum(run.size for run in runs) / len(wanted)
        if share < _LEAST_SHARE or len(runs) > 1 + len(wanted) // _CHARS_PER_RUN:
            return None
        first, last = places[runs[0].a], places[runs[-1].a + runs[-1].size - 1]
        return _whole_words(self.text, first, last + 1)

    def effort(self, quote: str) -> int:
        """Return the number of pairs of equal letters, as a measure of the time of a search."""
        wanted = Counter(_letters(quote[:_MAX_QUOTE])[0])
        pairs = sum(count * self._counts[letter] for letter, count in wanted.items())
        return pairs + _MAX_QUOTE

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(self._letters[0])

    def _may_have(self, wanted: str) -> bool:
        """Return True if most pairs of letters are in the text; avoids a long comparison."""
        pairs = _pairs(wanted)
        return sum(pair in self._pairs for pair in pairs) >= _LEAST_PAIRS * len(pairs)


def _pairs(letters: str) -> list[str]:
    return [letters[at : at + 2] for at in range(len(letters) - 1)]


def _letters(text: str) -> tuple[str, Sequence[int]]:
    """Return the letters and digits of a text without case and accents, and their positions."""
    found = [
        (sign, place)
        for place, character in enumerate(text)
        for sign in unicodedata.normalize("NFKD", character).casefold()
        if sign.isalnum()
    ]
    return "".join(sign for sign, _ in found), [place for _, place in found]


def _whole_words(text: str, start: int, end: int) -> str:
    """Return a part of a text, extended to whole words if the script has blanks."""
    while start and text[start - 1].isalnum() and text[start - 1].isascii():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end].isascii():
        end += 1
    return text[start:end]
