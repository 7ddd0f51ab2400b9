"""The relation of a new fact to an older one: the same, a replacement, or neither.

Embeddings cannot distinguish a duplicate from an update: each result needs evidence in the words.
"""

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from app.language.corrections import (
    INSTEAD,
    INSTEAD_OF,
    corrects,
    is_correction,
    other_values,
    owners,
)
from app.language.lexicon import word_set
from app.language.phrases import any_case
from app.language.slots import Slot, besides, restates, rivals, slots
from app.language.stances import Stance, affirms, denies, stance, without
from app.language.text import content, key, names, negated, numbers, resolved, stem, straight

SAME_COSINE = 0.95
"""Least cosine of a duplicate with equal numbers, names and negation; precision 0.91 to 0.99."""
CHANGED_COSINE = 0.75
"""Least cosine for a text that states a change to replace a text with the same beginning."""
BARE_COSINE = 0.6
"""Least cosine of two bare preferences for one choice ("I prefer tea", "I prefer coffee")."""

# After these words, a sentence only adds to its beginning.
_MORE = word_set("""
    with and but in at on for since because from named called who which that when while by about
    after before during every each to of mit und aber in im am bei seit weil von namens con y
    pero en desde porque de que cuando avec et mais dans a au depuis parce qui quand chez
    """)
_CHANGE = any_case(
    r"\b(?:now|no longer|any ?more|instead|these days|switched|changed|from now on|jetzt|nicht mehr"
    r"|inzwischen|mittlerweile|stattdessen|ahora|ya no|en lugar|maintenant|désormais|ne plus)\b"
)
_ALSO = any_case(
    r"\b(?:also|too|as well|additionally|auch|ebenfalls|también|además|aussi|également)\b"
)
_SWITCH = any_case(
    r"\b(?:switched|changed|went|moved|gewechselt|cambié|passé|changé)\b.*?\b(?:from|von|vom|de)\b"
    r" (?P<old>[^,.;]+?) (?:to|zu|zum|auf|a|à|al|au)\b"
)
_SINCE = any_case(r"\b(?:since|for \w+ \w+|seit|desde|depuis)\b")


