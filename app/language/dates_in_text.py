"""Dates named in a text ("7 May 2023", "last Friday", "im März"), in ISO 8601. Fast.

A date has the precision of its words: a year `2023`, a month `2023-05`, a day `2023-05-07`, an
interval `2023-05-01/2023-05-07`. `--05` and `--05-07` have no year.
"""

import calendar
import re
from collections.abc import Set as AbstractSet
from datetime import date
from functools import lru_cache, partial

from app.language.dates import resolve
from app.language.lexicon import word_set
from app.language.phrases import any_case

_MONTH_WORDS = (
    "january jan januar jänner janvier enero gennaio janeiro januari",
    "february feb februar février febrero febbraio fevereiro februari",
    "march mar märz mars marzo março maart",
    "april apr avril abril aprile",
    "may mai mayo maggio maio mei",
    "june jun juni juin junio giugno junho",
    "july jul juli juillet julio luglio julho",
    "august aug août agosto augustus",
    "september sep sept septembre septiembre settembre setembro",
    "october oct oktober okt octobre octubre ottobre outubro",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre diciembre dicembre dezembro",
)
_MONTHS = {word: number for number, words in enumerate(_MONTH_WORDS, 1) for word in words.split()}
_SIGNS = word_set("""
    yesterday today tonight tomorrow morning afternoon evening night weekend
    day days week weeks month months year years
    monday tuesday wednesday thursday friday saturday sunday
    gestern vorgestern heute morgen übermorgen tag tage tagen woche wochen wochenende
    monat monate monaten jahr jahre jahren
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag
    ayer anteayer antier anoche hoy mañana día días semana semanas mes meses año años
    lunes martes miércoles jueves viernes sábado domingo
    hier demain aujourd avant après jour jours semaine semaines mois an ans année années
    lundi mardi mercredi jeudi vendredi samedi dimanche
    """)
"""Words of relative time; a text with none of them has no relative date."""
_WORD = re.compile(r"\w+")
_HALF = 6
_LONGEST_MONTH = 31
_TONGUES = {"english": "en", "german": "de", "spanish": "es", "french": "fr"}

_YEAR = r"(?P<year>(?:1[89]|20)\d\d)\b"
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|er|\.|º)?"
_OF = r"(?: of| de| del| di)?(?: the)? ?"
_WRITTEN = tuple(
    any_case(text)
    for text in (
        rf"\b{_DAY}{_OF}\b{_MONTH}(?:,?{_OF}{_YEAR})?",
        rf"\b{_MONTH} (?:the )?{_DAY}\b(?!\d| ?[:%$€]| ?[ap]m\b)(?:,? ?{_YEAR})?",
        rf"\b{_MONTH},?{_OF}{_YEAR}",
        rf"\b(?:in|im|en|em|since|until|by|during|last|next|this|late|seit|bis|desde) {_MONTH}",
    )
)
_NUMERIC = re.compile(
    r"(?<![\d-])(?P<year>(?:1[89]|20)\d\d)(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?(?![\d-]*\d)"
)
_RESOLVED = re.compile(r" \((\d{4}(?:-\d\d){0,2}(?:/\d{4}-\d\d-\d\d)?)\)")


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text; `named` and `relative` use them to skip texts quickly."""
    return frozenset(_WORD.findall(text.lower()))


def named(text: str, words: AbstractSet[str]) -> list[str]:
    """Return the dates named in a text; dates without a year have the form `--05` or `--05-07`."""
    return extracted(text, words)[0]


def extracted(text: str, words: AbstractSet[str]) -> tuple[list[str], str]:
    """Return the dates named in a text, as `named` does, and the remaining text."""
    dates: list[str] = []
    note = partial(_note, dates)
    if not _MONTHS.keys().isdisjoint(words):
        for pattern in _WRITTEN:
            text = pattern.sub(note, text)
    if any(word.isdecimal() and len(word) == 4 for word in words):
        text = _NUMERIC.sub(note, text)
    return dates, text


def relative(text: str, words: AbstractSet[str], said_on: date, configuration: str) -> list[str]:
    """Return the dates of relative words such as "yesterday" on the day `said_on`."""
    tongue = _TONGUES.get(configuration)
    if tongue is None or _SIGNS.isdisjoint(words):
        return []
    return _RESOLVED.findall(resolve(text, said_on, tongue))


def in_year_of(moment: str, said_on: date) -> str:
    """Add the year nearest to `said_on` to a date without a year."""
    if not moment.startswith("--"):
        return moment
    ahead = int(moment[2:4]) - said_on.month
    year = said_on.year + (ahead < -_HALF) - (ahead > _HALF)
    return f"{year:04d}{moment[1:]}"


def days_of(moment: str) -> tuple[int, int] | None:
    """Return the first and the last day of a date as ordinals. None: no year, or not a date.

    A day beyond the end of its month becomes the month's last.
    """
    first, _, last = moment.partition("/")
    try:
        return _edge(first, 0), _edge(last or first, 1)
    except ValueError:
        return None


def _edge(moment: str, end: int) -> int:
    year, month, day = (*map(int, moment.split("-")), 0, 0)[:3]
    month = month or (1, 12)[end]
    bounds = (1, calendar.monthrange(year, month)[1])
    return date(year, month, min(day or bounds[end], bounds[1])).toordinal()


def _note(dates: list[str], match: re.Match[str]) -> str:
    """Record the date, and remove it from the text."""
    parts = match.groupdict()
    month = parts["month"] or ""
    number = _MONTHS.get(month.lower()) or int(month or 0)
    day = int(parts.get("day") or 0)
    if number > len(_MONTH_WORDS) or day > _LONGEST_MONTH:
        return match.group()
    text = (parts.get("year") or "-") + (f"-{number:02d}" if number else "")
    dates.append(f"{text}-{day:02d}" if day else text)
    return " "


@lru_cache(maxsize=4_096)
def days_between(moment: str, other: str) -> int | None:
    """Return the number of days between two dates, 0 if they overlap. None: unknown.

    A date without a year overlaps dates within its month or day; its distance to others is unknown.
    """
    if moment.startswith("--"):
        return _in_any_year(moment, other)
    if other.startswith("--"):
        return _in_any_year(other, moment)
    first_days, other_days = days_of(moment), days_of(other)
    if first_days is None or other_days is None:
        return None
    return max(0, first_days[0] - other_days[1], other_days[0] - first_days[1])


def _in_any_year(moment: str, other: str) -> int | None:
    first = other.partition("/")[0]
    if other.startswith("--"):
        return 0 if moment == other else None
    return 0 if first[4:].startswith(moment[1:]) else None
