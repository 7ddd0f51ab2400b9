"""The built-in extraction engine, without a model: the facts that a conversation states.

Use it together with `merging` for consolidation and `plan` for the changes:

    candidates = extraction.extract(turns, topics=topics, now=clock.now(), time_zone=UTC)
    neighbours = ...  # one row of shown memories per candidate, see `merging.consolidate`
    found = merging.consolidate(candidates, neighbours, max_deletes=5, max_forgets=20)
    changes = plan.plan(candidates, neighbours, found.verdicts, max_deletes=25).changes

Only the user's words are a source: not the model's, not the system's, not a block of context that
a service put into the prompt. Facts keep the language and wording of their source.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo

from app.kernel.text import clean
from app.language.dates import day_in, resolve
from app.language.ellipses import in_full
from app.language.facts import MANAGED_TOPICS, Candidate, Topic, Turn
from app.language.forgetting import is_request
from app.language.introductions import answer, named
from app.language.lexicon import language
from app.language.requests import RequestedFact
from app.language.sentences import Sentence, own_words, sentences
from app.language.statements import finished, follows_on, is_addressed, is_greeting, statements
from app.language.text import key, resolved
from app.language.third_person import third_person as in_third_person
from app.language.tongues import PHRASES
from app.language.topics import classify
from app.language.unmeant import is_idiom, is_secret, only_asks_for_secrecy, takes_back_the_last

USER_ROLES = frozenset({"", "user"})
"""Roles of the user; a turn without a role is the user's."""
MAX_FACT = 2_000
"""Characters of one fact; a longer sentence without an end is pasted text, not a statement."""


@dataclass(frozen=True)
class _Settings:
    """The inputs of one extraction."""

    topics: tuple[Topic, ...]
    now: datetime
    time_zone: tzinfo | None
    third_person: bool
    tongue: str
    left_out: list[Candidate]


def extract(
    turns: Sequence[Turn],
    *,
    now: datetime,
    topics: Sequence[Topic] = MANAGED_TOPICS,
    time_zone: tzinfo | None = UTC,
    third_person: bool = False,
    left_out: list[Candidate] | None = None,
) -> list[Candidate]:
    """Return the facts and the requests to forget, in the order in which they were said.

    Each rests on its `source`, found verbatim in the text of its turn. Relative dates are resolved
    against the time of their turn, else against `now`, in the time zone; without one, in that of
    each time. Facts that cannot be put in the third person are added to `left_out`.
    """
    theirs = [(n, turn) for n, turn in enumerate(turns) if turn.role.strip().lower() in USER_ROLES]
    settings = _Settings(
        tuple(topics),
        now,
        time_zone,
        third_person,
        _main_language(turn for _, turn in theirs),
        [] if left_out is None else left_out,
    )
    spoken: list[list[_Line]] = [[]]
    for n, turn in theirs:
        spoken.append(_lines(n, turn, _question_before(turns, n), spoken[-1], settings))
    return _without_repeats(
        [candidate for lines in spoken for candidate in _from_turn(lines, settings)]
    )


def direct(facts: Sequence[tuple[str, Sequence[Topic]]]) -> list[Candidate]:
    """Return facts that were given directly, with their topics."""
    return [
        Candidate(clean(fact).strip(), tuple(topics), turn=position)
        for position, (fact, topics) in enumerate(facts)
    ]


def _main_language(turns: Iterable[Turn]) -> str:
    """Return the language of most turns, for sentences that do not reveal theirs."""
    counts = Counter(filter(None, (language(turn.text) for turn in turns)))
    return counts.most_common(1)[0][0] if counts else ""


def _question_before(turns: Sequence[Turn], position: int) -> str:
    """Return the assistant's message right before a turn."""
    before = turns[position - 1] if position else None
    return before.text if before and before.role.strip().lower() in _ASSISTANTS else ""


_ASSISTANTS = frozenset({"model", "assistant"})


@dataclass(frozen=True)
class _Line:
    """A sentence of a turn, with the context needed to understand it.

    Attributes:
        begins: True if it may introduce its speaker.
        question: the assistant's message right before it.
        greeted: True if the conversation's opening greeting precedes it.
        unsays: True if it takes back a statement that is not in these turns.
    """

    sentence: Sentence
    begins: bool
    question: str
    tongue: str
    turn: Turn
    position: int
    greeted: bool = False
    unsays: bool = False

    @property
    def source(self) -> str:
        begin = self.sentence.start
        return self.turn.text[begin : begin + len(self.sentence.text)]