@dataclass(frozen=True)
class Statement:
    """A fact with derived values for comparisons, each computed once and on demand."""

    fact: str
    dated_by_now: bool = False

    @cached_property
    def key(self) -> str:
        """The key shared by facts that differ in spelling only."""
        return key(self.fact)

    @cached_property
    def dates(self) -> frozenset[str]:
        """The dates resolved into the fact."""
        return resolved(self.fact)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Its statements about things with only one value at a time."""
        return tuple(slots(self.fact))

    @property
    def is_lasting(self) -> bool:
        """True if it states a home, a job, a family status or a diet of someone."""
        return any(not _LASTING.isdisjoint(slot.key) for slot in self.slots)

    @cached_property
    def affirmed(self) -> bool:
        """True if the fact affirms its subject."""
        return affirms(self.fact)

    @cached_property
    def stance(self) -> Stance:
        """The things that the fact affirms or denies."""
        return stance(self.fact)

    @cached_property
    def left(self) -> frozenset[str]:
        """The thing that was given up for another: the tea of "I switched from tea to coffee"."""
        match = _SWITCH.search(straight(self.fact))
        return content(match["old"], self.stance.tongue) if match else frozenset()

    @cached_property
    def names(self) -> frozenset[str]:
        """The names in the fact."""
        return names(self.fact)

    @cached_property
    def tells_change(self) -> bool:
        """True if the fact states a change, and not only an addition."""
        return bool(_CHANGE.search(straight(self.fact))) and not _ALSO.search(self.fact)

    @cached_property
    def tells_correction(self) -> bool:
        """True if the fact reports a changed time or number."""
        return is_correction(self.fact)

    @cached_property
    def given_up(self) -> frozenset[str]:
        """The things that the fact replaces, according to its words."""
        match = INSTEAD.search(straight(self.fact))
        said = INSTEAD_OF.sub("", match[0]) if match else ""
        return content(said, self.stance.tongue) if said else frozenset()

    def content(self, tongue: str) -> frozenset[str]:
        """Return the stems of its content words in a language."""
        if tongue not in self._contents:
            self._contents[tongue] = content(self.fact, tongue)
        return self._contents[tongue]

    @cached_property
    def _contents(self) -> dict[str, frozenset[str]]:
        return {}

    @cached_property
    def _kinds(self) -> dict[str, list[Slot]]:
        return {}

    def filling(self, slot: Slot) -> Iterator[Slot]:
        """Yield the slots with the same key, without searching other kinds of slot."""
        kind = slot.key[0]
        if kind not in self._kinds:
            self._kinds[kind] = slots(self.fact, kind)
        return (other for other in self._kinds[kind] if other.key == slot.key)


@lru_cache(maxsize=2_048)
def read(fact: str, *, dated_by_now: bool = False) -> Statement:
    """Return the statement of a fact; cached, since a conversation repeats its memories."""
    return Statement(fact, dated_by_now)


def same(new: Statement, old: Statement, cosine: float) -> str | None:
    """Return the text to keep for two equal facts, or if one extends the other; else None."""
    if not _dates_agree(new, old):
        return None
    if new.key == old.key or _continues(new.key, old.key):
        return new.fact
    restated = [pair for pair in _shared(new, old) if restates(*pair)]
    if _continues(old.key, new.key) or any(not besides(new.fact, mine) for mine, _ in restated):
        return old.fact
    if any(not besides(old.fact, other) for _, other in restated):
        return new.fact
    return new.fact if cosine >= SAME_COSINE and _words_agree(new.fact, old.fact) else None


def is_one_sentence(fact: str) -> bool:
    """Return True if a fact has no second sentence."""
    return re.search(r"[.!?]\s+\S", fact) is None


def _shared(new: Statement, old: Statement) -> Iterator[tuple[Slot, Slot]]:
    return ((mine, other) for mine in new.slots for other in old.filling(mine))


def _dates_agree(new: Statement, old: Statement) -> bool:
    """Return True if both mean one occasion; dates resolved against the clock are ignored."""
    return new.dated_by_now or not new.dates or not old.dates or new.dates == old.dates


def _continues(longer: str, shorter: str) -> bool:
    if not longer.startswith(shorter + " ") or len(shorter.split()) < 3:
        return False
    return longer[len(shorter) :].split(maxsplit=1)[0] in _MORE


def _words_agree(new: str, old: str) -> bool:
    if numbers(new) != numbers(old) or negated(new) != negated(old) or names(new) != names(old):
        return False
    first, second = content(new), content(old)
    return len(first & second) * 2 >= len(first | second) and resolved(new) == resolved(old)


def overruled(new: Statement, old: Statement, cosine: float) -> str | None:
    """Return the rest of the old fact if the new one contradicts it; None: it does not.

    Empty: no other content remains. Otherwise the old fact with only the contradicted part changed.
    """
    for mine, other in _shared(new, old):
        if rivals(mine, other) or _bare_preferences(mine, other, cosine):
            return _remainder(mine, old.fact, other)
    if new.affirmed != old.affirmed and denies(new.stance, _stance_beside(new, old)):
        return "" if _expendable(new, old) else without(old.fact, new.stance)
    turned = _turned(new, old, cosine) or _swapped(new, old)
    if turned or _switched(new, old) or _instead(new, old):
        return ""
    return None


def _stance_beside(new: Statement, old: Statement) -> Stance:
    tongue = new.stance.tongue
    return old.stance if old.stance.tongue == tongue else stance(old.fact, tongue)


def _remainder(mine: Slot, fact: str, other: Slot) -> str:
    """Return the old fact without its slot, or with the new value in its place."""
    rest = _without_part(fact, other, _SENTENCES)
    if rest or not besides(fact, other) or _SINCE.search(fact[other.end :]):
        return rest
    if mine.gone or other.gone:
        rest = _without_part(fact, other, _CLAUSES)
        subject = _SUBJECT.match(fact)
        return rest if not rest or not subject or _SUBJECT.match(rest) else subject[0] + rest
    return f"{fact[: other.begin]}{mine.raw}{fact[other.end :]}"


_SENTENCES = re.compile(r"(?<=[.!?])\s+")
_CLAUSES = any_case(r",?\s+(?:and|but|und|aber|y|pero|et|mais)\s+")
_SUBJECT = any_case(r"(?:I|we|ich|wir|yo|je)\s|(?:I|j)'")


def _without_part(fact: str, slot: Slot, cut: re.Pattern[str]) -> str:
    begin, kept = 0, []
    for part in cut.split(fact):
        begin = fact.index(part, begin)
        if not begin <= slot.begin < begin + len(part):
            kept.append(part)
        begin += len(part)
    return " ".join(kept)


def _bare_preferences(mine: Slot, other: Slot, cosine: float) -> bool:
    return (
        mine.key == other.key
        and mine.key[0] == "prefer"
        and mine.value != other.value
        and max(len(content(mine.raw)), len(content(other.raw))) <= 1
        and cosine >= BARE_COSINE
    )


def _expendable(new: Statement, old: Statement) -> bool:
    """Return True if the denied fact can be dropped: no list, second sentence or other name."""
    if without(old.fact, new.stance) or not is_one_sentence(old.fact):
        return False
    return not old.names - new.names


def _turned(new: Statement, old: Statement, cosine: float) -> bool:
    """Return True if the new text states a change and has the beginning of the old one."""
    return (
        cosine >= CHANGED_COSINE
        and new.tells_change
        and _beginning(new) == _beginning(old)
        and not old.names - new.names
        and new.affirmed == old.affirmed
        and not other_values(new.fact, old.fact, new.stance.tongue)
    )


def _swapped(new: Statement, old: Statement) -> bool:
    """Return True if only a name has changed: "I drive a Golf", "I drive a Tesla now"."""
    if not new.tells_change or not new.names or not old.names or new.names & old.names:
        return False
    kept = [word for word in old.key.split() if word not in old.names]
    changed = [word for word in _CHANGE.sub(" ", new.key).split() if word not in new.names]
    return len(kept) >= 2 and kept == changed and new.affirmed == old.affirmed


def _instead(new: Statement, old: Statement) -> bool:
    """Return True if the new text names the thing that it replaces, and the old one is about it."""
    if not new.given_up or not old.affirmed:
        return False
    if owners(new.fact) != owners(old.fact):
        return False
    if not new.affirmed and negated(INSTEAD.sub(" ", straight(new.fact))):
        return False
    about = old.content(new.stance.tongue)
    rest = new.content(new.stance.tongue) - new.given_up
    return new.given_up <= about and about - new.given_up <= rest | _WHERE


def corrected(new: Statement, old: Statement) -> bool:
    """Return True if the new text gives another time, day, sum or number for the same thing."""
    if not new.tells_correction or new.affirmed != old.affirmed:
        return False
    return corrects(new.fact, old.fact, new.stance.tongue)


_WHERE = frozenset(
    stem(word, tongue)
    for tongue, listed in (
        ("en", "work working live living study studying"),
        ("de", "arbeite arbeiten wohne wohnen lebe studiere"),
        ("es", "trabajo trabajar vivo vivir estudio"),
        ("fr", "travaille travailler habite vis etudie"),
    )
    for word in listed.split()
)
"""Activities at a place, which "I'm at the university now, not at the bank" omits."""


_LASTING = frozenset({"residence", "employer", "job", "marital", "diet"})


def is_plan(fact: str) -> bool:
    """Return True if an English fact is about the future: "I am moving to Porto next year"."""
    return _PLAN.search(straight(fact)) is not None


_PLAN = any_case(
    r"\b(?:will|won't|going to|plan(?:s|ning)? to|about to)\b|'ll\b"
    r"|(?:\b(?:am|is|are)|'(?:m|s|re)) (?:moving|relocating|starting|joining|leaving)\b"
    r"|(?:\b(?:am|is|are)|'(?:m|s|re)) \w{2,}ing\b.*\b(?:next|tomorrow|soon"
    r"|in (?:\d{4}|\w+ (?:days?|weeks?|months?|years?)|"
    + "|".join(calendar.month_name[1:])
    + r"))\b"
)
"""A future tense, or a present participle with a time ahead."""


def _beginning(statement: Statement) -> list[str]:
    return [word for word in statement.key.split() if word not in _ADVERBS][:2]


_ADVERBS = word_set("now actually currently just really jetzt inzwischen ahora maintenant")


def _switched(new: Statement, old: Statement) -> bool:
    """Return True if the new text names a thing given up, and the old one is about that alone."""
    left = new.left
    return bool(left) and left <= old.stance.about and len(old.stance.about - left) <= 2
