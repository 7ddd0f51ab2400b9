"""Comparison of the words of a fact with the words of a user.

Two words are alike if they are equal or begin alike ("allergic", "allergies"). In scripts without
blanks, a third of the pairs of characters must be alike.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

from app.kernel.text import fold
from app.language.lexicon import NEGATIONS, STOPS, language, word_set
from app.language.phrases import any_case
from app.language.sentences import CLAUSE
from app.language.terms import ROLES
from app.language.text import content, negated, stem, straight
from app.language.values import MONTHS

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_WITHOUT_APOSTROPHES = re.compile(r"[^\W_]+")
_WITHOUT_BLANKS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7af]")
_PHRASE = any_case(
    CLAUSE.pattern + r"|[\u3001\u3002\uff0c\uff1b\uff1a]|,(?=[^\s\d])"
    rf"|\s(?:because|who|which|where|weil|porque|parce|{'|'.join(sorted(ROLES))})\s"
)
_BEGINNING = 3
"""Minimum number of equal leading letters of two words that count as alike."""
_ENDING = {4: 1, 5: 1}
"""Letters at the end of a word that may differ, by its length; two for a longer word."""
_LONG_ENDING = 2
_LEAST_PAIRS = 3
"""Divisor: at least one in three pairs must be alike."""
_USER = (
    content("user users us", "en")
    | content("Nutzer Nutzers Nutzerin Benutzer Benutzerin", "de")
    | content("usuario usuaria", "es")
    | content("utilisateur utilisatrice", "fr")
)
_ARTICLES = word_set("""
    a an the my our his her its their ein eine einen einem einer mein meine meinen meiner der die
    das un una el la los las mi mis su sus une le les mon ma mes son sa ses
    """)
"""Words before an attribute; the words between them and a noun describe the noun."""
_Kind = Literal["said", "added", "idle", "article"]
"""Kind of a word of a fact: the user said it, the model added it, it has no content, or article."""
_Phrase = list[tuple[re.Match[str], _Kind]]


def is_user(word: str) -> bool:
    """Return True if a folded word is one for the user in the third person."""
    return any(stem(word, tongue) in _USER for tongue in STOPS)


def is_idle(word: str) -> bool:
    """Return True if a word has no content in one of the known languages."""
    return any(fold(word) in stops for stops in STOPS.values())


def touched(pieces: Sequence[str], quote: str) -> range:
    """Return the positions of the pieces that a quote touches; empty if it is not in the text."""
    ends: list[int] = []
    whole = " "
    for piece in pieces:
        whole += f"{fold(piece)} "
        ends.append(len(whole) - 1)
    wanted = fold(quote)
    at = whole.find(f" {wanted} ") + 1 or whole.find(wanted)
    if at < 0 or not wanted:
        return range(0)
    first = sum(end <= at for end in ends)
    return range(first, sum(end < at + len(wanted) for end in ends) + 1)


class TextWords:
    """The words of a text, for lookups of the words of a fact."""

    def __init__(self, text: str) -> None:
        plain = straight(text)
        all_words = [*_WORD.findall(plain), *_WITHOUT_APOSTROPHES.findall(plain)]
        self._words = frozenset(map(_folded, all_words))
        self._alike: defaultdict[str, list[str]] = defaultdict(list)
        for word in self._words:
            self._alike[word[:_BEGINNING]].append(word)
        self._squashed = "".join(map(fold, plain.split()))

    def has(self, word: str) -> bool:
        """Return True if a folded word, or one that is alike, is in the text."""
        if word in self._words:
            return True
        if _WITHOUT_BLANKS.search(word):
            pairs = [word[at : at + 2] for at in range(len(word) - 1)] or [word]
            return sum(pair in self._squashed for pair in pairs) * _LEAST_PAIRS >= len(pairs)
        return any(_are_alike(word, other) for other in self._alike.get(word[:_BEGINNING], ()))


def _folded(word: str) -> str:
    return fold(word.removesuffix("'s"))


def _are_alike(word: str, other: str) -> bool:
    shorter = min(len(word), len(other))
    alike = shorter - _ENDING.get(shorter, _LONG_ENDING)
    return alike >= _BEGINNING and word[:alike] == other[:alike]


def added(fact: str, said: TextWords) -> list[tuple[int, int]]:
    """Return the start and end of each word of a fact that the user did not use."""
    return [
        word.span() for phrase in _phrases(fact, said) for word, kind in phrase if kind == "added"
    ]


def is_without_additions(text: str, fact: str, said: TextWords) -> bool:
    """Return True if a text is a fact with some words removed that the user did not use."""
    words = iter(fold(fact).split())
    kept = TextWords(text)
    return (
        bool(text)
        and all(word in words for word in fold(text).split())
        and negated(text) == negated(fact)
        and all(
            kind != "said" or kept.has(_folded(word[0]))
            for phrase in _phrases(fact, said)
            for word, kind in phrase
        )
    )


def shares_a_word(fact: str, said: TextWords) -> bool:
    """Return True if the user used a word of the fact."""
    return any(kind == "said" for phrase in _phrases(fact, said) for _, kind in phrase)


def adds_to(fact: str, said: TextWords) -> bool:
    """Return True if a fact has a phrase or an attribute without any word of the user."""
    # The first phrase may have a verb that only the model used: "I like", before "tea".
    phrases = list(_phrases(fact, said))
    kinds = [{kind for _, kind in phrase} & {"said", "added"} for phrase in phrases]
    counted = [kind for kind in kinds if kind]
    has_none = bool(counted) and "said" not in set().union(*counted[:2])
    return has_none or {"added"} in counted[1:] or any(map(_has_attribute, phrases))


def _has_attribute(phrase: _Phrase) -> bool:
    """Return True for an attribute that the user did not state: "a red boat" from "a boat"."""
    kinds = " ".join(kind for _, kind in phrase)
    return re.search(r"article(?: added)+ said", kinds) is not None


def _phrases(fact: str, said: TextWords) -> Iterator[_Phrase]:
    plain = straight(fact)
    tongue = language(plain, "en")
    stops = STOPS.get(tongue, frozenset())
    pattern = _WITHOUT_APOSTROPHES if tongue == "fr" else _WORD
    start = 0
    for end in [*(mark.start() for mark in _PHRASE.finditer(plain)), len(plain)]:
        yield [(word, _kind(word[0], said, stops)) for word in pattern.finditer(plain, start, end)]
        start = end


def _kind(word: str, said: TextWords, stops: frozenset[str]) -> _Kind:
    plain = _folded(word)
    if plain in _ARTICLES:
        return "article"
    is_sign = _WITHOUT_BLANKS.search(plain) is not None
    if not is_sign and (plain in stops or len(plain) == 1):
        return "idle"
    if said.has(plain):
        return "said"
    # Dates, numbers and denials are compared elsewhere.
    is_number = plain.isascii() and any(sign.isdigit() for sign in plain)
    is_elsewhere = is_number or plain in MONTHS or NEGATIONS.search(word)
    return "idle" if is_elsewhere or is_user(plain) else "added"
