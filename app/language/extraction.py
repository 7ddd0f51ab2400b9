"""The built-in extraction engine, without a model: the facts that a conversation states.

Only the user's words are a source: not the model's, not the system's, and no context block inserted
into the prompt by a service. Facts keep the language and wording of their source. `merging`
consolidates them.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from typing import NamedTuple, TypeVar

from app.kernel.text import clean
from app.language.answers import answer, named
from app.language.dates import day_in, resolve
from app.language.facts import MANAGED_TOPICS, MAX_FACT, Candidate, Topic, Turn
from app.language.forgetting import is_request
from app.language.heads import SentenceOdds
from app.language.lexicon import language
from app.language.requests import RequestedFact, is_about_memory, points_back
from app.language.scoring import classify
from app.language.sentences import Sentence, own_words, sentences
from app.language.statements import (
    finished,
    follows_on,
    in_full,
    is_addressed,
    is_greeting,
    is_talk,
    statements,
)
from app.language.text import content, key, resolved
from app.language.third_person import third_person as in_third_person
from app.language.tongues import PHRASES, is_english
from app.language.unmeant import is_idiom, is_secret, only_asks_for_secrecy, takes_back_the_last

_MAX_JUDGED = 500
"""Maximum number of sentences that are judged in one generation."""
_BEFORE = 800
"""Maximum characters of the words before a sentence that the judge reads: their end."""
_KEEPS, _FORGETS, _SURELY_FORGETS = 0.6, 0.5, 0.75
"""Probabilities from which on a sentence without a rule's finding is kept, or is a request to
forget; the last is for a sentence in which a rule has found a fact."""
_LIKELY_STATES_NOTHING = 0.15
"""Probability below which a sentence is not kept although a rule has found a fact in it."""
_LEAST_CONTENT = 2
"""Content words of a sentence that is kept: "I have moved." says too little alone."""
USER_ROLES = frozenset({"", "user"})
"""Roles of the user; a turn without a role counts as the user's."""

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class _Settings:
    """The inputs of one extraction."""

    topics: tuple[Topic, ...]
    now: datetime
    time_zone: tzinfo | None
    third_person: bool
    tongue: str
    odds: "Mapping[_Place, SentenceOdds]" = field(default_factory=dict)


_Place = tuple[int, int]
"""Position of a turn, and the start of a sentence in it."""


class OpenSentence(NamedTuple):
    """A sentence to judge, and the words before it: its turn's or the assistant's."""

    place: _Place
    text: str
    before: str


def extract(
    turns: Sequence[Turn],
    *,
    now: datetime,
    topics: Sequence[Topic] = MANAGED_TOPICS,
    time_zone: tzinfo | None = UTC,
    third_person: bool = False,
    left_out: list[Candidate] | None = None,
) -> list[Candidate]:
    """Return the facts and the requests to forget, in the order of the conversation.

    Each has a `source`, found verbatim in the text of its turn. Relative dates are resolved against
    the time of their turn, else against `now`, in the time zone, or each in its own without one.
    Facts that cannot be put in the third person are added to `left_out`.
    """
    reading = Extraction(
        turns, now=now, topics=topics, time_zone=time_zone, third_person=third_person
    )
    candidates = whole(reading.steps())
    if left_out is not None:
        left_out += reading.left_out
    return candidates


