"""Language, grams and search hints of a memory, computed when it is written.

Grams are the words of scripts without blanks (`app/language/grams.py`).

Search hints (the column `cues`) are short texts that let a query match more than its words:

| hint | the memory |
|---|---|
| `same:2f1d...` | a digest of its fact, folded |
| `body:2f1d...` | a digest of its fact without the `Name: ` at its start |
| `subject:anna` | begins with this name, folded; one hint for each word of it |
| `said:2023-05-08` | it was said on this day (`event_time`, in its own zone) |
| `time:2023-05-07` | its fact names this date, or means it by "yesterday"; see `rules.moments` |
| `has:time`, `has:number` | its fact has words of time, or numbers |
| `is:question` | its fact ends with a question |
| `says:own` | it is such a question, and states something in the first person before it |

A generation provides `event_time` in the speaker's zone, but the column stores only the moment. A
later change by hand, a restore, or the sweep for missing hints therefore uses the day in UTC.
"""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import date
from hashlib import blake2b
from typing import Any

from app.kernel.text import fold
from app.language.dates import in_year_of, named, relative, words_of
from app.language.grams import indexed
from app.language.lexicon import word_set
from app.language.search_languages import UNKNOWN, configuration_of, is_function_word

_READ_CHARS = 2_000
"""Maximum analysed characters of a fact; the digest covers the whole fact."""
_MAX_TIMES = 8
_SPEAKER = re.compile(
    r"\s*([^\W\d_][\w.'\u2019-]{0,39}(?: [^\W\d_][\w.'\u2019-]{0,39}){0,2}): +(?=\S)"
)
_FIRST = re.compile(
    r"\s*([^\W\d_][^\W_]*(?:-[^\W\d_]+)?)(?:['\u2019]s (?=\w)| (?=(?P<next>[^\W\d_]+)))"
)
_VERB = re.compile(r"\w+(?:s|ed|t|ly)|did|do|will|would|could|should|may|can|and|also|never|always")
_IRREGULAR = word_set(
    """
    found made took came saw said told began became chose drew drove ate fell flew gave grew knew
    paid ran read sang sold spoke swam won wrote had hurt
    """
)
_TIMES = word_set(
    """
    yesterday today tonight tomorrow ago week weeks weekend month months year years day days morning
    evening afternoon night recently since summer winter spring autumn monday tuesday wednesday
    thursday friday saturday sunday january february march april june july august september october
    november december gestern heute morgen woche wochen monat monate jahr jahre tag tage seit hier
    demain semaine mois jour jours ans depuis ayer hoy semana mes meses año años día días desde
    """
)
_COUNTS = word_set(
    """
    two three four five six seven eight nine ten eleven twelve dozen hundred thousand once twice
    several couple many zwei drei vier fünf sechs sieben acht neun zehn deux trois quatre cinq huit
    dos tres cuatro cinco seis siete ocho
    """
)
_CLAUSE = re.compile(r"([^.,;:!?\uff1f\u061f\n]+)([.,;:!?\uff1f\u061f\n]|\Z)")
_ENDS_QUESTION = frozenset("?\uff1f\u061f")
_OWN = re.compile(
    r"\b(?:i|my|we|our|ich|mein\w*|wir|unser\w*|je|j['\u2019]\w+|mon|ma|mes|nous|notre|nos|yo|mis?"
    r"|me|nosotr[oa]s|nuestr\w*)\b",
    re.IGNORECASE,
)
_ASKING = re.compile(r"[?\uff1f\u061f][^\w?\uff1f\u061f]*\Z")


def search_hints_of(content: Mapping[str, Any], language: str | None) -> dict[str, Any]:
    """Return the values of the columns `language`, `cues` and `grams` for a memory's content.

    `language` is the engine's text-search configuration; None detects it from the fact.
    """
    fact = content.get("fact")
    if not fact:
        return {"language": language or UNKNOWN, "cues": [], "grams": None}
    known = language or configuration_of(fact)
    said_at = content.get("event_time")
    said_on = None if said_at is None else said_at.date()
    cues = list(dict.fromkeys(_cues(fact, said_on, known)))
    return {"language": known, "cues": cues, "grams": indexed(fact)}


def same(text: str) -> str:
    """Return the hint of a text, which ignores case, accents, spaces and punctuation."""
    return f"same:{_digest(text)}"


def said(text: str) -> str:
    """Return the hint of facts that consist of the speaker's name and this text."""
    return f"body:{_digest(text)}"


def _digest(text: str) -> str:
    return blake2b(fold(text).encode("utf-8", "replace"), digest_size=8).hexdigest()


def _cues(fact: str, said_on: date | None, language: str) -> Iterator[str]:
    yield same(fact)
    read = fact[:_READ_CHARS]
    speaker = _SPEAKER.match(read)
    if speaker:
        yield said(fact[speaker.end() :])
        read = read[speaker.end() :]
    yield from _subject_cues(speaker, read, language)
    words = words_of(read)
    yield from _time_cues(read, words, said_on, language)
    yield from _shape_cues(read, words)


def _subject_cues(speaker: re.Match[str] | None, read: str, language: str) -> Iterator[str]:
    if speaker:
        names = fold(speaker[1]).split() if speaker[1][0].isupper() else []
    else:
        names = _first_name(read, language)
    yield from (f"subject:{name}" for name in names)


def _first_name(read: str, language: str) -> list[str]:
    # In English a verb must follow: "Anna likes", but neither "Likes tea" nor "Hiking in the
    # Alps".
    begins = _FIRST.match(read)
    if begins is None or not begins[1][0].isupper() or is_function_word(begins[1].lower()):
        return []
    follows = begins["next"]
    if follows and language == "english" and follows not in _IRREGULAR:
        return fold(begins[1]).split() if _VERB.fullmatch(follows) else []
    return fold(begins[1]).split() if not follows or follows.islower() else []


def _time_cues(
    read: str, words: AbstractSet[str], said_on: date | None, language: str
) -> Iterator[str]:
    moments = named(read, words)
    if said_on:
        yield f"said:{said_on}"
        moments = [in_year_of(moment, said_on) for moment in moments]
        moments += relative(read, words, said_on, language)
    yield from (f"time:{moment}" for moment in moments[:_MAX_TIMES])
    if moments or not _TIMES.isdisjoint(words):
        yield "has:time"


def _shape_cues(read: str, words: AbstractSet[str]) -> Iterator[str]:
    if any(map(str.isdecimal, words)) or not _COUNTS.isdisjoint(words):
        yield "has:number"
    if _ASKING.search(read):
        yield "is:question"
        clauses = _CLAUSE.findall(read)
        if any(end not in _ENDS_QUESTION and _OWN.search(clause) for clause, end in clauses):
            yield "says:own"
