"""Corrections of older statements: a new time, day, date, sum or number for the same thing.

"My rent is now 900 euros" corrects "My rent is 800 euros", but not a brother's rent.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from app.kernel.text import fold
from app.language.lexicon import language, word_set
from app.language.phrases import any_case
from app.language.text import content, straight, undated
from app.language.values import Kinds, Value, valued

INSTEAD_OF = any_case(
    r"^,?\s(?:instead of|rather than|and not|not|statt|anstatt|nicht|en (?:lugar|vez) de|y no|no a"
    r"|au lieu de?|et non(?: pas)?|pas) "
)
INSTEAD = any_case(INSTEAD_OF.pattern.removeprefix("^") + "[^,.;]+")
"""The words of a statement that name the replaced value."""
_MOVED = any_case(
    r"\b(?:(?:has |have |was |is |been |got |were |will |be )*(?:moved|postponed|rescheduled|pushed"
    r"|changed|brought forward|delayed|went up|gone up)(?: back| forward)?|switched"
    r"|verschoben|verlegt|vorgezogen|geändert|gestiegen"
    r"|(?:se )?(?:ha|han)? ?(?:movid[oa]|aplazad[oa]|pospuest[oa]|cambi(?:ad[oa]|ó)|movió|aplazó"
    r"|pospuso|trasladad[oa]|pasad[oa]|retrasad[oa]|adelantad[oa])s?"
    r"|(?:est|a été|sont|ont été)? ?(?:reporté|déplacé|décalé|avancé|repoussé|changé)e?s?"
    r"|(?:a|ont) changé)\b"
)
_NOW = any_case(
    r"\b(?:now(?! that\b)|instead of|rather than|from now on|these days|jetzt|statt|inzwischen"
    r"|mittlerweile|nun|ahora|en (?:lugar|vez) de|maintenant|désormais|au lieu)\b"
)
_SINGLE = (
    r"(?:number|address|rent|salary|wage|price|time|date|deadline|budget|pin|code|weight|height"
    r"|size|limit|goal|target|\w*nummer|\w*adresse|miete|gehalt|lohn|preis|uhrzeit|termin|frist"
    r"|gewicht|größe|ziel|n[úu]mero|direcci[óo]n|alquiler|sueldo|salario|precio|hora|fecha|plazo"
    r"|presupuesto|peso|talla|meta|numéro|loyer|salaire|prix|heure|délai|poids|taille|objectif)"
)
_NEW = any_case(
    r"^(?:(?:my|our|the|mein\w*|unser\w*|der|die|das|mi|nuestr[oa]|el|la|mon|ma|notre|le)"
    rf" (?:[\w'-]+ )?(?:new|neue[nrs]?|nuev[oa]|nouve\w+) (?:[\w'-]+ )?{_SINGLE}"
    rf"|(?:my|our|mi|mon|ma|notre|nuestr[oa]) {_SINGLE}(?: (?:de )?[\w'-]+)? (?:nuev[oa]|nouve\w+))"
    r"\b"
)
_SAYS_NEW = any_case(r"\b(?:new|neue[nrs]?|nuev[oa]|nouve\w+) ?\b")
_FROM = any_case(
    r"\b(?:from|von|vom|del?|du) (?P<old>(?:[\w.:]+ ){1,4}?)(?=(?:to|auf|zum?|al?|à|au) )"
)
_OWNER = any_case(
    r"(?<!\w)(?P<one>(?!it|that|there|here|what|he|she|let|who)[^\W\d_]+)'s? (?=[^\W\d])"
    r"|\b(?:meine[srm]|deine[srm]|seine[srm]|ihre[srm]|unsere[srm]) (?P<de>\w+)"
    r"|\bd(?:e|el) (?:mis?|tus?|sus?|nuestr[oa]s?) (?P<es>\w+)"
    r"|\bde (?:mon|ma|mes|notre|nos|ton|ta|son|sa|leur) (?P<fr>\w+)"
)
_ELSE = word_set("""
    his her hers their your sein seine seinem ihr ihre ihrem dein deine su sus tu tus son sa leur
    ton ta votre
    """)
_GENERIC = word_set("""
    am pm oclock clock uhr heures heure horas hora is are was were will be been being gets ist sind
    war wurde wird werden es esta son era fue sera est sont etait sera at to on in by for um auf am
    im den dem der die das zum vom bei el la los las al a le les l au aux du de d
    start starts started starting begin begins beginning takes take place happens scheduled set
    planned beginnt startet findet statt geplant fangt an empieza comienza programada programado
    commence debute prevu prevue costs cost kostet betragt cuesta coute s eleve
    today tonight tomorrow yesterday next this coming week currently already again just actually
    still heute morgen gestern nachste nachsten nachster kommenden woche aktuell schon wieder
    hoy manana proximo proxima semana que viene actualmente ya aujourd hui demain prochain
    prochaine semaine actuellement deja i im my our me we ich wir mein meine meinem meinen unser
    unsere mi mis nuestra nuestro mon ma mes notre nos j je nous there s t y et end early late
    """)
"""Words that do not identify the subject of a value."""
_HOW_OFTEN = re.compile(
    r"\b(?:(?:every|each|per|a) (?:day|week|month|year)|daily|weekly|monthly|yearly"
    r"|(?:jeden|pro|im|am|in der) (?:tag|woche|monat|jahr)|taglich|wochentlich|monatlich|jahrlich"
    r"|(?:todos los|al|por) (?:dias?|mes|ano|semana)|cada (?:dia|semana|mes|ano)"
    r"|(?:tous les|par|chaque) (?:jours?|mois|ans?|semaine))\b"
)


@dataclass(frozen=True)
class _Values:
    """The current and former values of a statement, and its subject."""

    now: Kinds
    was: Kinds
    before: frozenset[str]
    about: frozenset[str]
    owners: frozenset[str]
    corrects: bool
    moved: bool


def is_correction(fact: str) -> bool:
    """Return True if a statement reports a changed value."""
    plain = straight(fact)
    return any(pattern.search(plain) for pattern in (_NOW, _MOVED, _NEW))


def moves_a_date(text: str) -> bool:
    """Return True if a statement moves something to another time or day."""
    plain = straight(text)
    if not INSTEAD.search(plain) and not _MOVED.search(plain):
        return False
    kinds = valued(text, language(text, "en")).kinds
    return not kinds.keys().isdisjoint({"time", "weekday", "date"})


def owners(fact: str) -> frozenset[str]:
    """Return the owners named in a statement: the brother in "my brother's rent"."""
    plain = straight(fact)
    named = {fold(next(filter(None, match.groups()))) for match in _OWNER.finditer(plain)}
    return frozenset(named | (_ELSE & set(fold(plain).split())))


def corrects(new: str, old: str, tongue: str) -> bool:
    """Return True if exactly one value differs between two statements about the same thing."""
    mine, theirs = _values(new, tongue), _values(old, tongue)
    if not mine.corrects or not mine.about or mine.owners != theirs.owners:
        return False
    now, was = _as(theirs.now, mine.now), _as(theirs.now, mine.was)
    shared = theirs.now.keys() & now.keys()
    # The old value identifies the subject; a moved event need not repeat its hour.
    names_it = any(kind in was and _meets(was[kind], theirs.now[kind]) for kind in shared)
    if mine.about != theirs.about and not (names_it and mine.about <= theirs.about):
        return False
    if not shared or not (names_it or mine.moved or theirs.now.keys() <= now.keys()):
        return False
    other = {kind for kind in shared if theirs.now[kind] != now[kind]}
    if any(kind in was and not _meets(was[kind], theirs.now[kind]) for kind in other):
        return False
    return len(other) == 1 or (bool(other) and mine.moved and not other & mine.before)


def other_values(new: str, old: str, tongue: str) -> bool:
    """Return True if both statements have values: only a correction can then end the older one."""
    return bool(_values(new, tongue).now) and bool(_values(old, tongue).now)


@lru_cache(maxsize=2_048)
def _values(fact: str, tongue: str) -> _Values:
    plain = straight(undated(fact))
    instead = " ".join(INSTEAD_OF.sub("", said) for said in _instead(plain))
    said = INSTEAD.sub(" ", plain)
    moved = _MOVED.search(said)
    come_from = _FROM.search(said) if moved else None
    was = valued(f"{instead} , {come_from['old'] if come_from else ''}", tongue).kinds
    if come_from and valued(come_from["old"], tongue).kinds:
        said = f"{said[: come_from.start()]}{said[come_from.end() :]}"
    read = valued(said, tongue)
    first = valued(said[: moved.start()], tongue).kinds if moved and tongue != "de" else {}
    last = valued(said[moved.start() :], tongue).kinds if first and moved else read.kinds
    now = {kind: last.get(kind, values) for kind, values in read.kinds.items()}
    was = {kind: values for kind, values in first.items() if kind in last} | dict(was)
    return _Values(
        now=now,
        was=was,
        before=frozenset(first.keys() - last.keys()) if first else frozenset(),
        about=_about(said, read.rest, tongue),
        owners=owners(fact),
        corrects=is_correction(fact),
        moved=moved is not None,
    )


def _instead(text: str) -> list[str]:
    return [match[0] for match in INSTEAD.finditer(text)]


def _about(said: str, rest: str, tongue: str) -> frozenset[str]:
    """Return the stems of the subject of a statement, without values and words of change."""
    changing = _words(
        " ".join(match[0] for pattern in (_MOVED, _NOW) for match in pattern.finditer(said))
    )
    if _NEW.search(said):
        changing |= _words(" ".join(_SAYS_NEW.findall(said)))
    subject_words = [
        word
        for word in _HOW_OFTEN.sub(" ", fold(rest)).split()
        if word not in _GENERIC and word not in changing
    ]
    return frozenset(stem for stem in content(" ".join(subject_words), tongue) if len(stem) > 1)


def _words(text: str) -> frozenset[str]:
    return frozenset(fold(text).split())


def _as(theirs: Kinds, mine: Kinds) -> Kinds:
    """Read a bare number as a time if the other statement has a time ("moved to four")."""
    if "number" not in mine or "time" in mine or "time" not in theirs:
        return mine
    hours = mine["number"]
    return {kind: values for kind, values in mine.items() if kind != "number"} | {"time": hours}


def _meets(was: frozenset[Value], theirs: frozenset[Value]) -> bool:
    """Return True if two sets share a value; "4" also matches "4 pm"."""
    return bool(_parts(was) & _parts(theirs))


def _parts(values: frozenset[Value]) -> frozenset[Value]:
    return frozenset(
        part for value in values for part in (value if isinstance(value, tuple) else (value,))
    )
