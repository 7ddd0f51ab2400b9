"""Check of a model's reply: sound facts and doubtful ones become candidates, others are dropped.

Pure. A check that drops a fact is exact and the same in every language. A fact that only looks
wrong is marked doubtful. The model must confirm it in the second call.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from app.kernel.text import clean, fold
from app.language.answers import stands_for_another
from app.language.dates import resolve
from app.language.facts import Candidate, Topic
from app.language.lexicon import language, latin
from app.language.text import content
from app.language.topics import classify
from app.memory.generation.logic.additions import is_user
from app.memory.generation.logic.doubts import is_doubtful, is_marked
from app.memory.generation.logic.outcomes import Dropped, DropReason, RefusalReason
from app.memory.generation.logic.prompts import Guide
from app.memory.generation.logic.replies import ExtractedFact
from app.memory.generation.logic.sources import Sources
from app.memory.generation.logic.specifics import Origin, foreign, foreign_names, may_be_a_noun
from app.platform.engines.logic.topics import MAX_FACT_CHARS

_PAIR = 2
"""Number of characters that count as a word in scripts without blanks."""


@dataclass
class Checked:
    """The candidates, and the facts that were dropped."""

    candidates: list[Candidate] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)


def checked(
    facts: Iterable[ExtractedFact], sources: Sources, guide: Guide, most_chars: int = MAX_FACT_CHARS
) -> Checked:
    """Return the facts that rest on a user's words and belong to the requested topics."""
    outcome = Checked()
    check = _Check(sources, guide, most_chars)
    for fact in facts:
        result = check.fact(fact)
        if isinstance(result, Candidate):
            outcome.candidates.append(result)
        else:
            outcome.dropped.append(result)
    return outcome


@dataclass(frozen=True)
class _Check:
    sources: Sources
    guide: Guide
    most_chars: int

    def fact(self, said: ExtractedFact) -> Candidate | Dropped:
        fact = clean(said.fact).strip()
        found = self.sources.find(said.quote, said.line)
        fault = "NO_QUOTE" if found is None else self._fault(fact, found.turn)
        if found is None or fault is not None:
            return Dropped(fact[: self.most_chars], said.quote, fault or "NO_QUOTE")
        turn, quote = found.turn, found.words
        candidate = Candidate(
            fact, (), quote, turn, forget=said.forget, said_on=self.sources.day(turn)
        )
        candidate = replace(
            candidate,
            context=self.sources.around(fact, quote, turn),
            doubtful=found.is_near,
        )
        if said.forget:
            line, sentence = self.sources.said.get(turn, ""), self.sources.sentence(quote, turn)
            return replace(candidate, doubtful=found.is_near or is_marked(line, sentence))
        topics = _topics(said.topics, self._by_label, fact, self.guide.topics)
        if not topics:
            return Dropped(fact, quote, "OFF_TOPIC")
        candidate = replace(candidate, topics=topics)
        return candidate if turn in self.sources.files else self._verify(candidate)

    def _fault(self, fact: str, turn: int) -> DropReason | None:
        """Return the reason to drop a fact without further checks, or None."""
        if turn in self.sources.context:
            return "ALREADY_READ"
        return None if 0 < len(fact) <= self.most_chars else "BAD_LENGTH"

    def _verify(self, candidate: Candidate) -> Candidate | Dropped:
        """Check the details of a fact, then look for signs of doubt."""
        turn, quote, sources = candidate.turn, candidate.source, self.sources
        details = list(foreign(candidate.fact, sources.origin(turn)))
        if details and not details[0].may_follow:
            reason: DropReason = (
                "FOREIGN_DATE" if details[0].reason == "FOREIGN_DATE" else "FOREIGN_NUMBER"
            )
            return Dropped(candidate.fact, quote, reason, details[0].detail)
        sentence, asked = sources.sentence(quote, turn), sources.answers(quote, turn)
        doubtful = (
            candidate.doubtful
            or self._has_foreign_details(candidate, asked)
            or is_doubtful(candidate.fact, quote, sources.said[turn], sentence, sources.words)
        )
        return replace(
            candidate,
            fact=resolve(candidate.fact, sources.day(turn), language(candidate.fact)),
            doubtful=doubtful,
            question=asked,
        )

    def _has_foreign_details(self, candidate: Candidate, asked: str) -> bool:
        """Return True if a detail is not the user's, or a name does not occur in the context."""
        fact, own = candidate.fact, self.sources.own(candidate.turn)
        details = [one.detail for one in foreign(fact, own)]
        if not stands_for_another(candidate.source):
            around = ((candidate.context, own.said_on), (asked, own.said_on))
            details += foreign_names(fact, Origin(around, own.said_on))
        return any(not is_user(one) and not may_be_a_noun(one, fact) for one in details)

    @cached_property
    def _by_label(self) -> Mapping[str, Topic]:
        return {topic.label.casefold(): topic for topic in self.guide.topics}


def _topics(
    labels: Sequence[str], by_label: Mapping[str, Topic], fact: str, wanted: Sequence[Topic]
) -> tuple[Topic, ...]:
    """Return the wanted topics that the model names, or else the ones that match the fact."""
    matches = (by_label.get(label.casefold()) for label in labels)
    named = tuple(dict.fromkeys(topic for topic in matches if topic is not None))
    return named or classify(fact, wanted, tongue=language(fact), explicit=False)


def refusal(
    text: str, origin: Origin, shown: Origin, sources: Sequence[str]
) -> RefusalReason | None:
    """Return the reason to refuse the sentence of a decision, or None if it may be written.

    Args:
        text: the new sentence of a memory.
        origin: the fact, its lines and the memories that the decision names.
        shown: everything in the model's prompt, for the check of names.
        sources: the fact and the memory; the text must share a word with one of them.
    """
    if not 0 < len(text) <= MAX_FACT_CHARS:
        return "BAD_LENGTH"
    for unsourced in foreign(text, origin):
        if not unsourced.may_follow:
            return "FOREIGN_DATE" if unsourced.reason == "FOREIGN_DATE" else "FOREIGN_NUMBER"
        is_name = unsourced.reason == "FOREIGN_NAME" and not may_be_a_noun(unsourced.detail, text)
        if is_name and not shown.has(unsourced.detail):
            return "FOREIGN_NAME"
    return None if any(_are_related(text, source) for source in sources) else "UNRELATED_TEXT"


def _are_related(text: str, other: str) -> bool:
    if not latin(other):
        signs, more = fold(text).replace(" ", ""), fold(other).replace(" ", "")
        return any(more[n : n + _PAIR] in signs for n in range(max(len(more) - 1, 1)))
    tongue = language(other, "en")
    return not content(text, tongue).isdisjoint(content(other, tongue))