def whole(steps: Generator[None, None, _Result]) -> _Result:
    """Run all steps at once; return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            result: _Result = ended.value
            return result


class Extraction:
    """An extraction in steps, to let other work run between them."""

    def __init__(
        self,
        turns: Sequence[Turn],
        *,
        now: datetime,
        topics: Sequence[Topic] = MANAGED_TOPICS,
        time_zone: tzinfo | None = UTC,
        third_person: bool = False,
    ) -> None:
        """Accept the arguments of `extract`."""
        self.left_out: list[Candidate] = []
        self._turns = turns
        self._theirs = [
            (n, turn) for n, turn in enumerate(turns) if turn.role.strip().lower() in USER_ROLES
        ]
        tongue = _main_language(turn for _, turn in self._theirs)
        self._settings = _Settings(tuple(topics), now, time_zone, third_person, tongue)
        self._found: list[Candidate] = []

    def open_sentences(self) -> list[OpenSentence]:
        """Return the user's English sentences that a learned judge may read, the newest ones."""
        found: list[OpenSentence] = []
        for n, turn in self._theirs:
            own, before = own_words(turn.text), self._turns[n - 1].text if n else ""
            tongue = language(own, self._settings.tongue or "en")
            for sentence in sentences(own):
                text = clean(sentence.text)
                is_read = not sentence.quoted and len(text) <= MAX_FACT and not is_greeting(text)
                if is_read and is_english(text, tongue):
                    found.append(OpenSentence((n, sentence.start), text, before[-_BEFORE:]))
                before = text
        return found[-_MAX_JUDGED:]

    def judged(self, odds: Mapping[_Place, SentenceOdds]) -> None:
        """Accept what a learned judge found of `open_sentences`; it counts beside the rules."""
        self._settings = replace(self._settings, odds=odds)

    def steps(self) -> Generator[None, None, list[Candidate]]:
        """Read all turns, with a step for each sentence; return the result of `extract`."""
        kept = [_KeptLines()]
        for n, turn in self._theirs:
            kept.append(_KeptLines())
            question = _question_before(self._turns, n)
            yield from _read_turn(_UserTurn(turn, n, question), kept[-1], kept[-2], self._settings)
        for lines in kept:
            yield from self._understand(lines)
        return _without_repeats(self._found)

    def _understand(self, lines: Sequence["_Line"]) -> Iterator[None]:
        last: Candidate | None = None
        before: Sentence | None = None
        told: Sentence | None = None
        for line in lines:
            yield
            if last and before and _belongs_to(last, line, before.end):
                self._found[-1] = _extended(last, before.start, line)
                last = None
                continue
            stated, left_out = line.stated
            is_asked = any(one.forget for one in stated)
            if is_asked and told and points_back(line.sentence.text):
                around = f"{told.text} {line.sentence.text}"
                stated = [replace(one, context=around) for one in stated]
            self._found += stated
            self.left_out += left_out
            before, last = line.sentence, stated[-1] if stated else None
            if not is_asked:
                told = before if len(before.text) <= MAX_FACT else None


def direct(facts: Sequence[tuple[str, Sequence[Topic]]]) -> list[Candidate]:
    """Return candidates for facts given directly, with their topics."""
    return [
        Candidate(clean(fact).strip(), tuple(topics), turn=position)
        for position, (fact, topics) in enumerate(facts)
    ]


def _main_language(turns: Iterable[Turn]) -> str:
    """Return the language of most turns, for sentences that do not reveal their language."""
    counts = Counter(filter(None, (language(turn.text) for turn in turns)))
    return counts.most_common(1)[0][0] if counts else ""


def _question_before(turns: Sequence[Turn], position: int) -> str:
    before = turns[position - 1] if position else None
    return before.text if before and before.role.strip().lower() in _ASSISTANTS else ""


_ASSISTANTS = frozenset({"model", "assistant"})


@dataclass(frozen=True)
class _UserTurn:
    """A user's turn, its position, and the assistant's message right before it."""

    turn: Turn
    position: int
    question: str

    @cached_property
    def gives_orders(self) -> bool:
        """True if the turn gives the service orders about its rules."""
        return is_addressed(self.turn.text)


class _Stated(NamedTuple):
    """The candidates of a sentence, and the candidates that cannot be put in the third person."""

    candidates: list[Candidate]
    left_out: list[Candidate]


