"""A strict check that a user's words take back a value of a profile.

A value deleted for a careless word is lost. A negation near a value is not enough ("I never want to
leave Munich"); the words must ask to forget, or say that it ended.
"""

import re
from collections.abc import Iterator
from itertools import takewhile

from app.kernel.text import fold
from app.language.extraction import MAX_FACT
from app.language.facts import Turn
from app.language.forgetting import names_something
from app.language.lexicon import word_set
from app.language.profile_readings import is_supposed
from app.language.profile_words import PLACES, thing
from app.language.profiles import WantedField, fill, stated, unquoted
from app.language.reported import without_reports
from app.language.sentences import own_words, sentences
from app.language.slot_patterns import SPELLINGS
from app.language.text import content, straight

_JUST = r"(?:(?:just|finally|recently|already|now|have|'ve) )*"
_ENDED = tuple(
    re.compile(text, re.IGNORECASE)
    for text in (
        rf"\bI(?:'ve)? {_JUST}(?:no longer|used to) (?P<verb>\w+)",
        rf"\bI(?:'ve)? {_JUST}(?:stopped|quit|gave up|given up|sold)(?: (?P<verb>\w+)ing)?\b",
        r"\bI (?:do not|don't|cannot|can't) (?P<verb>\w+)(?=\b.*\b(?:any ?more|any longer)\b)",
        r"\bI (?:do not|don't) (?P<verb>have|own)\b",
        r"\bich (?P<verb>\w+)(?=\b.*\b(?:nicht|kein\w*)\b.*\bmehr\b)",
        r"\bich (?P<verb>habe|besitze)(?= (?:gar )?kein)",
        r"\bich habe(?: \w+){0,2} mit(?=\b.*\baufgehört\b)",
        r"\bich habe(?=\b.*\b(?:aufgegeben|verkauft)\b)",
        r"\bno (?P<verb>tengo)\b",
        r"\bya no (?P<verb>\w+)",
        r"\b(?:dejé|he dejado)\b(?: de (?P<verb>\w+))?|\bhe vendido\b|\bvendí\b",
        r"\bje n(?:e |')(?P<verb>\w+) plus\b",
        r"\bje n'(?P<verb>ai) pas\b",
        r"\bj'ai (?:arrêté|cessé|vendu)\b(?: (?:de |d')(?P<verb>\w+(?:er|ir|re))\b)?",
    )
)
_END = re.compile(
    r"[.;:!?]|\s(?:but|because|since|when|while|to|for|with|aber|weil|mit|pero|porque|con|mais"
    r"|parce"
    r"|avec|pour|para)\s",
    re.IGNORECASE,
)
_AND = re.compile(r"\s*,\s*(?:and |or )?|\s(?:and|or|und|oder|y|o|et|ou)\s", re.IGNORECASE)
_HOPED = word_set(
    """
    want think know plan need hope wish remember forget care mind will weiß denke möchte kann glaube
    quiero sé creo puedo veux sais crois peux
    """
)
_LIVE = word_set("live living reside wohne lebe vivo resido habite vis réside vivir")
_WORK = word_set("work working arbeite trabajo travaille trabajar travailler")
_USE = word_set("use have using benutze habe uso tengo utilise ai")
_VERBS = {
    **dict.fromkeys((*PLACES, "address"), _LIVE),
    **dict.fromkeys(("employer", "job"), _WORK),
    **dict.fromkeys(("email", "phone"), _USE),
    **dict.fromkeys(
        ("name", "first name", "last name", "nickname", "age", "birthday", "marital"), frozenset()
    ),
}
"""Verbs for values of a kind; values of other kinds end with any verb."""
_WRONG = re.compile(
    r"\b(?:is|was|are|were|ist|war|sind|waren|es|era|son|est|était|sont)(?: \w+){0,1}"
    r" (?:wrong|incorrect|falsch|incorrect[oa]s?|faux|fausses?|incorrecte?s?)\b",
    re.IGNORECASE,
)
_FEW = 4
"""Words between the ending and the value, at most."""
_AFTER = word_set(
    """
    any anymore more longer last thi year month week ago in at now completely altogether entirely
    either too already yesterday today nicht kein mehr seit vor im letzte letzten ganz aufgegeben
    aufgehort verkauft desde hace ya el en mas depui il plu du tout pa
    """
)
"""Words that may follow the value; after another word, the value belongs to something else."""


