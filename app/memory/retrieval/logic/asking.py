"""What a query asks for: words, names, dates, the kind of answer. Pure."""

import re
from dataclasses import dataclass
from datetime import date

from app.kernel.text import fold
from app.language.moments import named, relative, words_of
from app.language.search_languages import configuration_of
from app.memory.memories.logic.traits import said, same

_READ_CHARS = 2_000
"""Of a longer query only the beginning is read, except for its digest."""

_POSSESSIVE = re.compile(r"['\u2019]s\b", re.IGNORECASE)

# What asks for a kind of answer, and the cue of the facts that have one.
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
class Asked:
    """A query, read.

    Attributes:
        language: the text-search configuration of the query.
        same: the cue of memories whose fact is the query itself.
        said: the cue of those that tell who said it, "Anna: ...", and where the rest is the query.
        subjects: the cues of memories whose subject the query may name.
        times: the moments it names, as `rules.moments` writes them.
        wanted: the cues that an answer to it has, such as `has:time` after "when".
    """

    language: str
    same: str
    said: str
    subjects: frozenset[str]
    times: tuple[str, ...]
    wanted: tuple[str, ...]


def read(query: str, today: date, language: str | None = None) -> Asked:
    """Read a query that is asked on `today`, which "yesterday" is counted from.

    Args:
        query: as it was sent.
        today: the day of the question.
        language: the text-search configuration of the engine; None: what the query seems to be in.
    """
    text = query[:_READ_CHARS]
    words = words_of(text)
    known = language or configuration_of(text)
    times = [*named(text, words), *relative(text, words, today, known)]
    return Asked(
        language=known,
        same=same(query),
        said=said(query),
        subjects=frozenset(f"subject:{word}" for word in _names(text)),
        times=tuple(dict.fromkeys(times)),
        wanted=tuple(cue for cue, question in _WANTED if question.search(text)),
    )


def _names(text: str) -> set[str]:
    """Return every word, folded, "Anna's" as "anna", too: any of them may be a subject's name."""
    folded = fold(_POSSESSIVE.sub(" ", text))
    return {word for word in folded.split() if word[0].isalnum()}
