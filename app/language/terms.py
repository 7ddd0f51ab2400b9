"""The terms of a query, and the terms found in a text: as bits, for `Bm25`."""

import re
from collections.abc import Iterable, Sequence
from unicodedata import normalize

from app.kernel.text import fold, without_format
from app.language.bm25 import MAX_TERMS
from app.language.grams import apart, has_grams
from app.language.lexicon import language
from app.language.search_languages import configuration_of
from app.language.text import straight
from app.language.wording import alike, meanings

_ALIKE_CHARS = 5
"""Least number of first characters shared by similar words, unless they are equal."""
_NO_TONGUE = "-"
"""The unknown language: its words stay unchanged."""
_MAX_KNOWN = 50_000
"""Maximum number of words with a cached look-up."""
_ACCENTS = re.compile("[\u0300-\u036f]")
_SIGN = re.compile(r"\w")


class Terms:
    """The terms of a query, and a look-up of the terms in a text."""

    def __init__(self, query: str) -> None:
        known = "en" if configuration_of(query) == "english" else _NO_TONGUE
        self._tongue = language(query) or known
        terms = dict.fromkeys(term for word in self._words(query) for term in self._terms(word))
        self._numbers = {term: n for n, term in enumerate(list(terms)[:MAX_TERMS])}
        self._alike: dict[str, list[str]] = {}
        for term in self._numbers:
            self._alike.setdefault(term[:_ALIKE_CHARS], []).append(term)
        self._bits: dict[str, int] = {}
        """The bits of the words found so far that are terms."""
        self._known: set[str] = set()

    def __len__(self) -> int:
        return len(self._numbers)

    def read(self, text: str) -> tuple[int, int]:
        """Return the bits of the terms in a text, and its number of words."""
        text_words = self._words(text)
        distinct = set(text_words)
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
            self._bits.clear()
        for word in distinct - self._known:
            self._known.add(word)
            if matched := self._matched(word):
                self._bits[word] = matched
        return together(self._bits[word] for word in distinct & self._bits.keys()), len(text_words)

    def _words(self, text: str) -> list[str]:
        text, grams = apart(text)
        if self._tongue == "fr":
            text = straight(text).replace("'", " ")
        return [*fold(text).split(), *grams]

    def _terms(self, word: str) -> Sequence[str]:
        return (word,) if has_grams(word) else meanings(word, self._tongue)

    def _matched(self, word: str) -> int:
        matched = 0
        for term in self._terms(word):
            number = self._numbers.get(term)
            if number is None:
                near = self._alike.get(term[:_ALIKE_CHARS], ())
                number = next((self._numbers[own] for own in near if alike(own, term)), None)
            matched |= 0 if number is None else 1 << number
        return matched


def together(bits: Iterable[int]) -> int:
    """Return the union of bits."""
    union = 0
    for bit_set in bits:
        union |= bit_set
    return union


def folded(text: str) -> str:
    """Remove accents, as the columns `terms` do, and format characters, as their grams do.

    Words that have those follow as they are: so `terms` hold them, and texts that were stored by a
    former release may have no grams.
    """
    return _ACCENTS.sub("", normalize("NFD", " ".join([without_format(text), *with_format(text)])))


def with_format(text: str) -> list[str]:
    """Return the words that have format characters."""
    if text.isascii():
        return []
    return [word for word in text.split() if without_format(word) != word and _SIGN.search(word)]
