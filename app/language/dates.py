"""Dates in texts: relative ones ("last Friday", "in zwei Wochen") resolved, named ones found.

The wording stays; the ISO 8601 date follows in parentheses. It has the precision of the words: a
year `2023`, a month `2023-05`, a day `2023-05-07`, an interval `2023-05-01/2023-05-07` of a week or
weekend. `--05` and `--05-07` have no year.
"""

import calendar
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from functools import lru_cache, partial

from app.language.lexicon import word_set
from app.language.phrases import any_case
from app.language.text import straight


@dataclass(frozen=True)
class Calendar:
    """The time words of one language; lists of weekdays begin on Monday.

    `phrases` holds patterns with the placeholders {unit}, {day} and {count}. Their groups are
    `unit`, `day` and `count`; the groups `last`, `next` and `this` give the direction.
    """

    days: dict[str, int]
    weekdays: tuple[str, ...]
    units: dict[str, str]
    counts: tuple[str, ...]
    phrases: tuple[str, ...]
    past: str
    ahead: str


_ENGLISH = Calendar(
    days={
        "the day before yesterday": -2,
        "day before yesterday": -2,
        "the day after tomorrow": 2,
        "day after tomorrow": 2,
        "yesterday(?: (?:morning|afternoon|evening|night))?": -1,
        "tomorrow(?: (?:morning|afternoon|evening|night))?": 1,
        "last night": -1,
        "today|tonight|this (?:morning|afternoon|evening)": 0,
    },
    weekdays=("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    units={
        "days?": "day",
        "weeks?": "week",
        "months?": "month",
        "years?": "year",
        "weekend": "weekend",
    },
    counts=("", "an?|one", "two|a couple of", "three", "four", "five", "six", "seven", "eight"),
    phrases=(
        r"(?P<last>(?:this past|last))(?: (?P<unit>{unit})| (?P<day>{day}))",
        r"(?P<next>(?:this coming|next|coming))(?: (?P<unit>{unit})| (?P<day>{day}))",
        r"(?P<this>this)(?: (?P<unit>{unit})| (?P<day>{day}))",
        r"(?P<next>in) (?P<count>{count}) (?P<unit>{unit})(?! of\b)",
        r"(?P<next>)(?P<count>{count}) (?P<unit>{unit}) from now",
        r"(?P<last>)(?P<count>{count}) (?P<unit>{unit}) ago",
        r"on (?P<day>{day})(?!s|,? (?:the )?\d|s?['\w])",
    ),
    past=r"\b(?:was|were|had|did|went|got|saw|met|took|made|came|broke|bought|lost|won|sold|left"
    r"|felt|found|gave|held|kept|knew|paid|ran|said|sat|sent|spent|told|thought|woke|wrote|began"
    r"|became|chose|drove|ate|fell|flew|forgot|built|quit|hurt|died|slept|swam|rode|caught|taught"
    r"|heard|brought|drank|sang|been|done|gone|seen|\w{3,}ed)\b",
    ahead=r"\b(?:will|won't|shall|going to|gonna|must|have to|has to|should|can|is|are|am"
    r"|(?:have|has) an?)\b"
    r"|'(?:ll|m|s|re)\b",
)
_GERMAN = Calendar(
    days={
        "vorgestern": -2,
        "übermorgen": 2,
        "gestern(?: (?:morgen|früh|vormittag|mittag|nachmittag|abend|nacht))?": -1,
        "heute(?: (?:morgen|früh|vormittag|mittag|nachmittag|abend|nacht))?": 0,
        r"(?<!guten )(?<!am )(?<!jeden )(?<!diesen )(?<!schönen )morgen(?: (?:früh|vormittag|mittag"
        r"|nachmittag|abend))?(?!s)": 1,
    },
    weekdays=(
        "montag",
        "dienstag",
        "mittwoch",
        "donnerstag",
        "freitag",
        "samstag|sonnabend",
        "sonntag",
    ),
    units={
        "tage?n?": "day",
        "wochenende": "weekend",
        "wochen?": "week",
        "monate?n?s?": "month",
        "jahre?n?s?": "year",
    },
    counts=("", "eine[rmn]?|ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht"),
    phrases=(
        r"(?P<last>(?:letzte|vorige|vergangene)[nrsm]?) (?:(?P<unit>{unit})|(?P<day>{day}))",
        r"(?P<next>(?:nächste|kommende)[nrsm]?) (?:(?P<unit>{unit})|(?P<day>{day}))",
        r"(?P<this>diese[nrsm]?) (?:(?P<unit>{unit})|(?P<day>{day}))",
        r"(?P<next>in) (?P<count>{count}) (?P<unit>{unit})",
        r"(?P<last>vor) (?P<count>{count}) (?P<unit>{unit})",
        r"am (?P<day>{day})(?!s|,? (?:den )?\d|\w)",
    ),
    past=r"\b(?:war|waren|hatte|hatten|ging|kam|sah|fuhr|lief|gab|wurde|wurden|brach|verlor|starb"
    r"|\w*ge\w{2,}(?:t|en)|(?:hat|habe|haben|ist|bin|sind)\b.*\b(?:ver|be|er|ent|zer)\w+(?:t|en)"
    r"|(?:hat|habe|haben|ist|bin|sind)\b.*\w+iert|\w{3,}te)\b",
    ahead=r"\bich \w+e\b|\b\w+e ich\b|\b(?:werde|wird|werden|will|wollen|muss|müssen|soll|kann"
    r"|darf|möchte|ist|sind|bin|habe"
    r"|hat|haben|kommt|fahre|fliege|gehe|beginnt|findet)\b",
)
_SPANISH = Calendar(
    days={
        "anteayer|antier|antes de ayer": -2,
        "pasado mañana": 2,
        "ayer(?: por la (?:mañana|tarde|noche))?|anoche": -1,
        "hoy|esta (?:mañana|tarde|noche)": 0,
        r"(?<!la )(?<!cada )(?<!una )(?<!de )mañana(?: por la (?:mañana|tarde|noche))?": 1,
    },
    weekdays=("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    units={
        "días?": "day",
        "fin de semana": "weekend",
        "semanas?": "week",
        "mes(?:es)?": "month",
        "años?": "year",
    },
    counts=("", "una?", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho"),
    phrases=(
        r"(?:el|la) (?:(?P<unit>{unit})|(?P<day>{day})) (?P<last>pasad[oa])",
        r"(?:el|la) (?:(?P<unit>{unit})|(?P<day>{day})) (?P<next>que viene|próxim[oa])",
        r"(?:el|la) (?P<next>próxim[oa]) (?:(?P<unit>{unit})|(?P<day>{day}))",
        r"(?P<this>est[ea]) (?:(?P<unit>{unit})|(?P<day>{day}))",
        r"(?P<next>dentro de|en) (?P<count>{count}) (?P<unit>{unit})",
        r"(?P<last>hace) (?P<count>{count}) (?P<unit>{unit})(?! que\b)",
        r"el (?P<day>{day})(?!,? \d)",
    ),
    past=r"\b(?:fue|fui|fuimos|era|estuv\w+|estaba|tuv\w+|hic\w+|hizo|vino|dij\w+|puse|vi"
    r"|(?:he|ha|han|hemos) \w+|rompió|(?!caf|jos|beb|qu|tambi)\w{2,}(?<![aei]r)é"
    r"|(?!aqu|all|cas)\w{3,}í|\w{2,}(?:ó|aron|ieron))\b",
    ahead=r"\b(?:voy a|va a|vamos a|van a|tengo|tenemos|es|son|hay|viene|vengo|llega|salgo|\w+r[ée]"
    r"|\w+rá|\w+remos)\b",
)
_FRENCH = Calendar(
    days={
        "avant-hier": -2,
        "après-demain": 2,
        "hier(?: (?:matin|après-midi|soir))?": -1,
        "demain(?: (?:matin|après-midi|soir))?": 1,
        "aujourd'hui|ce (?:matin|soir)|cet après-midi": 0,
    },
    weekdays=("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    units={
        "jours?": "day",
        "week-end|weekend": "weekend",
        "semaines?": "week",
        "mois": "month",
        "ans?|années?": "year",
    },
    counts=("", "une?", "deux", "trois", "quatre", "cinq", "six", "sept", "huit"),
    phrases=(
        r"(?:(?:le |la |l')(?P<unit>{unit})|(?P<day>{day})) (?P<last>derni(?:er|ère)|passée?)",
        r"(?:(?:le |la |l')(?P<unit>{unit})|(?P<day>{day})) (?P<next>prochaine?)",
        r"(?P<this>ce|cette) (?:(?P<unit>{unit})|(?P<day>{day}))",
        r"(?P<next>dans) (?P<count>{count}) (?P<unit>{unit})",
        r"(?P<last>il y a) (?P<count>{count}) (?P<unit>{unit})",
    ),
    past=r"\b(?:était|étais|avait|suis|\w+é)\b",
    ahead=r"\b(?:vais|va|allons|est|sont|ai|\w+rai|\w+ra)\b",
)


def _compiled(words: Calendar) -> tuple[list[tuple[re.Pattern[str], int]], list[re.Pattern[str]]]:
    fixed = [(_bounded(f"(?:{text})"), offset) for text, offset in words.days.items()]
    parts = {
        "unit": "|".join(words.units),
        "day": "|".join(words.weekdays),
        "count": r"\d{1,3}|" + "|".join(f"(?:{count})" for count in words.counts if count),
    }
    return fixed, [
        _bounded(text.format(**parts).replace("\\d{{", "\\d{")) for text in words.phrases
    ]


def _bounded(text: str) -> re.Pattern[str]:
    return any_case(rf"(?<![\w'-])(?:{text})(?![\w-]| \()")


_CALENDARS = {"en": _ENGLISH, "de": _GERMAN, "es": _SPANISH, "fr": _FRENCH}
_PATTERNS = {tongue: _compiled(words) for tongue, words in _CALENDARS.items()}
_WEEKDAYS = [
    any_case(rf"\b(?:{'|'.join(names)})s?\b")
    for names in zip(*(words.weekdays for words in _CALENDARS.values()), strict=True)
]

WEEKDAY_NAMES = frozenset(
    day for words in _CALENDARS.values() for days in words.weekdays for day in days.split("|")
)
"""The names of the weekdays in all languages."""


def units_of(kind: str) -> str:
    """Return the words for a unit of time in all languages, as a pattern."""
    calendars = _CALENDARS.values()
    return "|".join(
        text for words in calendars for text, unit in words.units.items() if unit == kind
    )


def moment_in(zone: tzinfo | None, moment: datetime) -> datetime:
    """Return a time in a time zone, or unchanged without one or at the ends of the calendar."""
    try:
        return moment if zone is None else moment.astimezone(zone)
    except OverflowError:
        return moment


def day_in(zone: tzinfo | None, moment: datetime) -> date:
    """Return the day of a time in a time zone, as `moment_in` converts it."""
    return moment_in(zone, moment).date()


def weekdays_named(text: str) -> frozenset[int]:
    """Return the weekdays that a text names in any of the languages; Monday is 0."""
    plain = straight(text)
    return frozenset(day for day, pattern in enumerate(_WEEKDAYS) if pattern.search(plain))


def resolve(text: str, said_on: date, tongue: str) -> str:
    """Return the text with the date for `said_on` inserted after each relative date."""
    if tongue not in _CALENDARS:
        return text
    dates: dict[tuple[int, int], str] = {}
    plain = straight(text)
    fixed, phrases = _PATTERNS[tongue]
    for pattern, offset in fixed:
        for match in pattern.finditer(plain):
            _note(dates, match, partial(_offset, said_on, offset))
    for pattern in phrases:
        for match in pattern.finditer(plain):
            if _SOMEBODY_S.search(plain[: match.start()]) or _OF_IT.match(plain, match.end()):
                continue
            _note(dates, match, partial(_date_meant, match, said_on, _CALENDARS[tongue]))
    for (_, end), meant in sorted(dates.items(), reverse=True):
        text = f"{text[:end]} ({meant}){text[end:]}"
    return text


def _offset(said_on: date, days: int) -> str:
    return (said_on + timedelta(days=days)).isoformat()


def _note(
    dates: dict[tuple[int, int], str], match: re.Match[str], meant: Callable[[], str]
) -> None:
    begin, end = match.span()
    if any(begin < other_end and other < end for other, other_end in dates):
        return
    try:
        text = meant()
    except (OverflowError, ValueError):  # "in 999 years" leaves the calendar
        return
    if text:
        dates[begin, end] = text


def _date_meant(match: re.Match[str], said_on: date, words: Calendar) -> str:
    groups = match.groupdict()
    if groups.get("day"):
        return _weekday(match, said_on, words)
    unit = next(
        kind
        for text, kind in words.units.items()
        if re.fullmatch(text, groups["unit"], re.IGNORECASE)
    )
    count = _count(groups["count"], words) if groups.get("count") else 1
    if groups.get("this") is not None:
        count = 0
    signed = -count if groups.get("last") is not None else count
    return _shifted(said_on, unit, signed, counted=bool(groups.get("count")))


def _count(text: str, words: Calendar) -> int:
    if text.isdigit():
        return int(text)
    counts = enumerate(words.counts)
    return next(n for n, word in counts if word and re.fullmatch(word, text, re.IGNORECASE))


def _weekday(match: re.Match[str], said_on: date, words: Calendar) -> str:
    groups = match.groupdict()
    wanted = next(
        n
        for n, word in enumerate(words.weekdays)
        if re.fullmatch(word, groups["day"], re.IGNORECASE)
    )
    ahead = (wanted - said_on.weekday()) % 7
    if groups.get("last") is not None:
        return (said_on - timedelta(days=(-ahead) % 7 or 7)).isoformat()
    if groups.get("next") is not None:
        # On a Thursday, "next Friday" may mean tomorrow or the Friday after: leave it unresolved.
        days = ahead or 7
        return (said_on + timedelta(days=days)).isoformat() if days > _NEAR else ""
    return _of_tense(match, said_on, ahead, words)


def _of_tense(match: re.Match[str], said_on: date, ahead: int, words: Calendar) -> str:
    """Return the weekday before or after, according to the tense of its clause; else no date."""
    begin, end = match.span()
    plain = match.string
    before = _CLAUSE.split(plain[:begin])[-1]
    clause = before + " " + _CLAUSE.split(plain[end:])[0]
    if ahead == 0 and match.groupdict().get("this") is None:
        return ""
    will_be = bool(_WILL.search(clause) or _IS_DOING.search(clause))
    verbs = _NO_VERB.sub(" ", clause) if words is _ENGLISH else clause
    if not will_be and re.search(words.past, verbs, re.IGNORECASE):
        return (said_on - timedelta(days=(-ahead) % 7)).isoformat()
    known = will_be or match.groupdict().get("this") is not None
    if known or re.search(words.ahead, clause, re.IGNORECASE):
        return (said_on + timedelta(days=ahead)).isoformat()
    return ""


_CLAUSE = any_case(r"[,;:.!?]\s|\s(?:and|but|so|because|und|aber|weil|y|pero|porque|et|mais|car)\s")
_WILL = any_case(
    r"\b(?:will|won't|going to|gonna|wird|werde|werden|werdet|voy a|va a|vamos a|vais|allons)\b"
    r"|'ll\b"
)
_IS_DOING = any_case(r"(?:\b(?:am|is|are)|'(?:m|s|re))(?: not)? \w{2,}ing\b")
_NO_VERB = any_case(
    r"(?:\b(?:am|is|are|be|an?|the|my|our|his|her|their)|'(?:m|re)) (?:\w+ )?\w{3,}ed\b"
)
"""Words that look like a past tense but are not: "I am excited", "a scheduled call"."""
_SOMEBODY_S = any_case(
    r"(?:\b(?:my|our|his|her|their|your|the|its|a|mein\w*|unser\w*|sein\w*|ihr\w*|mis?|nuestr\w+"
    r"|sus?|mon"
    r"|ma|mes|notre|nos|son|sa|ses|leur)|'s)\s$"
)
"""Possessives: a "last day" after one of them is not a calendar day."""
_NEAR = 2
_OF_IT = any_case(r"\s(?:of|before|as|off)\b")


def _shifted(said_on: date, unit: str, count: int, *, counted: bool) -> str:
    match unit:
        case "day":
            return (said_on + timedelta(days=count)).isoformat()
        case "week" | "weekend":
            return _week(said_on, count, counted=counted, weekend=unit == "weekend")
        case "month":
            return _month(said_on, count)
        case _:
            return f"{date(said_on.year + count, 1, 1).year:04d}"


def _week(said_on: date, count: int, *, counted: bool, weekend: bool) -> str:
    """Return a day for "two weeks ago", else the interval from Monday or Saturday to Sunday."""
    if counted:
        return (said_on + timedelta(weeks=count)).isoformat()
    monday = said_on - timedelta(days=said_on.weekday()) + timedelta(weeks=count)
    begin = monday + timedelta(days=5 if weekend else 0)
    return f"{begin.isoformat()}/{(monday + timedelta(days=6)).isoformat()}"


def _month(said_on: date, count: int) -> str:
    years, month = divmod(said_on.month - 1 + count, len(calendar.month_name) - 1)
    return date(said_on.year + years, month + 1, 1).isoformat()[:7]


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
_SIGNS = WEEKDAY_NAMES | word_set("""
    yesterday today tonight tomorrow morning afternoon evening night weekend
    day days week weeks month months year years
    gestern vorgestern heute morgen übermorgen tag tage tagen woche wochen wochenende
    monat monate monaten jahr jahre jahren
    ayer anteayer antier anoche hoy mañana día días semana semanas mes meses año años
    hier demain aujourd avant après jour jours semaine semaines mois an ans année années
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
    note = partial(_note_date, dates)
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


def _note_date(dates: list[str], match: re.Match[str]) -> str:
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