@dataclass(frozen=True)
class _Line:
    """A sentence of a turn, with the context needed to understand it.

    Attributes:
        begins: True if it may introduce its speaker.
        question: the assistant's message immediately before it.
        greeted: True if the conversation's opening greeting precedes it.
        unsays: True if it takes back a statement that is not in these turns.
        is_secret: True if it asks to forget something, and not to store its own words either.
    """

    sentence: Sentence
    begins: bool
    question: str
    tongue: str
    user_turn: _UserTurn
    settings: _Settings
    greeted: bool = False
    unsays: bool = False
    is_secret: bool = False

    @property
    def turn(self) -> Turn:
        return self.user_turn.turn

    @property
    def position(self) -> int:
        return self.user_turn.position

    @property
    def source(self) -> str:
        return self.turn.text[self.sentence.start : self.sentence.end]

    @property
    def odds(self) -> SentenceOdds | None:
        """Odds by the learned judge; None if it was not asked."""
        return self.settings.odds.get((self.position, self.sentence.start))

    @cached_property
    def stated(self) -> _Stated:
        """The candidates stated by this sentence alone."""
        left_out: list[Candidate] = []
        return _Stated(list(_from_line(self, left_out)), left_out)


class _KeptLines(list[_Line]):
    """The sentences of a turn that may be kept."""

    _silent = 0
    """The number of leading sentences known to state no fact."""

    def take_back(self) -> bool:
        """Drop the last sentence that states a fact; return True if there is one."""
        for at in reversed(range(self._silent, len(self))):
            if self[at].stated.candidates:
                del self[at:]
                return True
        # Not examined again: a text may take back sentences many times.
        self._silent = len(self)
        return False

    def drop_last(self) -> None:
        """Drop the last sentence, if there is one, but no request to forget."""
        for at in reversed(range(len(self))):
            if not self[at].is_secret:
                del self[at]
                self._silent = min(self._silent, at)
                return

    def keep_secret(self, line: _Line) -> bool:
        """Obey a request for secrecy; return True if it concerns the next sentence."""
        text = line.sentence.text
        if not only_asks_for_secrecy(text):
            # What it says may be about a memory.
            is_sure = line.odds is not None and line.odds.forget >= _SURELY_FORGETS
            if is_sure and is_about_memory(text):
                self.append(replace(line, is_secret=True))
            return False
        if not self or text.endswith(":"):
            return True
        self.drop_last()
        return False


def _read_turn(
    user_turn: _UserTurn, lines: _KeptLines, before: _KeptLines, settings: _Settings
) -> Iterator[None]:
    """Add the sentences that may be kept, without sentences that the user asks to keep secret.

    A sentence may take back a sentence of the turn `before`, which is then removed.
    """
    own, question = own_words(user_turn.turn.text), user_turn.question
    tongue = language(own, language(question, settings.tongue) if question else settings.tongue)
    begins, greeted, hidden = user_turn.position <= 1, False, False
    for sentence in sentences(own):
        yield
        line = _Line(sentence, begins, question, tongue, user_turn, settings, greeted=greeted)
        if takes_back_the_last(sentence.text):
            if not lines.take_back() and not is_idiom(sentence.text) and not before.take_back():
                lines.append(replace(line, unsays=True))
        elif len(sentence.text) <= MAX_FACT and is_secret(sentence.text):
            hidden = lines.keep_secret(line)
        elif hidden:
            hidden = False
        else:
            lines.append(line)
        begins = is_greeting(sentence.text)
        greeted = begins and user_turn.position <= 1
        question = ""


def _belongs_to(last: Candidate, line: _Line, end: int) -> bool:
    sentence, odds = line.sentence, line.odds
    is_near = 0 <= sentence.start - end <= 2 and not sentence.quoted
    asks = last.forget or (odds is not None and odds.forget >= _FORGETS)
    return is_near and not asks and follows_on(sentence.text, line.tongue)


