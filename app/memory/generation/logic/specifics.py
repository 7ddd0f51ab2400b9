"""Numbers, dates, codes and names that a text brings in from nowhere (pure).

The comparison is exact, cheap and the same in every language: a model may word a fact as it likes,
but what it spells in digits or with a capital must have a source.
"""

import re
import unicodedata
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

from app.kernel.text import fold
from app.language.dates import weekdays_named
from app.language.figures import figures, ordinals, spells_a_number
from app.language.lexicon import LEXICONS, language, word_set
from app.language.moments import extracted, relative, words_of
from app.language.profile_words import MONTHS
from app.language.search_languages import configuration_of
from app.language.text import names

_MONTHS_IN_DOUBT = 24
"""A date this near to its line may follow from it; whether it does, the model is asked."""
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
_AFTERNOON = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?\s?p\.?m\b", re.IGNORECASE)
_PARTING = re.compile(r"[-\u2010-\u2015/\u00d7+&~]|(?<=\d)x(?=\d)")
_SEPARATOR = re.compile(r"[.,:'\u2019]")
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,'\u2019]\d{3})+")
_LONG_NUMBER = 4
"""Digits of a number that may be grouped in another way, as those of a telephone are."""
_SHORTEST_STEM = 4
_MEASURED = re.compile(
    r"\d\s?(?:mm|cm|m|km|g|kg|lbs?|st|pounds?|stones?|pfund|ft|foot|feet|in|inch(?:es)?|mi|miles?|ml"
    r"|cl|l|oz|min|h|°|º|[€$£¥%])(?!\w)|['\u2019]\d{1,2}[\"\u201d]|\b\w+ at [\w.]+ dot \w+"
    r"|\b(?:twen|thir|for|fif|six|seven|eigh|nine)ties\b",
    re.IGNORECASE,
)
"""A measure, an address spelt out or a decade, which a fact may write in other digits."""
_UNIT_OF_TIME = re.compile(
    r"\b(?:years?|yrs?|months?|weeks?|days?|decades?|anniversar\w+|birthday|jahr\w*|monat\w*|woche\w*"
    r"|tage?n?|geburtstag|años?|mes(?:es)?|semanas?|días?|aniversario|cumpleaños|ans?|années?|mois"
    r"|semaines?|jours?|anniversaire)\b",
    re.IGNORECASE,
)
_SHORT_YEAR = re.compile(
    r"['\u2019]\d{2}\b|\b(?:twen|thir|for|fif|six|seven|eigh|nine)ties\b", re.IGNORECASE
)
_NAMED_IN_GERMAN = re.compile(
    r"\b(?:in|nach|aus|bei|von|für|mit|gegen|und|namens|genannt|heiß\w*|nenn\w*)\s+"
    r"[A-ZÄÖÜ][\w-]+(?:\s+[A-ZÄÖÜ][\w-]+)*"
)
"""German writes all nouns with a capital: a name is what stands there without an article."""
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
    """A detail without a source.

    Attributes:
        reason: FOREIGN_NUMBER, FOREIGN_DATE or FOREIGN_NAME.
        detail: as the text spells it.
        may_follow: whether a reader may still draw it from the sources, as 14 from "two weeks".
    """

    reason: str
    detail: str
    may_follow: bool


@dataclass(frozen=True)
class Origin:
    """Everything that a text may be made from.

    Attributes:
        said: texts, each with the day from which its "tomorrow" counts.
        said_on: the day of the line that the text rests on.
    """

    said: tuple[tuple[str, date], ...]
    said_on: date

    @cached_property
    def text(self) -> str:
        """All of it as one text."""
        return _plain(" . ".join(text for text, _ in self.said))

    @cached_property
    def words(self) -> frozenset[str]:
        """Its folded words."""
        return frozenset(fold(self.text).split())

    @cached_property
    def squashed(self) -> str:
        """It without blanks and punctuation."""
        return _squashed(self.text)

    @cached_property
    def digits(self) -> tuple[str, ...]:
        """The digits of its numbers, of each in one row, also where they stand in groups."""
        return tuple(re.sub(r"\D", "", one) for one in _GROUPED.findall(self.text))

    @cached_property
    def values(self) -> frozenset[float]:
        """What its numbers mean, in digits and in words; of a time also the hour and the minute."""
        found = {*figures(self.text, language(self.text, "en")), *ordinals(self.text)}
        for number in _numbers_in(self.text):
            found |= _readings(number)
            found |= {float(part) for part in _SEPARATOR.split(number)}
        for hour, minute in _AFTERNOON.findall(self.text):
            found |= {float(hour) + 12, float(f"{int(hour) + 12}.{minute or 0}")}
        return frozenset(found)

    @cached_property
    def moments(self) -> tuple[str, ...]:
        """The dates that it names or that its words mean."""
        found = [self.said_on.isoformat()]
        for text, day in self.said:
            words = words_of(text)
            found += extracted(text, words)[0]
            found += relative(text, words, day, configuration_of(text))
            found += [one.isoformat() for one in _days_near(day, weekdays_named(text))]
        return tuple(edge for one in found for edge in one.split("/"))

    @cached_property
    def may_count(self) -> bool:
        """Whether it has a number in words or a unit, from which digits may follow."""
        known = language(self.text) in LEXICONS
        return not known or spells_a_number(self.text) or bool(_MEASURED.search(self.text))

    @cached_property
    def may_date(self) -> bool:
        """True if a reader can work out a date from it: a number of years or days, a short year.

        A reader draws 2016 from "ten years ago", and 1990 from "born in '90".
        """
        has_number = self.may_count or any(sign.isdigit() for sign in self.text)
        counts = has_number and _UNIT_OF_TIME.search(self.text)
        return bool(counts or _SHORT_YEAR.search(self.text))

    def has(self, name: str) -> bool:
        """Return True if a name stands here, or one that begins as it does."""
        return any(
            word == name
            or (
                min(len(word), len(name)) >= _SHORTEST_STEM
                and (word.startswith(name) or name.startswith(word))
            )
            for word in self.words
        )


