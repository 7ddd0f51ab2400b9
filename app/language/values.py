"""The values in a statement by kind: times, weekdays, dates, sums of money, telephone numbers."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from app.language.dates import weekdays_named
from app.language.figures import spelled
from app.language.lexicon import language
from app.language.text import straight, undated

Value = str | int | tuple[str, ...]
Kinds = dict[str, frozenset[Value]]
"""The values of a text by kind: {"time": {"7"}, "weekday": {1}}."""

_MONTHS = (
    "january januar enero janvier jan",
    "february februar febrero fevrier feb",
    "march marz marzo mars",
    "april abril avril apr",
    "may mai mayo",
    "june juni junio juin",
    "july juli julio juillet",
    "august agosto aout aug",
    "september septiembre septembre sept",
    "october oktober octubre octobre oct okt",
    "november noviembre novembre nov",
    "december dezember diciembre decembre dec dez",
)
_MONTH_OF = {name: str(n) for n, names in enumerate(_MONTHS, start=1) for name in names.split()}
_MONTH = rf"(?:{'|'.join(sorted(_MONTH_OF, key=len, reverse=True))})"
_NUMBER = r"\d+(?:[.,:]\d+)*(?:\s?(?:k|thousand|tausend|mil|mille|millions?|millionen|millones)\b)?"
_COINS = (
    r"(?:euros?|eur|dollars?|dolares|usd|pounds?|gbp|quid|francs?|franken|chf|pesos?|bucks|libras?"
    r"|livres?|yen|cents?|pence)\b"
)
_UNITS = (
    r"(?:kg|kilos?|grams?|g|lbs?|stone|cm|mm|km|m|miles?|feet|ft|inch(?:es)?|gb|tb|mb|hp|ps|l"
    r"|lit(?:er|re)s?|litros?|sqm|m2|hours?|minutes?|mins?|days?|weeks?|months?|nights?|stunden?"
    r"|minuten|tage?|wochen?|monate?|nachte?|horas?|minutos?|dias?|semanas?|mes(?:es)?|noches?"
    r"|heures?|jours?|semaines?|mois|nuits?|percent|prozent|degrees?|grad)\b|%"
)
_O_CLOCK = r"(?:\s?(?:am\b|pm\b|a\.m\.|p\.m\.|o'?clock\b|uhr\b))"
_DATE = (
    rf"\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})?\b"
    rf"|\b\d{{1,2}}\.\d{{1,2}}\.(?:\d{{2,4}})?"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|\.|er)?\s(?:of |de |den )?{_MONTH}\b"
    rf"|\b{_MONTH} (?:the )?\d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}(?:st|nd|rd|th)\b"
    rf"|\b(?:in|im|en|to|till|until|fur|auf|zum) (?:early |late |mid-?|anfang |ende )?{_MONTH}\b"
)
_PHONE = r"\+?\d{2,}(?:[ ()/-]+\d{2,})+|\+?\d{7,}"
_MONEY = rf"[$€£¥]\s?\d+(?:[ .,]\d+)*k?|(?<!\d)\d+(?:[ .,]\d+)*\s?k?\s?(?:[$€£¥]|{_COINS})"
_OF_DAY = {
    "en": ("", "at|by|until|till|from|before|after", "half past|quarter past|quarter to|half"),
    "de": (
        rf"|\b(?:am|den|dem|zum|vom) \d{{1,2}}\.(?: {_MONTH}\b|(?=\s|$))",
        "um|gegen|bis|ab|vor|nach",
        "halb|viertel vor|viertel nach|viertel|dreiviertel",
    ),
    "es": (rf"|\b(?:el|al|del|dia) \d{{1,2}}\b(?: de {_MONTH}\b)?", "las?", ""),
    "fr": (rf"|\b(?:le|au|du) \d{{1,2}}\b(?: {_MONTH}\b|(?! heures?))", "a|vers|avant|apres", ""),
}
"""For each language: a day of the month, the words before a time, and parts of an hour."""


def _time(before: str, quarters: str) -> str:
    """Return a pattern for times of day."""
    return (
        rf"(?:\b(?:{before}) )?\b\d{{1,2}}(?:[:.]\d\d)?{_O_CLOCK}"
        rf"|(?:\b(?:{before}) )?\b\d{{1,2}}(?:[:h]\d\d\b|h\b)"
        r"|\b(?:noon|midnight|mittag|mitternacht|mediodia|medianoche|midi|minuit)\b"
        rf"|\b(?:{before}) (?:(?:{quarters}) )?\d{{1,2}}(?:[.:]\d\d)?\b"
        rf"(?: y media| y cuarto)?(?! ?(?!heures?|horas?)(?:{_UNITS}))"
    )


_PATTERNS = {
    tongue: (
        ("money", re.compile(_MONEY)),
        ("date", re.compile(_DATE + days)),
        ("phone", re.compile(_PHONE)),
        ("time", re.compile(_time(before, quarters))),
    )
    for tongue, (days, before, quarters) in _OF_DAY.items()
}
_HOURS = re.compile(r"^ ?(?:horas?|heures?)(?: (?:et demie?|et quart|\d\d))?")
_NUMBERS = re.compile(rf"(?<![\w]){_NUMBER}(?:\s?(?P<unit>{_UNITS}))?|\d+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_PART = re.compile(r"\d+|[a-z$€£¥]+")
_ARTICLES = frozenset({"un", "une", "uno", "una"})
_UNTOLD = re.compile(
    r"^(?:at|by|until|till|from|around|about|before|after|um|gegen|bis|ab|vor|nach|las?|a|vers|des"
    r"|de|avant|apres|in|im|en|to|fur|auf|zum|am|den|dem|vom|el|al|del|dia|le|au|du|heures?|horas?|of|the|uhr|st"
    r"|nd|rd|th|er|o|clock|oclock|k|early|late|mid)$"
)


@dataclass(frozen=True)
class Valued:
    """The values of a text by kind, and the remaining words."""

    kinds: Kinds
    rest: str


@cache
def _spelled(tongue: str) -> tuple[re.Pattern[str], dict[str, int]]:
    pattern, values = spelled(tongue)
    return pattern, {word: value for word, value in values.items() if word not in _ARTICLES}


def valued(text: str, tongue: str) -> Valued:
    """Return the values of a text in a language, and its other words."""
    plain = _in_digits(straight(undated(text)), tongue)
    by_kind: dict[str, set[Value]] = {}
    for kind, pattern in _PATTERNS.get(tongue, _PATTERNS["en"]):
        plain = _taken(plain, kind, pattern, by_kind)
    for match in _NUMBERS.finditer(plain):
        unit = match.groupdict().get("unit") or ""
        kind = f"number {unit.rstrip('s')}".strip()
        by_kind.setdefault(kind, set()).add(_value(match[0].removesuffix(unit)))
    plain = _NUMBERS.sub(" ", plain)
    if days := weekdays_named(plain):
        by_kind["weekday"] = set(days)
    left = " ".join(word for word in plain.split() if not weekdays_named(word))
    return Valued({kind: frozenset(values) for kind, values in by_kind.items()}, left)


def kinds_of(text: str) -> frozenset[str]:
    """Return the kinds of the values in a short text."""
    return frozenset(valued(text, language(text, "en")).kinds)


def _taken(plain: str, kind: str, pattern: re.Pattern[str], by_kind: dict[str, set[Value]]) -> str:
    """Record the matches of a pattern, and return the text without them."""
    begin, kept = 0, []
    for match in pattern.finditer(plain):
        more = _HOURS.match(plain[match.end() :]) if kind == "time" else None
        kept.append(plain[begin : match.start()])
        begin = match.end() + (more.end() if more else 0)
        by_kind.setdefault(kind, set()).add(_value(plain[match.start() : begin]))
    return " ".join([*kept, plain[begin:]])


def _in_digits(text: str, tongue: str) -> str:
    """Return the text without case and accents, and with its numbers in digits."""
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    bare = re.sub(r"(?<=[a-z])-(?=[a-z])", " ", bare).replace("ß", "ss")
    pattern, numbers = _spelled(tongue)
    return pattern.sub(lambda match: str(numbers.get(match[0], match[0])), bare)


def _value(said: str) -> Value:
    tokens = _PART.findall(re.sub(r"(?<=\d)[.,](?=\d{3})", "", said))
    parts = [_MONTH_OF.get(part, part) for part in tokens if not _UNTOLD.match(part)]
    return tuple(part.lstrip("0").rstrip("s") or "0" for part in parts if part.strip("0"))
