"""Analysis of a query: its words, names, dates and kind of answer. Pure."""

import re
from dataclasses import dataclass
from datetime import date

from app.kernel.text import fold
from app.language.grams import has_grams
from app.language.search_languages import configuration_of
from app.language.spans import UNTIMED, AskedTime, asked_time
from app.language.terms import with_format
from app.memory.memories.logic.search_hints import said, same

_READ_CHARS = 2_000
"""Maximum analysed characters of a query; the digest covers the whole query."""

_POSSESSIVE = re.compile(r"['\u2019]s\b", re.IGNORECASE)

# Questions that ask for a kind of answer, and the search hint of facts with such an answer.
_WANTED = (
    (
        "has:time",
        re.compile(
            r"\b(?:when|(?:what|which) (?:year|month|week|day|date|time)|how (?:long|recently)"
            r"|wann|seit wann|wie lange|quand|depuis (?:quand|combien)|cu[aá]ndo|desde cu[aá]ndo"
            r"|quando|da quando|wanneer|sinds wanneer)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "has:number",
        re.compile(
            r"\b(?:how (?:many|much|old|often|long|far|tall|big)|what (?:number|amount|age|price)"
            r"|wie ?viele?|wie (?:alt|oft|lange|weit|gro(?:ß|ss))|combien|cu[aá]nt[oa]s?"
            r"|quant[oaie]s?|hoeveel|hoe (?:oud|vaak|lang))\b",
            re.IGNORECASE,
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class RetrievalQuery:
    """An analysed query.

    Attributes:
        language: the text-search configuration of the query.
        same: the search hint of memories with the query itself as their fact.
        said: the search hint of facts that consist of a speaker's name and the query, "Anna: ...".
        subjects: the hints of memories with a subject that the query may name.
        wanted: the hints of facts that answer the query, such as `has:time` after "when".
        has_grams: True if some words are searched for in several forms: words of scripts without
            blanks, and words with format characters.
        time: the time that the query asks about.
    """

    language: str
    same: str
    said: str
    subjects: frozenset[str]
    wanted: tuple[str, ...]
    has_grams: bool = False
    time: AskedTime = UNTIMED


def read(query: str, today: date, language: str | None = None) -> RetrievalQuery:
    """Analyse a query asked on `today`, the day that "yesterday" is relative to.

    `language` is the engine's text-search configuration; None detects it from the query.
    """
    text = query[:_READ_CHARS]
    known = language or configuration_of(text)
    return RetrievalQuery(
        language=known,
        same=same(query),
        said=said(query),
        subjects=frozenset(f"subject:{word}" for word in _names(text)),
        wanted=tuple(cue for cue, question in _WANTED if question.search(text)),
        has_grams=has_grams(text) or bool(with_format(text)),
        time=asked_time(text, today, known),
    )


def _names(text: str) -> set[str]:
    # Any word may be the name of a subject.
    folded = fold(_POSSESSIVE.sub(" ", text))
    return {word for word in folded.split() if word[0].isalnum()}