def _lines(
    position: int, turn: Turn, question: str, before: list[_Line], settings: _Settings
) -> list[_Line]:
    """Return the sentences that may be kept, without those that the user asks to keep secret.

    A sentence may take back one of the turn `before`, which then loses it.
    """
    lines: list[_Line] = []
    own = own_words(turn.text)
    tongue = language(own, language(question, settings.tongue) if question else settings.tongue)
    begins, greeted, hidden = position <= 1, False, False
    for sentence in sentences(own):
        line = _Line(sentence, begins, question, tongue, turn, position, greeted=greeted)
        if takes_back_the_last(sentence.text):
            if not _took_back(lines, settings) and not is_idiom(sentence.text):
                lines += [] if _took_back(before, settings) else [replace(line, unsays=True)]
        elif is_secret(sentence.text):
            if only_asks_for_secrecy(sentence.text):
                hidden = not lines or sentence.text.endswith(":")
                lines = lines if hidden else lines[:-1]
        elif hidden:
            hidden = False
        else:
            lines.append(line)
        begins = is_greeting(sentence.text)
        greeted = begins and position <= 1
        question = ""
    return lines


def _took_back(lines: list[_Line], settings: _Settings) -> bool:
    """Drop the last sentence that states something; return True if there is one."""
    unheard = replace(settings, left_out=[])
    for at in reversed(range(len(lines))):
        if any(_from_line(lines[at], unheard)):
            del lines[at:]
            return True
    return False


def _from_turn(lines: Sequence[_Line], settings: _Settings) -> Iterator[Candidate]:
    last: Candidate | None = None
    end = 0
    for line in lines:
        sentence, turn = line.sentence, line.turn
        if last is not None and _belongs_to(last, sentence, end, line.tongue):
            yield _extended(last, turn, sentence, settings)
            last = None
            continue
        if last is not None:
            yield last
        last, end = None, sentence.start + len(sentence.text)
        candidates = list(_from_line(line, settings))
        yield from candidates[:-1]
        last = candidates[-1] if candidates else None
    if last is not None:
        yield last


def _belongs_to(last: Candidate, sentence: Sentence, end: int, tongue: str) -> bool:
    """Return True if the sentence is meaningful only together with the fact before it."""
    near = 0 <= sentence.start - end <= 2
    return near and not last.forget and not sentence.quoted and follows_on(sentence.text, tongue)


def _extended(last: Candidate, turn: Turn, sentence: Sentence, settings: _Settings) -> Candidate:
    begin = turn.text.index(last.source)
    source = turn.text[begin : sentence.start + len(sentence.text)]
    added, by_now = _dated(finished(clean(sentence.text)), turn, settings)
    return replace(
        last,
        fact=f"{last.fact} {added}",
        source=source,
        dated_by_now=last.dated_by_now or by_now,
    )


def _from_line(line: _Line, settings: _Settings) -> Iterator[Candidate]:
    """Yield the candidates of one sentence."""
    if line.sentence.quoted or len(line.source) > MAX_FACT:
        return
    if line.unsays:
        asked = clean(line.sentence.text).strip(" .!")
        yield Candidate(asked, (), line.source, line.position, forget=True)
        return
    for said, tongue in _statements(line):
        if said.forget:
            if is_request(said.text):
                yield Candidate(said.text, (), line.source, line.position, forget=True)
            continue
        if said.explicit and is_addressed(line.turn.text):
            continue
        candidate = _candidate(said, line, tongue, settings)
        if candidate is not None:
            yield candidate


def _statements(line: _Line) -> Iterator[tuple[RequestedFact, str]]:
    """Yield the statements of a line, each with its language."""
    text = clean(line.sentence.text)
    asked_in = language(line.question, line.tongue)
    # The language of a short question may be misdetected.
    for tongue in dict.fromkeys((asked_in, *PHRASES)) if line.question else ():
        if fact := answer(text, line.question, tongue):
            yield RequestedFact(fact), tongue
            return
    tongue = language(text, line.tongue)
    alone = in_full(named(text, line.question, tongue), line.question, tongue)
    for said in statements(alone, tongue, begins=line.begins, greeted=line.greeted):
        yield said, tongue


def _candidate(
    said: RequestedFact, line: _Line, tongue: str, settings: _Settings
) -> Candidate | None:
    """Return the fact with its topics, or None if it falls under none of the wanted ones."""
    topics = classify(said.text, settings.topics, tongue=tongue, explicit=said.explicit)
    if not topics:
        return None
    text = said.text
    if settings.third_person and tongue == "en":
        text = in_third_person(text)
        if not text:
            settings.left_out.append(Candidate(said.text, topics, line.source, line.position))
            return None
    fact, by_now = _dated(text, line.turn, settings, tongue)
    return Candidate(fact, topics, line.source, line.position, dated_by_now=by_now)


def _dated(text: str, turn: Turn, settings: _Settings, tongue: str = "") -> tuple[str, bool]:
    """Return the text with its dates, and True if they were resolved against the clock."""
    said_on = day_in(settings.time_zone, turn.time or settings.now)
    dated = resolve(text, said_on, tongue or language(text, settings.tongue))
    return dated, dated != text and turn.time is None


def _without_repeats(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Keep only the last of equal statements about the same occasion."""
    kept: dict[tuple[str, frozenset[str], bool], Candidate] = {}
    for candidate in candidates:
        dates = frozenset[str]() if candidate.dated_by_now else resolved(candidate.fact)
        mark = (key(candidate.fact), dates, candidate.forget)
        kept.pop(mark, None)
        kept[mark] = candidate
    return list(kept.values())
