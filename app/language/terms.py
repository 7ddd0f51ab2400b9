r"""The terms of a query, and the terms found in a text: as bits, for \`Bm25\`."""

import re
from collections.abc import Iterable, Sequence
from unicodedata import normalize

from app.kernel.text import fold, without_format
from app.language.bm25 import MAX_TERMS
from app.language.grams import apart, has_grams
from app.language.lexicon import STOPS, language, word_set
from app.language.search_languages import configuration_of
from app.language.stances import DISLIKING, LIKING
from app.language.text import contractions_in_full, stem, straight, undated, words

_ALIKE_CHARS = 5
"""Least number of first characters shared by similar words, unless they are equal."""
_NO_TONGUE = "-"
"""The unknown language: its words stay unchanged."""
_MAX_KNOWN = 50_000
"""Maximum number of words with a cached look-up."""
_ACCENTS = re.compile("[\u0300-\u036f]")
_SIGN = re.compile(r"\w")

ROLES = word_set("""
    from to in at on with for by of before after over under near than as since until about into
    von nach aus bei mit für fur zu zum zur vor uber an auf als seit bis im am gegen
    de a en con para por desde hasta sobre como a dans chez avec pour depuis du au aux
    """)
"""Words for the role of a thing in a statement ("from", "to", "with")."""
OTHERS = word_set("""
    he she it they his her its their him them who whom whose you your er sie es sein seine ihr ihre
    el ella ellos ellas su sus quien il elle ils elles son sa ses leur qui 他 她 它 彼
    """)
"""Words for people other than the speaker."""


class Terms:
    """The terms of a query, and a look-up of the terms in a text."""

    def __init__(self, query: str) -> None:
        known = "en" if configuration_of(query) == "english" else _NO_TONGUE
        self._tongue = language(query) or known
        terms = dict.fromkeys(term for word in self._words(query) for term in self._terms(word))
        self._numbers = {term: n for n, term in enumerate(list(terms)[:MAX_TERMS])}
        self._alike: dict[str, list[str]] = {}
        for term in self._numbers:
            self._alike.setdefault(term[:_ALIKE_CHARS], []).append(term)
        self._bits: dict[str, int] = {}
        """The bits of the words found so far that are terms."""
        self._known: set[str] = set()

    def __len__(self) -> int:
        return len(self._numbers)

    def read(self, text: str) -> tuple[int, int]:
        """Return the bits of the terms in a text, and its number of words."""
        text_words = self._words(text)
        distinct = set(text_words)
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
            self._bits.clear()
        for word in distinct - self._known:
            self._known.add(word)
            if matched := self._matched(word):
                self._bits[word] = matched
        return together(self._bits[word] for word in distinct & self._bits.keys()), len(text_words)

    def _words(self, text: str) -> list[str]:
        text, grams = apart(text)
        if self._tongue == "fr":
            text = straight(text).replace("'", " ")
        return [*fold(text).split(), *grams]

    def _terms(self, word: str) -> Sequence[str]:
        return (word,) if has_grams(word) else meanings(word, self._tongue)

    def _matched(self, word: str) -> int:
        matched = 0
        for term in self._terms(word):
            number = self._numbers.get(term)
            if number is None:
                near = self._alike.get(term[:_ALIKE_CHARS], ())
                number = next((self._numbers[own] for own in near if alike(own, term)), None)
            matched |= 0 if number is None else 1 << number
        return matched


def together(bits: Iterable[int]) -> int:
    """Return the union of bits."""
    union = 0
    for bit_set in bits:
        union |= bit_set
    return union


def folded(text: str) -> str:
    """Remove accents, as the columns `terms` do, and format characters, as their grams do.

    Words that have those follow as they are: texts that a former release stored may have no grams.
    """
    return _ACCENTS.sub("", normalize("NFD", " ".join([without_format(text), *with_format(text)])))


def with_format(text: str) -> list[str]:
    """Return the words that have format characters."""
    if text.isascii():
        return []
    return [word for word in text.split() if without_format(word) != word and _SIGN.search(word)]


def alike(first: str, other: str) -> bool:
    """Return True if two stems belong to one word; "univers" and "universit" do not."""
    if first == other:
        return True
    shorter, longer = sorted((first, other), key=len)
    return (
        len(shorter) >= 5
        and longer.startswith(shorter)
        and longer[len(shorter) :] in _ENDINGS
        and len(shorter) * 10 >= len(longer) * 7
    )


_ENDINGS = word_set("""
    s es e y n en er ern t ic ical al ly ing ed or ist ion ation ment ness c ca co que sch sche i a
    o as os an ie ies qu
    """)


_KINDS = {
    word: f"+{kind}"
    for kind, listed in (
        ("like", " ".join(LIKING)),
        ("hate", " ".join(DISLIKING)),
        ("prefer", "prefer prefers preferred preference favourite favorite favourites favorites"),
        ("prefer", "bevorzuge bevorzugt liebster liebste liebsten lieber prefiero prefiere"),
        ("prefer", "favorito favorita preferido preferida prefere preferee"),
        ("work", "work works working worked job jobs profession occupation employed employer"),
        ("work", "career arbeite arbeitet arbeiten arbeit beruf job trabajo trabaja profesion"),
        (
            "work",
            "empleo oficio travaille travail metier profession emploi beruflich arbeitest trabajas",
        ),
        ("live", "live lives living lived reside resides residence home moved move moving"),
        ("live", "relocated relocating based wohne wohnt wohnort lebe lebt gezogen umgezogen"),
        ("live", "wohnst lebst vivo vive vives mudado mude mudo resido habite habites vis vit"),
        ("name", "name named names called call heisse heisst nenne nennt nombre llamo llama nom"),
        ("name", "appelle prenom vorname"),
        ("have", "have has had got own owns habe hat besitze besitzt tengo tiene poseo possede"),
        ("born", "born birthday geboren geburtstag naci nacio cumpleanos nee anniversaire"),
        ("age", "age aged old years year turned turn alt jahre alter edad anos age ans"),
        ("wed", "married wife husband spouse verheiratet frau mann ehefrau ehemann"),
        ("wed", "casado casada esposa esposo mariee epouse mari femme"),
    )
    for word in listed.split()
}


def meanings(text: str, tongue: str = "") -> tuple[str, ...]:
    """Return the content words in order, with synonyms unified."""
    tongue = tongue or language(text)
    stops = STOPS.get(tongue, frozenset())
    text_words = words(contractions_in_full(undated(text)), tongue)
    return tuple(
        _KINDS.get(word) or stem(word, tongue)
        for word in text_words
        if word in _KINDS or (len(word) > 1 and word not in stops and word not in ROLES)
    )
