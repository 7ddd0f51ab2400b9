"""Detection of numbers, dates, codes and names in a text that have no source.

The comparison is exact and the same in every language. A model may word a fact freely, but all its
digits and capitalised words must have a source.
"""

import re
import unicodedata
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

from app.kernel.text import fold
from app.language.dates import extracted, relative, weekdays_named, words_of
from app.language.lexicon import STOPS, language, word_set
from app.language.phrases import any_case
from app.language.search_languages import configuration_of
from app.language.text import names
from app.language.values import MONTHS, figures, ordinals, spells_a_number

_MONTHS_IN_DOUBT = 24
"""Maximum distance, in months, at which a date may follow from its line; the model must confirm."""
_ADDRESS = re.compile(
    r"[\w.+-]+@[\w-]+\.[\w.-]*\w|\b(?:https?://|www\.)[^\s<>\"')]*[\w/]"
    r"|(?<![\w/])(?:~|\.{0,2})/(?:[\w.-]+/)*[\w.-]*\w|\b[A-Za-z]:\\[\w\\.-]+"
)
_TOKEN = re.compile(r"[^\s,;()\[\]{}\"\u201c\u201d\u201e\u00ab\u00bb|=]+(?:[,][0-9]+)*")
_WITH_UNIT = re.compile(r"\W*(?P<number>\d[\d.,:'\u2019]*)(?P<unit>[^\W\d_]{0,6}|\W{1,3})\W*")
_HOURS = re.compile(r"(\d{1,2})\s?[hH](\d{2})\b")
_NUMBER = re.compile(r"\d+(?:[.,:'\u2019]\d+)*")
_SPACED = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)")
_GROUPED = re.compile(r"\d(?:[\d .,:'\u2019()/\u00a0\u202f-]*\d)?")
_AFTERNOON = any_case(r"(\d{1,2})(?:[:.](\d{2}))?\s?p\.?m\b")
_PARTING = re.compile(r"[-\u2010-\u2015/\u00d7+&~]|(?<=\d)x(?=\d)")
_SEPARATOR = re.compile(r"[.,:'\u2019]")
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,'\u2019]\d{3})+")
_LONG_NUMBER = 4
"""Minimum digits of a number that may be grouped differently, as in telephone numbers."""
_SHORTEST_STEM = 4
_MEASURED = any_case(
    r"\d\s?(?:mm|cm|m|km|g|kg|lbs?|st|pounds?|stones?|pfund|ft|foot|feet|in|inch(?:es)?|mi|miles?|ml"
    r"|cl|l|oz|min|h|°|º|[€$£¥%])(?!\w)|['\u2019]\d{1,2}[\"\u201d]|\b\w+ at [\w.]+ dot \w+"
    r"|\b(?:twen|thir|for|fif|six|seven|eigh|nine)ties\b"
)
"""A measure, a spelt-out address or a decade; a fact may write it with other digits."""
_UNIT_OF_TIME = any_case(
    r"\b(?:years?|yrs?|months?|weeks?|days?|decades?|anniversar\w+|birthday|jahr\w*|monat\w*|woche\w*"
    r"|tage?n?|geburtstag|años?|mes(?:es)?|semanas?|días?|aniversario|cumpleaños|ans?|années?|mois"
    r"|semaines?|jours?|anniversaire)\b"
)
_SHORT_YEAR = any_case(r"['\u2019]\d{2}\b|\b(?:twen|thir|for|fif|six|seven|eigh|nine)ties\b")
_NAMED_IN_GERMAN = re.compile(
    r"\b(?:in|nach|aus|bei|von|für|mit|gegen|und|namens|genannt|heiß\w*|nenn\w*)\s+"
    r"[A-ZÄÖÜ][\w-]+(?:\s+[A-ZÄÖÜ][\w-]+)*"
)
"""German capitalises all nouns; a word in these positions without an article is a name."""
_NOUNS_WITHOUT_ARTICLE = word_set("""
    hause rente urlaub arbeit schule ausbildung elternzeit teilzeit vollzeit pension behandlung
    freunden freundinnen freude kollegen familie kindern zucker milch holz spass
    """)
_TONGUES = word_set("""
    english german spanish french italian portuguese dutch polish turkish swedish russian arabic
    japanese chinese korean hindi englisch deutsch spanisch franzosisch ingles aleman espanol
    frances anglais allemand espagnol francais
    """)


@dataclass(frozen=True)
class Foreign:
    """A detail without a source; `reason` is FOREIGN_NUMBER, FOREIGN_DATE or FOREIGN_NAME.

    `may_follow` is True if a reader may still derive it, as 14 from "two weeks".
    """

    reason: str
    detail: str
    may_follow: bool


