"""Which memories a request to forget means.

A request must name a thing, and a memory must have every word that names it: "forget everything"
and "delete all memories" name nothing and forget nothing.
"""

import re

from app.rules.lexicon import GENERIC, language, latin, word_set
from app.rules.slots import slots
from app.rules.text import content, fold, names, negated, numbers, stem, straight, words
from app.rules.wording import alike

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

    The memory must have every number, name and word of the request, or one of the same family
    ("allergy", "allergic"), must deny what it denies, and must not say much besides.
    """
    said = straight(said)
    if not latin(said):
        return _contains(fact, said)
    tongue = language(said, "en")
    named = _named(said) - _likings(tongue) - _ASKING
    spelt = frozenset(words(fact, tongue))
    # German writes every noun with a capital.
    proper = frozenset[str]() if tongue == "de" else names(said)
    return (
        bool(named)
        and all(_has_kin(word, spelt, tongue) for word in named)
        and numbers(said) <= numbers(fact)
        and proper <= spelt
        and negated(said) <= negated(fact)
        and len(content(fact)) <= MAX_WORDS_PER_NAMED * len(named)
    )


_ASKING = word_set("wher when who how wo wann wie dond donde cuand cuando quand comment ou")
"""Stems that ask for what a memory tells: "where I work"."""


def _has_kin(word: str, spelt: frozenset[str], tongue: str) -> bool:
    """Tell whether one of the words is of the family of a stem, or says the same kind of thing."""
    families = [one for one in _FAMILIES if any(alike(word, stem(kin, tongue)) for kin in one)]
    return any(alike(word, stem(other, tongue)) for other in spelt) or any(
        not one.isdisjoint(spelt) for one in families
    )


_FAMILIES = tuple(
    map(
        word_set,
        (
            "job work works working employed employer employee",
            "job arbeit arbeite arbeitet arbeitgeber beruf",
            "trabajo trabaja empleo empleado oficio",
            "travail travaille emploi employe metier",
            "home live lives living address reside house flat",
            "wohnort wohne wohnt adresse zuhause wohnung",
            "domicilio vivo vive direccion casa",
            "adresse habite habites domicile maison",
            "age old years",
            "alter alt jahre",
            "edad anos",
            "age ans",
        ),
    )
)
"""Words that name one kind of thing; whose it is, the other words of a request tell."""


def _contains(fact: str, said: str) -> bool:
    """Tell whether a text that parts no words has all that is named in a request."""
    named = [part for part in _IDLE_SIGNS.split(fold(said)) if part]
    plain = fold(fact)
    long_enough = bool(named) and max(map(len, named)) > 1
    in_it = all(part in plain for part in named)
    return long_enough and in_it and len(plain) <= MAX_WORDS_PER_NAMED * sum(map(len, named))


_IDLE_SIGNS = re.compile("[我你他她的了请把在和私はがをのも ]+|忘记|忘掉|忘了|删除|删掉|关于")


def named_in(thing: str, text: str) -> bool:
    """Tell whether the text has every word that names the thing, and so any word of it."""
    tongue = language(text, "en")
    named = _named(straight(thing), tongue)
    has = frozenset(stem(word, tongue) for word in words(text, tongue))
    return bool(named) and (named <= has or fold(thing) in fold(text))