def foreign(text: str, origin: Origin) -> Iterator[Foreign]:
    """Yield the details of a text that have no source, those that cannot follow from one first."""
    plain = _plain(text)
    found = [*_foreign_codes(plain, origin), *_foreign_dates(plain, origin)]
    rest = extracted(_ADDRESS.sub(" ", plain), words_of(plain))[1]
    found += _foreign_numbers(rest, origin)
    yield from sorted(found, key=lambda one: one.may_follow)
    for name in foreign_names(text, origin):
        yield Foreign("FOREIGN_NAME", name, may_follow=True)


def foreign_names(text: str, origin: Origin) -> list[str]:
    """Return the names of a text, folded, that stand nowhere; weekdays and the like are none."""
    idle = _TONGUES | MONTHS.keys()
    words = {word for name in names(_plain(text)) for word in _bare(name).split()}
    return sorted(
        word
        for word in words
        if len(word) > 1 and word not in idle and not weekdays_named(word) and not origin.has(word)
    )


def may_be_a_noun(name: str, text: str) -> bool:
    """Return True if a capital is all that makes a word of a German text a name."""
    if language(text) != "de":
        return False
    certain = {word for one in _NAMED_IN_GERMAN.finditer(text) for word in fold(one[0]).split()}
    return name not in certain - _NOUNS_WITHOUT_ARTICLE


def _bare(name: str) -> str:
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
    """Return True for letters and digits mixed otherwise than in a number with its unit."""
    if not (re.search(r"\d", token) and re.search(r"[^\W\d_]", token)):
        return False
    if _HOURS.match(token) or not token.isascii():
        # Scripts without blanks write numbers within words.
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
    """Return True if each part of a date stands somewhere or is that of a date meant there."""
    known = [_parts(one) for one in origin.moments]
    has_month = month is None or any(one[1] == month for one in known)
    has_day = day is None or any(one[2] == day for one in known) or float(day) in origin.values
    has_year = year is None or any(one[0] == year for one in known) or float(year) in origin.values
    is_near = month is not None and year is not None and abs(year - origin.said_on.year) <= 1
    return has_month and has_day and (has_year or is_near)


def _parts(moment: str) -> tuple[int | None, int | None, int | None]:
    """Return year, month and day of a moment as `rules.moments` writes it."""
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
    """Yield the days before and after one that are such weekdays: tense is for readers to tell."""
    for offset in range(-7, 8):
        if (day.weekday() + offset) % 7 in weekdays:
            yield day + timedelta(days=offset)


def _foreign_numbers(text: str, origin: Origin) -> Iterator[Foreign]:
    for number in _numbers_in(text):
        readings = _readings(number)
        if readings & origin.values or _stands_grouped(number, origin):
            continue
        if re.search(rf"{re.escape(number)}\s?p\.?m\b", text, re.IGNORECASE) and any(
            one + 12 in origin.values for one in readings
        ):
            continue
        if all(_is_part(part, origin) for part in _SEPARATOR.split(number)) and "." in number:
            continue
        yield Foreign("FOREIGN_NUMBER", number, may_follow=origin.may_count)


def _is_part(part: str, origin: Origin) -> bool:
    """Return True if a part of a date in digits stands somewhere, a month also by its name."""
    value = float(part)
    months = {MONTHS[word] for word in origin.words & MONTHS.keys()}
    return value in origin.values or value in months


def _stands_grouped(number: str, origin: Origin) -> bool:
    digits = re.sub(r"\D", "", number)
    return len(digits) >= _LONG_NUMBER and any(digits in one for one in origin.digits)


def _numbers_in(text: str) -> list[str]:
    """Return the numbers of a text, "54 000" as one and "9h30" as a time."""
    joined = _SPACED.sub(lambda spaced: re.sub(r"\D", "", spaced[0]), text)
    return _NUMBER.findall(_HOURS.sub(r"\1:\2", joined))


def _readings(number: str) -> set[float]:
    """Return the values that digits can mean: 1,500 is 1500 and 1.5; 9:30 is 9.30; 07:00 is 7."""
    parts = _SEPARATOR.split(number)
    if len(parts) == 1:
        return {float(number)}
    found = {float("".join(parts))} if _THOUSANDS.fullmatch(number) else set()
    *whole, last = parts
    return found | {float(f"{''.join(whole)}.{last}")}


def _squashed(text: str) -> str:
    return "".join(fold(text).split())


def _plain(text: str) -> str:
    """Return the text with full-width digits and the like as everybody writes them."""
    return unicodedata.normalize("NFKC", text)