@dataclass(frozen=True)
class Origin:
    """All texts that a text may be made from, with the days that "tomorrow" in them is relative to.

    `said_on` is the day of the line that the text rests on.
    """

    said: tuple[tuple[str, date], ...]
    said_on: date

    @cached_property
    def text(self) -> str:
        """All texts as one text."""
        return _plain(" . ".join(text for text, _ in self.said))

    @cached_property
    def words(self) -> frozenset[str]:
        """Folded words of the text."""
        return frozenset(fold(self.text).split())

    @cached_property
    def squashed(self) -> str:
        """The text without blanks and punctuation."""
        return _squashed(self.text)

    @cached_property
    def digits(self) -> tuple[str, ...]:
        """The digits of each number as one string, even if the text groups them."""
        return tuple(re.sub(r"\D", "", number) for number in _GROUPED.findall(self.text))

    @cached_property
    def values(self) -> frozenset[float]:
        """Values of numbers in digits and in words; for a time also the hour and the minute."""
        values = {*figures(self.text, language(self.text, "en")), *ordinals(self.text)}
        for number in _numbers_in(self.text):
            values |= _readings(number)
            values |= {float(part) for part in _SEPARATOR.split(number)}
        for hour, minute in _AFTERNOON.findall(self.text):
            values |= {float(hour) + 12, float(f"{int(hour) + 12}.{minute or 0}")}
        return frozenset(values)

    @cached_property
    def moments(self) -> tuple[str, ...]:
        """Dates that the text gives explicitly or by words."""
        dates = [self.said_on.isoformat()]
        for text, day in self.said:
            words = words_of(text)
            dates += extracted(text, words)[0]
            dates += relative(text, words, day, configuration_of(text))
            dates += [day_near.isoformat() for day_near in _days_near(day, weekdays_named(text))]
        return tuple(edge for moment in dates for edge in moment.split("/"))

    @cached_property
    def may_count(self) -> bool:
        """True if the text has a number in words or a unit, from which digits may follow."""
        known = language(self.text) in STOPS
        return not known or spells_a_number(self.text) or bool(_MEASURED.search(self.text))

    @cached_property
    def may_date(self) -> bool:
        """True if a date can be derived, as 2016 from "ten years ago" or 1990 from "in '90"."""
        has_number = self.may_count or any(sign.isdigit() for sign in self.text)
        counts = has_number and _UNIT_OF_TIME.search(self.text)
        return bool(counts or _SHORT_YEAR.search(self.text))

    def has(self, name: str) -> bool:
        """Return True if a name, or a word with the same stem, is in the text."""
        return any(
            word == name
            or (
                min(len(word), len(name)) >= _SHORTEST_STEM
                and (word.startswith(name) or name.startswith(word))
            )
            for word in self.words
        )


def foreign(text: str, origin: Origin) -> Iterator[Foreign]:
    """Yield the details of a text without a source; the ones that cannot follow come first."""
    plain = _plain(text)
    details = [*_foreign_codes(plain, origin), *_foreign_dates(plain, origin)]
    rest = extracted(_ADDRESS.sub(" ", plain), words_of(plain))[1]
    details += _foreign_numbers(rest, origin)
    yield from sorted(details, key=lambda detail: detail.may_follow)
    for name in foreign_names(text, origin):
        yield Foreign("FOREIGN_NAME", name, may_follow=True)


def foreign_names(text: str, origin: Origin) -> list[str]:
    """Return the folded names in a text without a source, except weekdays and the like."""
    idle = _TONGUES | MONTHS.keys()
    words = {word for name in names(_plain(text)) for word in _without_possessive(name).split()}
    return sorted(
        word
        for word in words
        if len(word) > 1 and word not in idle and not weekdays_named(word) and not origin.has(word)
    )


def may_be_a_noun(name: str, text: str) -> bool:
    """Return True if a word of a German text looks like a name only because of its capital."""
    if language(text) != "de":
        return False
    certain = {word for match in _NAMED_IN_GERMAN.finditer(text) for word in fold(match[0]).split()}
    return name not in certain - _NOUNS_WITHOUT_ARTICLE


def _without_possessive(name: str) -> str:
    return re.sub(r"['\u2019]s$", "", name)


def _foreign_codes(text: str, origin: Origin) -> Iterator[Foreign]:
    for address in _ADDRESS.findall(text):
        if _squashed(address) not in origin.squashed:
            yield Foreign("FOREIGN_NUMBER", address, may_follow=False)
    for raw in _TOKEN.findall(_ADDRESS.sub(" ", text)):
        token = raw.strip(".:!?'\u2019")
        if _is_code(token) and _squashed(token) not in origin.squashed:
            yield Foreign("FOREIGN_NUMBER", token, may_follow=False)


