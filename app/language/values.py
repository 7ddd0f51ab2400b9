"""The values in a statement: times, weekdays, dates, sums of money, telephone numbers, numbers.

Numbers are in digits ("3,000", "50k") or in words ("thirty-four").
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from app.kernel.text import fold
from app.language.dates import weekdays_named
from app.language.lexicon import language
from app.language.phrases import any_case
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
MONTHS = {name: int(number) for name, number in _MONTH_OF.items()} | {
    "maerz": 3,
    "mar": 3,
    "jun": 6,
    "jul": 7,
    "sep": 9,
}
"""The numbers of the months by folded name, and by abbreviations that are also names of people."""
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

_DIGITS = any_case(
    r"(?P<number>\d+(?:[.,:]\d+)*)(?:\s*(?:(?P<thousand>k|thousand|tausend|mil|mille)"
    r"|(?P<million>mio|millions?|millionen|mill[oó]n(?:es)?))\b)?"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_TENS_BEGIN = 20
_ONES = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    " fifteen sixteen seventeen eighteen nineteen",
    "de": "null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn"
    " funfzehn sechzehn siebzehn achtzehn neunzehn",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince"
    " dieciseis diecisiete dieciocho diecinueve",
    "fr": "zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze"
    " seize dix-sept dix-huit dix-neuf",
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig",
    "es": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "fr": "vingt trente quarante cinquante soixante soixante-dix quatre-vingts quatre-vingt-dix",
}
_ALSO_ARTICLES = frozenset({"un", "uno"})
"""Number words that are also articles, and therefore ignored."""
_STANDING_FOR = (
    "hundred thousand million billion k dozen dozens half quarter couple pair twice double triple"
    " once both noon midnight midday decade century fortnight hundert tausend million dutzend halb"
    " halbe viertel paar zweimal doppelt mittag mitternacht beide jahrzehnt cien ciento mil docena"
    " medio media cuarto par doble mediodia medianoche ambos decada cent mille douzaine demi demie"
    " quart paire double midi minuit deux quinzaine dizaine drittel tercio tiers"
)
_IN_WORDS = re.compile(
    r"\b(?:\d+ ?k|"
    + "|".join(
        sorted(
            {
                word
                for words in (*_ONES.values(), *_TENS.values(), _STANDING_FOR)
                for word in fold(words.replace("-", " ")).split()
            }
            - _ALSO_ARTICLES
        )
    )
    + r")\b"
)
_SHIFT = re.compile(
    r"\b(?:hour|day|week|month|year|stunden?|tage?|wochen?|monate?|jahre?|horas?|dias?|semanas?"
    r"|mes(?:es)?|anos?|heures?|jours?|semaines?|mois|ans?)s? (?:later|earlier|longer|more|less"
    r"|older|younger|spater|fruher|langer|mehr|weniger|alter|junger|despues|mas|menos|plus|de plus"
    r"|de moins)\b|\bthirds? of\b"
)
"""An amount that shifts another one: "an hour later"."""
_ORDINALS = {
    word: number
    for number, words in enumerate(
        (
            "second zweite zweiter zweites zweiten segundo segunda deuxieme",
            "third dritte dritter drittes dritten tercero tercera tercer troisieme",
            "fourth vierte vierter viertes vierten cuarto cuarta quatrieme",
            "fifth funfte funfter funftes funften quinto quinta cinquieme",
            "sixth sechste sechster sechstes sechsten sexto sexta sixieme",
            "seventh siebte siebter siebtes siebten septimo septima septieme",
            "eighth achte achter achtes achten octavo octava huitieme",
            "ninth neunte neunter neuntes neunten noveno novena neuvieme",
            "tenth zehnte zehnter zehntes zehnten decimo decima dixieme",
        ),
        start=2,
    )
    for word in words.split()
}
_SIGNS = re.compile(
    "[\u4e00\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d\u5341\u767e\u5343\u4e07\u534a\u4e24\u00bd\u00bc\u00be]"
)
_FRENCH_TENS = (70, 90)
"""Tens spelled as the previous tens plus a number up to nineteen."""


def _time(before: str, quarters: str) -> str:
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
    begin, kept = 0, []
    for match in pattern.finditer(plain):
        more = _HOURS.match(plain[match.end() :]) if kind == "time" else None
        kept.append(plain[begin : match.start()])
        begin = match.end() + (more.end() if more else 0)
        by_kind.setdefault(kind, set()).add(_value(plain[match.start() : begin]))
    return " ".join([*kept, plain[begin:]])


def _in_digits(text: str, tongue: str) -> str:
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    bare = re.sub(r"(?<=[a-z])-(?=[a-z])", " ", bare).replace("ß", "ss")
    pattern, numbers = _spelled(tongue)
    return pattern.sub(lambda match: str(numbers.get(match[0], match[0])), bare)


def _value(said: str) -> Value:
    tokens = _PART.findall(re.sub(r"(?<=\d)[.,](?=\d{3})", "", said))
    parts = [_MONTH_OF.get(part, part) for part in tokens if not _UNTOLD.match(part)]
    return tuple(part.lstrip("0").rstrip("s") or "0" for part in parts if part.strip("0"))


def figures(text: str, tongue: str) -> frozenset[float]:
    """Return the possible values of the numbers in a text: "1,500" is 1500 or, in German, 1.5.

    Dates resolved into the text do not count. Of the numbers in words, only those below 100 count.
    """
    plain = undated(text)
    values_in_digits = {
        value for match in _DIGITS.finditer(plain) for value in _values_meant(match)
    }
    pattern, values = spelled(tongue)
    return frozenset(values_in_digits | {values[word] for word in pattern.findall(fold(plain))})


def spells_a_number(text: str) -> bool:
    """Return True if a text has a number in words or a unit that stands for one ("dozen", "k")."""
    plain = fold(text)
    return bool(_IN_WORDS.search(plain) or _SHIFT.search(plain) or _SIGNS.search(text))


def ordinals(text: str) -> frozenset[float]:
    """Return the values of ordinal numbers in words; "first" is too vague and does not count."""
    return frozenset(float(_ORDINALS[word]) for word in fold(text).split() if word in _ORDINALS)


def readings_of(number: str) -> frozenset[float]:
    """Return the possible values of a number in digits; for a time, its hour and minute."""
    if ":" in number:
        return frozenset(float(part) for part in re.findall(r"\d+", number))
    last = max(number.rfind("."), number.rfind(","))
    values = {_decimal(number[:last], number[last + 1 :])} if last > 0 else {float(number)}
    if _THOUSANDS.fullmatch(number):
        values.add(float(re.sub(r"\D", "", number)))
    return frozenset(values)


def _decimal(whole: str, fraction: str) -> float:
    return float(f"{re.sub(r'[^0-9]', '', whole)}.{fraction}")


def _values_meant(match: re.Match[str]) -> set[float]:
    times = 1_000 if match["thousand"] else 1_000_000 if match["million"] else 1
    values = readings_of(match["number"])
    return {*values, *(value * times for value in values)}


def spelled(tongue: str) -> tuple[re.Pattern[str], dict[str, int]]:
    """Return a pattern of the number words of a language, with their values."""
    return _spelled_in(tongue if tongue in _ONES else "en")


@cache
def _spelled_in(tongue: str) -> tuple[re.Pattern[str], dict[str, int]]:
    units, values = _ONES[tongue].split(), {}
    values.update({fold(word): number for number, word in enumerate(units)})
    for place, ten in enumerate(_TENS[tongue].split()):
        number = _TENS_BEGIN + 10 * place
        values[fold(ten)] = number
        for unit in range(1, 20 if _joins_teens(tongue, number) else 10):
            for spelling in _joined(tongue, number, unit, ten, units[unit]):
                values.setdefault(fold(spelling), number + unit)
    longest_first = sorted(values, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(longest_first)})\b"), values


def _joins_teens(tongue: str, number: int) -> bool:
    return tongue == "fr" and number + 10 in _FRENCH_TENS


def _joined(tongue: str, number: int, unit: int, ten: str, unit_word: str) -> tuple[str, ...]:
    match tongue:
        case "de":
            return (f"{unit_word.removesuffix('s') if unit == 1 else unit_word}und{ten}",)
        case "es":
            return (
                (f"{ten} y {unit_word}", f"veinti{unit_word}")
                if number == _TENS_BEGIN
                else (f"{ten} y {unit_word}",)
            )
        case "fr":
            return (f"{ten.removesuffix('s')} {unit_word}", f"{ten} et {unit_word}")
        case _:
            return (f"{ten} {unit_word}", f"{ten}{unit_word}")
