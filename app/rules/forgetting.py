"""Which memories a request to forget means.

A request must name a thing, and a memory must have every word that names it: "forget everything"
and "delete all memories" name nothing and forget nothing.
"""

import re

from app.rules.lexicon import GENERIC, language, word_set
from app.rules.slots import slots
from app.rules.text import content, fold, names, numbers, stem, straight, words

MAX_WORDS_PER_NAMED = 6
"""A memory with more words than this for each one named is about something else as well."""

_SLOTS = (
    (
        "residence",
        (
            r"where (?:I|we) live|my home ?town|wo ich (?:wohne|lebe)|dónde vivo|donde vivo|où"
            r" j'habite"
            r"|my (?:residence|home)|meine(?:n)? wohnort|mi domicilio"
        ),
    ),
    (
        "employer",
        (
            r"where (?:I|we) work|my (?:employer|job|workplace|company)|wo ich arbeite|meine[nm]?"
            r" arbeitgeber"
            r"|dónde trabajo|donde trabajo|mi trabajo|où je travaille|mon (?:travail|employeur)"
        ),
    ),
    ("job", r"my (?:job|profession|occupation)|meinen beruf|mi profesión|mon métier"),
    ("name", r"my name|meinen namen|mi nombre|mon (?:nom|prénom)"),
    ("age", r"my age|how old I am|mein alter|wie alt ich bin|mi edad|mon âge"),
)
_SLOT_NAMES = tuple((kind, re.compile(rf"^(?:{text})\W*$", re.IGNORECASE)) for kind, text in _SLOTS)
_THE_USER = re.compile(r"\b(?:the|this) user\b", re.IGNORECASE)


def names_something(said: str) -> bool:
    """Tell whether the words after "forget" name a thing at all.

    Nobody calls themselves "the user": such words address the service, not the person's memories.
    """
    return bool(_named(straight(said))) and not _THE_USER.search(said)


def _named(said: str, tongue: str = "") -> frozenset[str]:
    tongue = tongue or language(said, "en")
    found = [word for word in words(said, tongue) if word not in GENERIC]
    return content(" ".join(found), tongue)


def means(said: str, fact: str) -> bool:
    """Tell whether a request to forget `said` means the memory `fact`."""
    said = straight(said)
    kinds = [kind for kind, pattern in _SLOT_NAMES if pattern.search(said.strip())]
    if any(slot.key == (kind, "self") for kind in kinds for slot in slots(fact, kind)):
        return True
    named = _named(said)
    if not named or not names_something(said):
        return False
    tongue = language(said, "en")
    has = frozenset(stem(word, tongue) for word in words(fact, tongue))
    return _covered(named, said, has, tongue) and len(content(fact)) <= MAX_WORDS_PER_NAMED * len(
        named
    )


def _covered(named: frozenset[str], said: str, has: frozenset[str], tongue: str) -> bool:
    """Tell whether the memory has all that is named; a person's or place's name may do alone."""
    light = _likings(tongue)
    if named <= has:
        return True
    proper = frozenset(stem(name, tongue) for name in names(f"x {said}"))
    if tongue != "de" and proper and proper <= has and not (named - proper) - light - _KIN:
        return True
    return bool(named - light) and named - light <= has and bool(has & light)


def _likings(tongue: str) -> frozenset[str]:
    return frozenset(stem(fold(word), tongue) for word in _LIKINGS)


_LIKINGS = word_set("""
    like love enjoy prefer preference preferences favourite favorite mag liebe gern gerne
    bevorzuge vorliebe gusta gustan encanta prefiero preferencia aime adore préfère préférence
    """)
_KIN = word_set("ex friend brother sister boss colleague")


def may_mean(said: str, fact: str) -> bool:
    """Tell whether a request to forget can mean a memory whose words differ, as a model may say.

    The memory must have every number and name of the request and half of the words that name the
    thing, and must not say much besides.
    """
    said = straight(said)
    tongue = language(said, "en")
    named = _named(said) - _likings(tongue)
    spelt = frozenset(words(fact, tongue))
    begins = {stem(word, tongue)[:_BEGINNING] for word in spelt}
    shared = [word for word in named if word[:_BEGINNING] in begins]
    # German writes every noun with a capital.
    proper = frozenset[str]() if tongue == "de" else names(said)
    return (
        0 < len(named) <= 2 * len(shared)
        and numbers(said) <= numbers(fact)
        and proper <= spelt
        and len(content(fact)) <= MAX_WORDS_PER_NAMED * len(named)
    )


_BEGINNING = 5
"""Letters that the words of one family share at least ("allergy", "allergic")."""


def named_in(thing: str, text: str) -> bool:
    """Tell whether the text has every word that names the thing, and so any word of it."""
    tongue = language(text, "en")
    named = _named(straight(thing), tongue)
    has = frozenset(stem(word, tongue) for word in words(text, tongue))
    return bool(named) and (named <= has or fold(thing) in fold(text))