def _is_code(token: str) -> bool:
    """Return True for mixed letters and digits that are not a number with its unit."""
    if not (re.search(r"\d", token) and re.search(r"[^\W\d_]", token)):
        return False
    if _HOURS.match(token) or not token.isascii():
        # Scripts without blanks write numbers inside words.
        return False
    return not all(
        _WITH_UNIT.fullmatch(part) or (not re.search(r"\d", part) and part.islower())
        for part in _PARTING.split(token)
    )


def _foreign_dates(text: str, origin: Origin) -> Iterator[Foreign]:
    for moment in extracted(_ADDRESS.sub(" ", text), words_of(text))[0]:
        year, month, day = _parts(moment)
        if not _follows(year, month, day, origin):
            near = year is None or _months_apart(year, month, origin.said_on) <= _MONTHS_IN_DOUBT
            may_follow = near or origin.may_date
            yield Foreign("FOREIGN_DATE", moment.lstrip("-"), may_follow=may_follow)


def _follows(year: int | None, month: int | None, day: int | None, origin: Origin) -> bool:
    """Return True if each part of a date is in the texts, or in a date that they refer to."""
    known = [_parts(moment) for moment in origin.moments]
    has_month = month is None or any(parts[1] == month for parts in known)
    has_day = day is None or any(parts[2] == day for parts in known) or float(day) in origin.values
    has_year = (
        year is None or any(parts[0] == year for parts in known) or float(year) in origin.values
    )
    is_near = month is not None and year is not None and abs(year - origin.said_on.year) <= 1
    return has_month and has_day and (has_year or is_near)


def _parts(moment: str) -> tuple[int | None, int | None, int | None]:
    """Return year, month and day of a date in the form of `dates_in_text`."""
    if moment.startswith("--"):
        month, _, day = moment[2:].partition("-")
        return None, int(month), int(day) if day else None
    year, *rest = map(int, moment.split("-"))
    month_and_day: list[int | None] = [*rest, None, None]
    return year, month_and_day[0], month_and_day[1]


def _months_apart(year: int, month: int | None, day: date) -> int:
    apart = (year - day.year) * 12
    return abs(apart + month - day.month) if month is not None else max(abs(apart) - 11, 0)


def _days_near(day: date, weekdays: AbstractSet[int]) -> Iterator[date]:
    """Yield the given weekdays within a week before and after a day; readers judge the tense."""
    for offset in range(-7, 8):
        if (day.weekday() + offset) % 7 in weekdays:
            yield day + timedelta(days=offset)


def _foreign_numbers(text: str, origin: Origin) -> Iterator[Foreign]:
    for number in _numbers_in(text):
        readings = _readings(number)
        if readings & origin.values or _stands_grouped(number, origin):
            continue
        if re.search(rf"{re.escape(number)}\s?p\.?m\b", text, re.IGNORECASE) and any(
            reading + 12 in origin.values for reading in readings
        ):
            continue
        if all(_is_part(part, origin) for part in _SEPARATOR.split(number)) and "." in number:
            continue
        yield Foreign("FOREIGN_NUMBER", number, may_follow=origin.may_count)


def _is_part(part: str, origin: Origin) -> bool:
    value = float(part)
    months = {MONTHS[word] for word in origin.words & MONTHS.keys()}
    return value in origin.values or value in months


def _stands_grouped(number: str, origin: Origin) -> bool:
    digits = re.sub(r"\D", "", number)
    return len(digits) >= _LONG_NUMBER and any(digits in row for row in origin.digits)


def _numbers_in(text: str) -> list[str]:
    """Return the numbers in a text, with "54 000" as one number and "9h30" as a time."""
    joined = _SPACED.sub(lambda spaced: re.sub(r"\D", "", spaced[0]), text)
    return _NUMBER.findall(_HOURS.sub(r"\1:\2", joined))


def _readings(number: str) -> set[float]:
    """Return the values that digits can mean: 1,500 is 1500 and 1.5; 9:30 is 9.30; 07:00 is 7."""
    parts = _SEPARATOR.split(number)
    if len(parts) == 1:
        return {float(number)}
    readings = {float("".join(parts))} if _THOUSANDS.fullmatch(number) else set()
    *whole, last = parts
    return readings | {float(f"{''.join(whole)}.{last}")}


def _squashed(text: str) -> str:
    return "".join(fold(text).split())


def _plain(text: str) -> str:
    """Return the text with full-width digits and similar characters in their usual form."""
    return unicodedata.normalize("NFKC", text)