def takes_back(source: str, field: WantedField, value: str = "") -> bool:
    """Return True if a user's words take back a value of the field, or without one, all of it."""
    turn = Turn("user", source)
    gone = [filled.value for filled in fill([turn], [field]) if filled.clear]
    if None in gone or not _words(value):
        return None in gone
    items = [
        item
        for given in gone
        if given
        for item in (given if isinstance(given, tuple) else (given,))
    ]
    if any(_is_one(item, value) for item in items):
        return True
    asked = [said.text for _, said in stated(turn) if said.forget]
    if asked:
        return any(_asks_for(text, field, value) for text in asked)
    return any(_denies(sentence, field, value) for sentence in _sentences(source))


def _is_one(said: str, value: str) -> bool:
    """Return True if one text equals the other or is only more exact ("Rome", "Rome, Italy")."""
    said_words, other = _words(said), _words(value)
    return bool(said_words) and (said_words <= other or other <= said_words)


def _sentences(source: str) -> Iterator[str]:
    """Yield the users' own statements, without questions and suppositions."""
    for sentence in sentences(unquoted(own_words(source))):
        plain = without_reports(straight(sentence.text))
        if len(plain) > MAX_FACT or sentence.quoted:
            continue
        if not plain.rstrip().endswith("?") and not is_supposed(plain):
            yield plain


def _asks_for(text: str, field: WantedField, value: str) -> bool:
    """Return True if a request names the value, and hardly anything else."""
    wanted = _words(value)
    besides = content(text) - content(f"{value} {_names(field)}")
    return names_something(text) and wanted <= _words(text) and len(besides) <= len(wanted)


def _denies(sentence: str, field: WantedField, value: str) -> bool:
    if _WRONG.search(sentence) and _words(_names(field)) & _words(sentence):
        return True
    return any(
        _ends(ended, field)
        and any(_is_named(thing_ended, value) for thing_ended in _objects(sentence, ended))
        for pattern in _ENDED
        for ended in pattern.finditer(sentence)
    )


def _ends(ended: re.Match[str], field: WantedField) -> bool:
    verb = (ended.groupdict().get("verb") or "").casefold()
    known = [_VERBS[kind] for kind in field.kinds if kind in _VERBS]
    return verb not in _HOPED and all(verb in verbs for verbs in known)


def _objects(sentence: str, ended: re.Match[str]) -> list[str]:
    """Return the things that ended: the next words, and single words joined to them."""
    rest = sentence[ended.end() :]
    end = _END.search(rest)
    first, *others = _AND.split(rest[: end.start()] if end else rest)
    return [first, *takewhile(lambda other: len(other.split()) == 1, others)]


def _is_named(text: str, value: str) -> bool:
    """Return True if the words are the value itself; "tennis" in "tennis racket" is not."""
    wanted, said = _words(value), [_word(word) for word in fold(text).split()]
    places = [place for place, word in enumerate(said) if word in wanted]
    if not wanted <= set(said) or places[0] > _FEW:
        return False
    after = said[places[-1] + 1 : places[-1] + 2]
    return not after or after[0] in _AFTER


def _names(field: WantedField) -> str:
    return f"{thing(field.name)} {thing(field.title)}"


def _words(text: str) -> set[str]:
    return {_word(word) for word in fold(text).split()}


def _word(word: str) -> str:
    return SPELLINGS.get(word, word).removesuffix("s")
