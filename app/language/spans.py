"""The time that a question asks about: spans of days, an order, or an event as a bound."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import partial

from app.language.dates import (
    WEEKDAY_NAMES,
    days_of,
    in_year_of,
    named,
    relative,
    units_of,
    weekdays_named,
    words_of,
)
from app.language.lexicon import word_set
from app.language.phrases import any_case
from app.language.search_languages import is_function_word
from app.language.text import straight


class Order(StrEnum):
    """The order of time that a question asks for."""

    NEWEST = "newest"
    OLDEST = "oldest"
    NEXT = "next"


@dataclass(frozen=True, slots=True)
class TimeBound:
    """An event of an unknown day as a bound of the span: "before my trip".

    Attributes:
        text: the event.
        side: on which side of it the span lies: since, after, before or until.
        days: how long the span is, as of "in the week after"; None for an open one.
    """

    text: str
    side: str
    days: int | None = None


@dataclass(frozen=True, slots=True)
class AskedTime:
    """The time of a question.

    Attributes:
        spans: the dates and intervals that it names, in the form of `dates.named`.
        order: the order that it asks for.
        events: the events that bound the span.
        topic: the question without the events, if it has any.
    """

    spans: tuple[str, ...] = ()
    order: Order | None = None
    events: tuple[TimeBound, ...] = ()
    topic: str = ""

    def bounded(self, moments: Sequence[str | None]) -> tuple[str, ...]:
        """Return the spans within the dates of the events; None for a date bounds nothing."""
        known = [
            _beside(moment, event.side, event.days)
            for event, moment in zip(self.events, moments, strict=True)
            if moment is not None
        ]
        return _within(self.spans, [span for span in known if span is not None])


UNTIMED = AskedTime()
"""The time of a text that asks about none."""
_MOST_EVENTS = 2
_READ_CHARS = 500
"""Longest beginning of a text that is read, as some patterns search it from each of its words."""
_COUNT = r"(?P<count>\d{1,3}|[^\W\d_]+(?: of)?)"
_DAYS = {"d": 1, "w": 7, "m": 31, "y": 366}
"""Days of a unit, by the first letter of its group."""
_UNIT = "|".join(f"(?P<{unit[0]}>{units_of(unit)})" for unit in ("day", "week", "month", "year"))
_NUMBERS = {
    word: number
    for number, words in (
        (1, "a an one ein eine einem einer un una une"),
        (2, "two couple paar zwei dos par deux"),
        (3, "three few drei tres unos trois quelques"),
        (4, "four several vier einigen mehreren cuatro varios quatre plusieurs"),
        (5, "five fünf cinco cinq"),
        (6, "six sechs seis"),
        (7, "seven sieben siete sept"),
        (8, "eight acht ocho huit"),
        (10, "ten zehn diez dix"),
        (12, "twelve zwölf doce douze"),
    )
    for word in words.split()
}
_WITHIN = "(?:in|over|during|within|im|en|durante|pendant|au cours) (?:the|der|el|la|du|de la|le)?"
_ROLLING = (
    rf"\b(?:last|past|letzten|vergangenen|últim[oa]s|derni(?:er|ère)s) {_COUNT} (?:{_UNIT})\b",
    rf"\b{_COUNT} (?:letzten|vergangenen|últim[oa]s|derni(?:er|ère)s) (?:{_UNIT})\b",
    rf"\b{_WITHIN} ?(?:last|past|letzten|vergangenen|último|última|dernière?) (?:{_UNIT})\b",
    rf"\b(?:the|this) past (?:{_UNIT})\b",
    rf"\b(?:en|durante) (?:el|la) (?:{_UNIT}) pasad[oa]\b",
)
_AGO = (
    rf"\b{_COUNT} (?:{_UNIT}) ago\b",
    rf"\bvor {_COUNT} (?:{_UNIT})\b",
    rf"\bhace {_COUNT} (?:{_UNIT})\b",
    rf"\bil y a {_COUNT} (?:{_UNIT})\b",
)
_COUNTED = tuple(
    (any_case(text), is_ago)
    for texts, is_ago in ((_AGO, True), (_ROLLING, False))
    for text in texts
)
_VAGUE = (
    (any_case(r"\b(?:the other (?:day|night|evening|week)|el otro día|l'autre jour)\b"), 14),
    (
        any_case(
            r"\b(?:recently|lately|of late|these days|neulich|kürzlich|in letzter zeit|últimamente"
            r"|recientemente|récemment|ces derniers temps|dernièrement)\b"
        ),
        31,
    ),
)
"""Words of an uncertain time, and the days that it reaches back."""
_AHEAD = any_case(
    r"\b(?:upcoming|coming up|in the future|planned|scheduled|bevorstehende\w*|anstehende\w*"
    r"|geplant|próximamente|próxim[oa]s|à venir|prochaine?s?"
    r"|(?:my|our|the|any|what's|what is) next(?! to\b))\b"
)
_UNLIKE = r"(?! (?:name|night|week|month|year|day|\w+day|woche|monat|jahr|semana|mes|año))"
_LATEST = any_case(
    r"\b(?:most recent(?:ly)?|latest|newest|neu(?:e)?ste[nrsm]?|(?:más|mas) reciente"
    r"|plus récente?|último estado|dernières nouvelles)\b"
)
_LAST = any_case(
    rf"\b(?:last (?:time|thing|one)|(?:my|our|the|his|her|their|your|user's) last{_UNLIKE}"
    rf"|(?:did|have|has|was|were|am|is) .*\blast\b{_UNLIKE}|letzte[nrsm]?{_UNLIKE}|zuletzt"
    rf"|últim[oa]{_UNLIKE}|derni(?:er|ère))\b"
)
_OLDEST = any_case(
    rf"\b(?:earliest|originally|first{_UNLIKE}|zum ersten mal|erste[nrsm]?|zuerst|anfangs"
    rf"|primera? vez|primer[oa]?|al principio|premi(?:er|ère)|au début)\b"
)
_CLAUSE_ENDS = re.compile(r"[,;:.?!\n]|\b(?:and|und|y|et)\b")
_IS = any_case(r"\b(what|when|who|where|which|it|that|there)'s\b")
_HABIT = any_case(r"\bdo(?:es)? (?:I|we|you|he|she|they|the|my)\b")
"""Questions about what is always so: "What do I eat before bed?" bounds nothing."""
_BOUNDS = {
    "since": r"since|seit|seitdem|desde(?: que)?|depuis(?: que)?",
    "after": r"after|nach(?:dem)?|después de(?: que)?|después del|après(?: que)?",
    "before": r"before|bevor|vor(?! \d)|antes de(?: que)?|antes del|avant(?: que| de)?",
    "until": r"until|till|bis|hasta|jusqu'(?:à|en|au)",
}
_BOUND = any_case(
    rf"(?:\b{_COUNT} (?:{_UNIT}) |\b(?:the|in the) (?P<one>day|week|month|year) )?"
    rf"\b(?:{'|'.join(rf'(?P<{side}>{text})' for side, text in _BOUNDS.items())})\s+"
)
_BETWEEN = any_case(r"\b(?:between|zwischen|entre) (?P<from>.+?) (?:and|und|y|et) (?P<to>[^?!]+)")
_AND_IN = any_case(r"\b(?:and|or|of|und|y|et|de)\b")
_SIGNS = WEEKDAY_NAMES | word_set("""
    between zwischen entre
    last past ago recent recently lately late other latest newest first earliest originally
    upcoming coming future planned scheduled next these since after before until till
    letzten letzte letzter letztes letztem vergangenen vor neulich kürzlich letzter neueste neuester
    neuestes neuesten bevorstehende bevorstehenden anstehende anstehenden zuletzt ersten zuerst
    anfangs geplant seit seitdem nach nachdem bevor bis
    últimos últimas último última pasado pasada hace otro últimamente recientemente reciente primera
    primer primero neuste neueste erste erster erstes zum
    principio próximamente próximo próxima próximos próximas desde después antes hasta
    derniers dernières dernier dernière il récemment dernièrement récente récent première premier
    début venir prochain prochaine prochains prochaines depuis après avant jusqu autre
    """)
"""Words of the phrases here; a question with none of them names its time by a date, if at all."""
_BEGINS = frozenset({"since", "after"})
_CALENDARS = ("english", "german", "spanish", "french")


def asked_time(text: str, today: date, configuration: str) -> AskedTime:
    """Return the time that a question asks about on the day `today`.

    `configuration` is the text-search configuration of the question.
    """
    text = text[:_READ_CHARS]
    if _SIGNS.isdisjoint(words_of(text)):
        return AskedTime(tuple(_moments(text, today, configuration)))
    return _Reading(_IS.sub(r"\1 is", straight(text)), today, configuration).read()


class _Reading:
    """A question; what has been read of it is taken out of its text."""

    def __init__(self, text: str, today: date, configuration: str) -> None:
        self._text = text
        self._today = today
        self._configuration = configuration
        self._spans: list[str] = []
        self._bounds: list[str] = []
        self._events: list[TimeBound] = []

    def read(self) -> AskedTime:
        is_habit = _HABIT.search(self._text) is not None
        for pattern, is_ago in _COUNTED:
            self._text = pattern.sub(partial(self._take_counted, is_ago=is_ago), self._text)
        for pattern, days in _VAGUE:
            if pattern.search(self._text):
                self._spans.append(_span(self._today - timedelta(days), self._today))
                self._text = pattern.sub(" ", self._text)
        if not is_habit:
            self._text = _BETWEEN.sub(self._take_pair, self._text)
            for _ in range(_MOST_EVENTS):
                if (match := _BOUND.search(self._text)) is not None:
                    self._take_bound(match)
        self._spans += self._dates(self._text) or _weekdays(self._text, self._today)
        return self._asked()

    def _asked(self) -> AskedTime:
        order = None
        if _LATEST.search(self._text):
            order = Order.NEWEST
        elif _LAST.search(self._text):
            order = Order.NEWEST
            self._bounds.append(_span(date.min, self._today))
        elif _OLDEST.search(self._text):
            order = Order.OLDEST
        if not self._spans and _AHEAD.search(self._text):
            self._spans.append(_span(self._today, date.max))
            order = Order.NEXT
        spans = _within(tuple(dict.fromkeys(self._spans)), self._bounds)
        events = tuple(self._events[:_MOST_EVENTS])
        return AskedTime(spans, order, events, self._text if events else "")

    def _take_counted(self, match: re.Match[str], *, is_ago: bool) -> str:
        """Note the span of "the last two weeks" or "two weeks ago"."""
        days = _days_of(match)
        if days is None:
            return match.group()
        with suppress(OverflowError):  # "in the last 999 years" leaves the calendar
            day = self._today - timedelta(days)
            around = timedelta(_unit_days(match) // 2)
            self._spans.append(
                _span(day - around, day + around) if is_ago else _span(day, self._today)
            )
        return " "

    def _take_pair(self, match: re.Match[str]) -> str:
        self._bound(match["from"], "since", None)
        self._bound(match["to"], "until", None)
        return " "

    def _take_bound(self, match: re.Match[str]) -> None:
        side = next(side for side in _BOUNDS if match[side])
        tail = _CLAUSE_ENDS.split(self._text[match.end() :], 1)[0]
        days = _DAYS[match["one"][0]] if match["one"] else _days_of(match)
        self._bound(tail, side, days)
        self._text = self._text[: match.start()] + " " + self._text[match.end() + len(tail) :]

    def _bound(self, text: str, side: str, days: int | None) -> None:
        if dates := self._dates(f"in {text}"):
            span = _beside(_in_year(dates[-1], self._today, side), side, days)
            self._bounds += [span] if span else []
        elif not all(is_function_word(word) for word in words_of(text)):
            self._events.append(TimeBound(text.strip(), side, days))

    def _dates(self, text: str) -> list[str]:
        return _moments(text, self._today, self._configuration)


def _days_of(match: re.Match[str]) -> int | None:
    """Return the days of a count and its unit, such as "two weeks"; None if it is none."""
    word = (match.groupdict().get("count") or "one").lower().removesuffix(" of")
    count = int(word) if word.isdecimal() else _NUMBERS.get(word)
    days = _unit_days(match)
    return count * days if count is not None and days else None


def _unit_days(match: re.Match[str]) -> int:
    return next((days for unit, days in _DAYS.items() if match[unit]), 0)


def _in_year(moment: str, today: date, side: str) -> str:
    """Return a date with its year: the last one for what has been since or after it."""
    dated = in_year_of(moment, today)
    days = days_of(dated)
    is_late = moment != dated and days is not None and days[0] > today.toordinal()
    return f"{int(dated[:4]) - 1:04d}{dated[4:]}" if is_late and side in _BEGINS else dated


def _beside(moment: str, side: str, length: int | None) -> str | None:
    """Return the span on one side of a date, open or of a number of days."""
    found = days_of(moment)
    if found is None:
        return None
    earliest, latest = date.min.toordinal(), date.max.toordinal()
    first, last = found
    if side in _BEGINS:
        first = first if side == "since" else min(last + 1, latest)
        last = latest if length is None else min(first + length, latest)
    else:
        last = last if side == "until" else max(first - 1, earliest)
        first = earliest if length is None else max(last - length, earliest)
    return _span(date.fromordinal(first), date.fromordinal(last))


def _within(spans: Sequence[str], bounds: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of spans that lie within all bounds; without spans, of all time."""
    if not bounds:
        return tuple(spans)
    limits = [days for bound in bounds if (days := days_of(bound)) is not None]
    first = max(limit[0] for limit in limits)
    last = min(limit[1] for limit in limits)
    found: list[str] = []
    for span in spans or (_span(date.min, date.max),):
        days = days_of(span)
        if days is None:  # a month or day of any year
            found.append(span)
        elif (start := max(days[0], first)) <= (end := min(days[1], last)):
            found.append(_span(date.fromordinal(start), date.fromordinal(end)))
    return tuple(found)


def _moments(text: str, today: date, configuration: str) -> list[str]:
    words = words_of(text)
    text = _AND_IN.sub("in", text)
    # A short question often has no word that shows its language.
    languages = (configuration,) if configuration in _CALENDARS else _CALENDARS
    found = [date for name in languages for date in relative(text, words, today, name)]
    return list(dict.fromkeys([*named(text, words), *found]))


def _weekdays(text: str, today: date) -> list[str]:
    """Return the last days, today among them, of the weekdays that a text names."""
    named_days = sorted(weekdays_named(text))
    return [(today - timedelta((today.weekday() - day) % 7)).isoformat() for day in named_days]


def _span(first: date, last: date) -> str:
    return f"{first.isoformat()}/{last.isoformat()}"
