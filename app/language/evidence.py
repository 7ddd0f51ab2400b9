"""Evidence of values in a text: their words, numbers and dates.

Inflected words count as the same ("vegetarian", "vegetarisch"), and so do numbers in words. A
synonym does not: it may be an interpretation or an invention.
"""

import re
from collections.abc import Iterator
from datetime import date
from functools import cached_property

from app.kernel.text import fold
from app.language.dates import resolve
from app.language.figures import figures, readings_of
from app.language.lexicon import LEXICONS, language, latin, word_set
from app.language.profile_words import MONTHS
from app.language.text import negated, stem

_SHORTEST_FAMILY = 4
_FAMILY_SHARE = 0.7
"""The common beginning of two related words, as a share of the longer word's letters."""
_LATIN = re.compile(r"[\u0021-\u024f]+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_LONG_NUMBER = 5
"""Digits from which on the formatting of a number is ignored, as for telephone numbers."""
_DAY = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{2})(?:-(?P<day>\d{2}))?"
    r"(?:[T ](?P<hour>\d{2}):\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
)
_CENTURY = 100
_NOON = 12
_NEGATIONS = word_set("no not never without kein keine keinen nicht nie ohne sin nunca pas jamais")
_LIKINGS = word_set(
    """
    user users likes like loves love prefers prefer enjoys enjoy wants want preferred favourite
    favorite mag liebt bevorzugt gern gusta prefiere encanta aime prefere adore
    """
)


def alike(word: str, other: str) -> bool:
    """Return True if two folded words are of one word family."""
    shared = next(
        (n for n, pair in enumerate(zip(word, other, strict=False)) if len(set(pair)) > 1), None
    )
    length = min(len(word), len(other)) if shared is None else shared
    return word == other or (
        length >= _SHORTEST_FAMILY and length >= _FAMILY_SHARE * max(len(word), len(other))
    )


class Evidence:
    """A text in which values are looked up, with the day on which it was said."""

    def __init__(self, text: str, said_on: date) -> None:
        self._text = text
        self._said_on = said_on

    @cached_property
    def _tongue(self) -> str:
        return language(self._text, "en")

    @cached_property
    def _folded(self) -> str:
        return fold(self._text)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset([*self._folded.split(), *_LATIN.findall(self._folded)])

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(stem(word, self._tongue) for word in self._words)

    @cached_property
    def _figures(self) -> frozenset[float]:
        return figures(self._text, self._tongue)

    @cached_property
    def _digits(self) -> str:
        return re.sub(r"\D", "", self._text)

    @cached_property
    def _signs(self) -> str:
        return self._folded.replace(" ", "")

    def says(self, value: str) -> bool:
        """Return True if the text has every part of the value, and the value has a part."""
        present = [has for _, has in self._atoms(value)]
        return bool(present) and all(present)

    def touches(self, value: str) -> bool:
        """Return True if the text has any part of the value."""
        return any(has for _, has in self._atoms(value))

    def has_figure(self, number: float) -> bool:
        """Return True if the text has the number."""
        return number in self._figures

    def _atoms(self, value: str) -> Iterator[tuple[str, bool]]:
        """Yield the dates, numbers and words of a value, each with True if the text has it."""
        for day in _DAY.finditer(value):
            yield day.group(), self._has_day(day)
        rest = _DAY.sub(" ", value)
        for number in _NUMBER.findall(rest):
            yield number, self._has_number(number)
        words = fold(_NUMBER.sub(" ", rest)).split()
        for word in _carrying(words) or words:
            if any(sign.isalnum() for sign in word):
                yield word, self._has_word(word)

    def _has_word(self, word: str) -> bool:
        if not latin(word):
            pairs = [word[n : n + 2] for n in range(max(len(word) - 1, 1))]
            return all(pair in self._signs for pair in pairs)
        if word in _NEGATIONS:
            return negated(self._text)
        if word in self._words or stem(word, self._tongue) in self._stems:
            return True
        return any(alike(word, other) for other in self._words)

    def _has_number(self, number: str) -> bool:
        digits = re.sub(r"\D", "", number)
        is_long = len(digits) >= _LONG_NUMBER and digits in self._digits
        return is_long or bool(readings_of(number) & self._figures)

    def _has_day(self, day: re.Match[str]) -> bool:
        """Return True if the text names the day, or a relative date such as "tomorrow" means it."""
        if day.group()[:10] in resolve(self._text, self._said_on, self._tongue):
            return True
        hour = float(day["hour"]) if day["hour"] else None
        is_hour = hour is None or bool({hour, hour % _NOON} & self._figures) or not hour
        is_day = day["day"] is None or float(day["day"]) in self._figures
        return is_hour and is_day and self._has_month(int(day["month"])) and self._has_year(day)

    def _has_month(self, month: int) -> bool:
        return float(month) in self._figures or any(
            MONTHS.get(word) == month for word in self._words
        )

    def _has_year(self, day: re.Match[str]) -> bool:
        """Return True if the text names the year, or names none and it is near `said_on`."""
        year = int(day["year"])
        if {float(year), float(year % _CENTURY)} & self._figures:
            return True
        is_near = abs(year - self._said_on.year) <= 1
        return is_near and not re.search(r"\b\d{4}\b", self._text)


def _carrying(words: list[str]) -> list[str]:
    """Return the words that carry meaning."""
    stops = frozenset[str]().union(*(lexicon.stops for lexicon in LEXICONS.values())) - _NEGATIONS
    return [word for word in words if word not in stops and word not in _LIKINGS]
