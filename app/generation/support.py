"""Whether a fact can come from what users said (pure).

A model resolves "she" and "tomorrow", turns "I" into "the user" and leaves words out. It does not
get to bring in names, numbers or things, nor to turn a denial round.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache

from app.generation.chunks import Line
from app.rules.answers import answered, last_question, without_answer
from app.rules.clauses import affirmed, clauses
from app.rules.dates import resolve
from app.rules.figures import figures, readings_of
from app.rules.lexicon import LEXICONS, NEGATIONS, language, latin, word_set
from app.rules.persons import is_as_sure, is_of_the_same
from app.rules.profile_words import MONTHS
from app.rules.relations import overruled, read
from app.rules.reported import without_reports
from app.rules.sentences import sentences
from app.rules.text import contractions_in_full, fold, numbers, stem, words
from app.rules.wording import MINE, SELF, alike, meanings, proper, sequence

_POINTS = re.compile(
    r"\b(?:he|she|it|its|they|him|her|his|hers|them|their|there|this|that|those|these|we|us|both"
    r"|er|sie|ihn|ihm|ihr\w*|sein\w*|dort|dorthin|wir|es|il|elle|ils|elles|lui|leur|là|y|ça|cela"
    r"|son|sa|ses|nous)\b",
    re.IGNORECASE,
)
"""Words that stand for something that was said before."""
_POINTED_OUT = frozenset({"en", "de", "fr"})
"""Languages that say "he" or "she"; the others leave it to the verb, or to who listens."""
_ELLIPTIC = 4
"""Words of a sentence that is short because of what was said before it."""
_DAYS = word_set("""
    monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag
    freitag samstag sonntag lunes martes miercoles jueves viernes sabado domingo lundi mardi
    mercredi jeudi vendredi samedi dimanche
    """)
_USER = word_set("user users nutzer benutzer nutzerin usuario usuaria utilisateur utilisatrice")
_STILL = word_set(
    "longer anymore any more still now currently mehr noch jetzt plus encore ya ahora"
)
_AS_JOB = re.compile(
    r"\b(?:works? as|arbeitet? als|trabaj[oa] (?:como|de)|travaille comme)\b", re.IGNORECASE
)
"""Who says "I am a nurse" says this."""
_DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2})?")
_TIME = re.compile(r"\b\d{1,2}:\d{2}(?::\d{2})?\b|\b\d{1,2} ?(?:am|pm|Uhr|h)\b", re.IGNORECASE)
_PLAIN = str.maketrans("()", "  ")
_NUMERALS = dict(zip("一二两三四五六七八九十", (1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10), strict=True))
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NO_WORDS_APART = re.compile(r"[\s\d\W_]+|用户|自己|现在|名字|[我你的了也是叫和很都私はがをもに]")


@dataclass(frozen=True)
class Support:
    """What was said, in one turn and around it.

    Attributes:
        lines: all that was said; only what users said supports a fact.
        turn: that of the quote.
        said_on: its day, from which "tomorrow" counts.
    """

    lines: Sequence[Line]
    turn: int
    quote: str
    said_on: date

    def bears(self, fact: str) -> bool:
        """Tell whether the fact can come from the sentences of the quote."""
        # What others say of the user is a fact about them as well, told as theirs.
        is_report = without_reports(fact, told=False) != fact
        own = self._around if is_report else without_reports(self._around, told=False)
        return self._supports(own, fact, self._elsewhere(own)) or self._answers(fact)

    @cached_property
    def _spoken(self) -> str:
        return " ".join(one.text for one in self.lines if one.is_users and one.turn == self.turn)

    @cached_property
    def _around(self) -> str:
        """The sentences that the quote is in."""
        wanted = fold(self.quote)
        found = [one.text for one in sentences(self._spoken)]
        near = [one for one in found if wanted in fold(one) or fold(one) in wanted]
        return " ".join(near) or self._spoken

    def _elsewhere(self, own: str) -> str:
        """Return what users said in other places, where the sentence may point to it."""
        tongue = language(own)
        points = tongue not in _POINTED_OUT or _POINTS.search(own) is not None
        if not points and not _is_elliptic(own):
            return ""
        return " . ".join(one.text for one in self.lines if one.is_users)

    def _answers(self, fact: str) -> bool:
        """Tell whether the fact is what a short answer to a question comes to."""
        question = self._question()
        if not question:
            return False
        yes, rest = answered(self._around), without_answer(self._around)
        asked = _as_statement(question)
        if yes is None:
            # "Rex." to "What is your dog's name?"; a sentence of its own is no such answer.
            tongue = language(fact, "en")
            told = _needed(rest, tongue)
            has = all(_is_among(word, meanings(fact, tongue)) for word in told)
            return bool(_is_elliptic(rest) and told and has) and self._supports(
                f"{rest} {asked}", fact, ""
            )
        if affirmed(fact) is not (yes is affirmed(asked) if yes else False):
            return False
        return self._supports(f"{asked} {rest}", fact, "", any_stance=True)

    def _question(self) -> str:
        """Return what the model asked last before the turn."""
        before = [one for one in self.lines if one.turn < self.turn]
        last = [one.text for one in before if one.turn == before[-1].turn and not one.is_users]
        return last_question(" ".join(last))

    def _supports(self, own: str, fact: str, elsewhere: str, *, any_stance: bool = False) -> bool:
        if not own.strip():
            return False
        told = _Told(own, elsewhere, self.said_on)
        return (
            told.has_names(fact)
            and told.has_numbers(fact)
            and told.has_words(fact)
            and (any_stance or told.stands_as(fact))
        )


@dataclass(frozen=True)
class _Told:
    """Sentences to look a fact up in, and what they may point to."""

    own: str
    elsewhere: str
    said_on: date

    @cached_property
    def _all(self) -> str:
        return f"{self.own} . {self.elsewhere}"

    def has_names(self, fact: str) -> bool:
        """Tell whether all names of a fact were said, also one that it begins with."""
        tongue = language(fact, "en")
        named = proper(fact) | _first_name(fact, tongue)
        idle = _DAYS | _USER | (MONTHS.keys() if _NUMBER.search(fact) else frozenset())
        return all(
            word in idle
            or _is_spelt(word, self.own, tongue)
            or _is_spelt(word, self.elsewhere, tongue)
            for name in named
            for word in words(name, tongue)
        )

    def has_numbers(self, fact: str) -> bool:
        """Tell whether all numbers of a fact were said, in digits or words; or its dates were."""
        own, elsewhere = _dated(self.own, self.said_on), _dated(self.elsewhere, self.said_on)
        dated, said = f"{own[0]} {elsewhere[0]}", own[1] | elsewhere[1]
        rest = fact
        for day in _DATE.findall(fact):
            if not self._has_day(day, dated, said):
                return False
            rest = rest.replace(day, " ")
        if not _TIME.search(self._all):
            rest = _TIME.sub(" ", rest)
        return all(readings_of(one) & said for one in _NUMBER.findall(rest))

    def _has_day(self, day: str, dated: str, said: frozenset[float]) -> bool:
        """Tell whether a date was named, or is what "tomorrow" means."""
        if day in dated or day == self.said_on.isoformat():
            return True
        year, month, *rest = map(float, day.split("-"))
        named = month in said or any(MONTHS.get(one) == month for one in fold(dated).split())
        is_near = year in said or abs(year - self.said_on.year) <= 1
        return named and is_near and all(one in said for one in rest)

    def has_words(self, fact: str) -> bool:
        """Tell whether most words of a fact were said, and half of each of its parts."""
        if not latin(fact):
            return self._has_signs(fact)
        tongue = language(fact, language(self.own, "en"))
        own = _meant(self.own, tongue)
        said = own | _meant(self.elsewhere, tongue)
        wanted = _needed(fact, tongue)
        hits = [_is_among(word, said) for word in wanted]
        here = any(_is_among(word, own) for word in wanted)
        if not wanted:
            return True
        return (
            here
            and 2 * sum(hits) > len(hits)
            and all(
                2 * sum(_is_among(word, said) for word in part) >= len(part)
                for part in (_needed(one, tongue) for one in _members(fact))
            )
        )

    def _has_signs(self, fact: str) -> bool:
        """Tell the same of a text that parts no words, by pairs of signs."""
        said = fold(self._all).replace(" ", "")
        found = [[pair in said for pair in pairs] for pairs in _pairs(fact)]
        hits = [has for part in found for has in part]
        return 2 * sum(hits) > len(hits) and all(any(part) for part in found) if hits else True

    def stands_as(self, fact: str) -> bool:
        """Tell whether a fact affirms what the words affirm, and denies what they deny."""
        return all(self._stands(part) for part in clauses(fact))

    def _stands(self, part: str) -> bool:
        """Tell whether one of the clauses that have most of a part of a fact says that part."""
        tongue = language(part, language(self.own, "en"))
        wanted = _needed(part, tongue)
        rated = [(_overlap(one, wanted, part, tongue), one) for one in clauses(self.own)]
        best = max((hits for hits, _ in rated), default=0)
        nearest = [one for hits, one in rated if hits == best]
        return not nearest or any(_says(one.strip(), part.strip(), tongue) for one in nearest)


def _says(clause: str, part: str, tongue: str) -> bool:
    # Of numbers it is told whether they were said: a date may be spelt in another way.
    overrules = not numbers(part) and overruled(read(clause), read(part), 0.0) is not None
    return (
        affirmed(part) is affirmed(clause)
        and not overrules
        and is_as_sure(part, clause)
        and is_of_the_same(part, clause)
        and _has_most(clause, part, tongue)
    )


def _has_most(clause: str, part: str, tongue: str) -> bool:
    """Tell whether a clause has most of what is said of somebody; unless it only points to it."""
    named = {stem(word, tongue) for name in proper(part) for word in words(name, tongue)}
    wanted = [word for word in _needed(part, tongue) if word not in named]
    if sequence(part, tongue)[:1] == (MINE,):
        wanted = wanted[1:]
    hits = _overlap(clause, wanted, part, tongue)
    most = not latin(part) or 2 * hits > len(wanted) or not wanted
    return most or _POINTS.search(clause) is not None or _is_elliptic(clause)


def _overlap(clause: str, wanted: Sequence[str], part: str, tongue: str) -> int:
    """Return how much of a part of a fact a clause has."""
    if latin(part):
        said = meanings(clause, tongue)
        return sum(_is_among(word, said) for word in wanted)
    plain = fold(clause)
    return sum(pair in plain for pairs in _pairs(part) for pair in pairs)


def _pairs(text: str) -> list[list[str]]:
    """Return the pairs of signs of a text that parts no words, by what stands together."""
    parts = [part for part in _NO_WORDS_APART.split(fold(text)) if part]
    return [[one[n : n + 2] for n in range(max(len(one) - 1, 1))] for one in parts]


def _is_elliptic(text: str) -> bool:
    """Tell whether a sentence is too short to be understood alone, as "Rex is three." is."""
    return len(text.split()) <= _ELLIPTIC and SELF not in sequence(text, language(text, "en"))


def _members(fact: str) -> list[str]:
    """Return the parts of a fact that are joined: a list has one for each of its members."""
    return [one for one in _JOINED.split(fact) if one.strip()]


_JOINED = re.compile(
    r"[,;:.!?]\s+|\s(?:and|or|but|und|oder|aber|y|o|pero|et|ou|mais)\s", re.IGNORECASE
)


def _needed(text: str, tongue: str) -> tuple[str, ...]:
    """Return the words that must have been said; not those for days, nor numbers."""
    lexicon = LEXICONS.get(tongue)
    idle = (lexicon.stops if lexicon else frozenset()) | _USER | _DAYS | _STILL
    kept = [
        word
        for word in words(_AS_JOB.sub(" ", contractions_in_full(text)), tongue)
        if word not in idle
        and word not in MONTHS
        and not word[0].isdigit()
        and not NEGATIONS.fullmatch(word)
    ]
    return meanings(" ".join(kept), tongue)


def _is_among(word: str, said: Collection[str]) -> bool:
    return word in said or any(alike(word, other) for other in said)


def _is_spelt(word: str, text: str, tongue: str) -> bool:
    said = _spelt(text, tongue)
    return bool({word, stem(word, tongue), word.removesuffix("s")} & said)


@lru_cache(maxsize=64)
def _spelt(text: str, tongue: str) -> frozenset[str]:
    """Return the words of a text, and their stems; what users said is asked for every fact."""
    found = frozenset(words(text, tongue))
    return found | frozenset(stem(word, tongue) for word in found)


@lru_cache(maxsize=64)
def _meant(text: str, tongue: str) -> frozenset[str]:
    return frozenset(meanings(text, tongue))


@lru_cache(maxsize=64)
def _dated(text: str, said_on: date) -> tuple[str, frozenset[float]]:
    """Return a text with the days that "tomorrow" and the like mean, and all its numbers."""
    tongue = language(text, "en")
    dated = resolve(text, said_on, tongue).translate(_PLAIN)
    numerals = {float(_NUMERALS[one]) for one in dated if one in _NUMERALS}
    return dated, figures(dated, tongue) | numerals


def _first_name(fact: str, tongue: str) -> frozenset[str]:
    """Return the first word where it may be a name: it has a capital in any case."""
    first = next(iter(words(fact, tongue)), "")
    known = any(first in one.stops | one.markers for one in LEXICONS.values())
    said = meanings(first, tongue)
    is_kind = bool(said) and said[0].startswith("+")
    return frozenset() if known or is_kind or not latin(fact) else frozenset({first} - {""})


def _as_statement(question: str) -> str:
    return question.rstrip("?\uff1f\u061f ")