def _extended(last: Candidate, begin: int, line: _Line) -> Candidate:
    turn, sentence = line.turn, line.sentence
    added, by_now = _dated(finished(clean(sentence.text)), turn, line.settings)
    return replace(
        last,
        fact=f"{last.fact} {added}",
        source=turn.text[begin : sentence.end],
        dated_by_now=last.dated_by_now or by_now,
    )


def _from_line(line: _Line, left_out: list[Candidate]) -> Iterator[Candidate]:
    if line.sentence.quoted or len(line.source) > MAX_FACT:
        return
    if line.unsays or line.is_secret:
        asked = clean(line.sentence.text).strip(" .!")
        asking = Candidate(asked, (), line.source, line.position, forget=True)
        yield replace(asking, is_secret=line.is_secret)
        return
    for said, tongue in _as_judged(line, list(_statements(line))):
        if said.forget:
            if is_request(said.text):
                yield Candidate(said.text, (), line.source, line.position, forget=True)
            continue
        if said.explicit and line.user_turn.gives_orders:
            continue
        candidate = _candidate(said, line, tongue, left_out)
        if candidate is not None:
            yield candidate


def _as_judged(
    line: _Line, found: list[tuple[RequestedFact, str]]
) -> list[tuple[RequestedFact, str]]:
    """Return the statements of the rules; without any, what the learned judge makes of it."""
    odds = line.odds
    if odds is None or line.user_turn.gives_orders or any(said.forget for said, _ in found):
        return found
    text = clean(line.sentence.text)
    if odds.forget >= (_SURELY_FORGETS if found else _FORGETS):
        return [(RequestedFact(text.strip(" .!"), forget=True), "en")]
    if odds.keep < _LIKELY_STATES_NOTHING:
        return [one for one in found if one[0].explicit]
    if found or odds.keep < _KEEPS or is_talk(text, "en"):
        return found
    has_content = len(content(text, "en")) >= _LEAST_CONTENT
    return [(RequestedFact(finished(text)), "en")] if has_content else []


def _statements(line: _Line) -> Iterator[tuple[RequestedFact, str]]:
    text = clean(line.sentence.text)
    asked_in = language(line.question, line.tongue)
    # Each language is tried: the language of a short question may be misdetected.
    for tongue in dict.fromkeys((asked_in, *PHRASES)) if line.question else ():
        if fact := answer(text, line.question, tongue):
            yield RequestedFact(fact), tongue
            return
    tongue = language(text, line.tongue)
    alone = in_full(named(text, line.question, tongue), line.question, tongue)
    for said in statements(alone, tongue, begins=line.begins, greeted=line.greeted):
        yield said, tongue


def _candidate(
    said: RequestedFact, line: _Line, tongue: str, left_out: list[Candidate]
) -> Candidate | None:
    settings = line.settings
    topics = classify(said.text, settings.topics, tongue=tongue, explicit=said.explicit)
    if not topics:
        return None
    text = said.text
    if settings.third_person and tongue == "en":
        text = in_third_person(text)
        if not text:
            left_out.append(Candidate(said.text, topics, line.source, line.position))
            return None
    fact, by_now = _dated(text, line.turn, settings, tongue)
    return Candidate(fact, topics, line.source, line.position, dated_by_now=by_now)


def _dated(text: str, turn: Turn, settings: _Settings, tongue: str = "") -> tuple[str, bool]:
    """Return the text with its dates, and True if they were resolved against the clock."""
    said_on = day_in(settings.time_zone, turn.time or settings.now)
    dated = resolve(text, said_on, tongue or language(text, settings.tongue))
    return dated, dated != text and turn.time is None


def _without_repeats(candidates: Sequence[Candidate]) -> list[Candidate]:
    kept: dict[tuple[str, frozenset[str], bool], Candidate] = {}
    for candidate in candidates:
        dates = frozenset[str]() if candidate.dated_by_now else resolved(candidate.fact)
        mark = (key(candidate.fact), dates, candidate.forget)
        kept.pop(mark, None)
        kept[mark] = candidate
    return list(kept.values())
