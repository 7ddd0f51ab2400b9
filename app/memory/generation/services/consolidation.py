"""The second call of a generation: a model confirms new facts and merges them into memories."""

import asyncio
import unicodedata
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, tzinfo

from app.adapters.llm.ports import Meter, Prompt, TextModel
from app.kernel.text import fold, without_format
from app.language.dates import moment_in
from app.language.facts import Candidate, Neighbour, Verdict
from app.language.forgetting import means_everything
from app.language.merging import ASKED
from app.language.tokens import estimate_tokens_of_bytes
from app.memory.generation.logic.additions import TextWords, added
from app.memory.generation.logic.decisions import (
    MAX_SHOWN_CHARS,
    Caps,
    NewFact,
    VerdictDecisions,
    decided,
)
from app.memory.generation.logic.prompts import MERGE, ShownFact, ShownMemory, merging
from app.memory.generation.logic.replies import FactVerdict, FactVerdicts
from app.memory.generation.logic.timing import reached, unreached
from app.memory.generation.services.extraction import EntryCounts
from app.memory.generation.services.neighbours import NearMemories

_SCHEMA_TOKENS = 300
_TOKENS_PER_LINE = 12
"""Tokens of the number or id, the day and the marks of a line."""
_MAX_MEMORIES = 30
"""Maximum number of memories in one prompt."""
_MAX_ASKED = 20
"""Places in a prompt reserved for memories near requests to forget; facts use spare places."""
_MAX_CONTEXT_CHARS = 300
_NO_ANSWER = FactVerdicts(verdicts=[])


@dataclass(frozen=True)
class Compared:
    """New facts with the memories near them.

    `settled` has the verdicts for facts that a memory already has word for word.
    """

    settled: list[Verdict]
    open: list[NewFact]

    @property
    def needs_model(self) -> bool:
        """True if any fact must be confirmed or decided."""
        has_earlier = any(not new.candidate.forget for new in self.open)
        return any(
            new.near or new.candidate.doubtful or (new.candidate.forget and has_earlier)
            for new in self.open
        )


def compared(candidates: Sequence[Candidate], near: Sequence[NearMemories]) -> Compared:
    """Join candidates with the same text, and settle the ones that a memory has word for word."""
    facts: dict[tuple[str, bool], NewFact] = {}
    for position, (candidate, row) in enumerate(zip(candidates, near, strict=True)):
        mark = (_normalize(candidate.fact), candidate.forget)
        before = facts.pop(mark, None)
        positions = [position] if before is None else [*before.positions, position]
        within, later = reached(candidate, row.memories), unreached(candidate, row.memories)
        facts[mark] = NewFact(positions, candidate, within, row.has_more, later)
    result = Compared([], [])
    known: dict[str, Verdict] = {}
    # A fact may have been repeated after a request to forget it, so the model decides.
    asked = {
        neighbour.memory_id
        for (_, forget), new in facts.items()
        if forget
        for neighbour in new.near
    }
    for (text, forget), new in facts.items():
        same = next(
            (
                neighbour
                for neighbour in new.near
                if not forget and _normalize(neighbour.fact) == text
            ),
            None,
        )
        if same is None or same.memory_id in {*known, *asked}:
            result.open.append(new)
        else:
            known[same.memory_id] = Verdict(
                "UPDATE", new.ordered_positions, "said again", same.memory_id, same.fact
            )
    result.settled.extend(known.values())
    return result


def _normalize(text: str) -> str:
    """Return the text without case, format characters, extra blanks and the final mark."""
    plain = unicodedata.normalize("NFKC", without_format(text)).casefold()
    return " ".join(plain.split()).strip(".!?\u00a1\u00bf\u2026\u3002 ")


@dataclass
class Consolidation:
    """Confirmation and merging with a model, once for all candidates.

    Prompts and answers are cached, so another plan asks only about new facts.
    """

    model: TextModel
    meter: Meter
    caps: Caps
    zone: tzinfo | None = None
    entries: EntryCounts = field(default_factory=EntryCounts)
    _answers: dict[str, FactVerdicts] = field(default_factory=dict)
    _counted: set[int] = field(default_factory=set)

    async def decide(
        self, facts: Compared, histories: Mapping[str, Sequence[str]], today: date
    ) -> VerdictDecisions:
        """Return all verdicts; `histories` has earlier facts of memories by id, newest first.

        Must not be called inside a transaction. Raises ServiceError as `TextModel.ask` does.
        """
        dated = [_dated(new, today) for new in facts.open]
        before = {memory_id: tuple(map(_cut, texts)) for memory_id, texts in histories.items()}
        room = self.model.max_input_tokens - _SCHEMA_TOKENS - estimate_tokens_of_bytes(MERGE)
        fitting = [_fitting(new, before, room) for new in dated]
        result = VerdictDecisions(verdicts=facts.settled)
        parts = deque((part, True) for part in _parts(fitting, before, room))
        while parts:
            part, may_halve = parts.popleft()
            aliases = _aliases(part)
            answer = await self._ask(part, aliases, before) if facts.needs_model else _NO_ANSWER
            if answer.cut and may_halve and len(part) > 1:
                half = len(part) // 2
                parts.extendleft([(part[half:], False), (part[:half], False)])
                continue
            answer.require_usable()
            self._count(answer)
            left = _remaining_caps(self.caps, result)
            shown = [_mark_cut(new, aliases) for new in part]
            said = answer.verdicts
            more = await asyncio.to_thread(decided, shown, said, aliases, left, result.verdicts)
            if answer.lost:
                more.unread = _unjudged(part, said)
            result = _merge(result, more)
        return result

    def _count(self, answer: FactVerdicts) -> None:
        if id(answer) not in self._counted:
            self._counted.add(id(answer))
            self.entries.add(self.model.model_id, answer)

    async def _ask(
        self,
        facts: Sequence[NewFact],
        aliases: Mapping[str, Neighbour],
        before: Mapping[str, Sequence[str]],
    ) -> FactVerdicts:
        memories = [
            ShownMemory(
                alias,
                _cut(near.fact),
                None if near.rests_on is None else moment_in(self.zone, near.rests_on),
                tuple(before.get(near.memory_id, ())),
            )
            for alias, near in aliases.items()
        ]
        text = merging([_to_shown_fact(new.candidate) for new in facts], memories)
        if text not in self._answers:
            prompt = Prompt(MERGE, text)
            self._answers[text] = await self.model.ask(prompt, FactVerdicts, self.meter)
        return self._answers[text]


def _dated(new: NewFact, today: date) -> NewFact:
    day = new.candidate.said_on or today
    return replace(new, candidate=replace(new.candidate, said_on=day))


def _remaining_caps(caps: Caps, result: VerdictDecisions) -> Caps:
    on_request = sum(verdict.reason == ASKED for verdict in result.verdicts)
    ended = sum(
        verdict.action == "DELETE" and verdict.reason != ASKED for verdict in result.verdicts
    )
    return Caps(caps.deletes - ended, caps.forgets - on_request)


def _merge(earlier: VerdictDecisions, more: VerdictDecisions) -> VerdictDecisions:
    return VerdictDecisions(
        more.verdicts,
        [*earlier.dropped, *more.dropped],
        [*earlier.refused, *more.refused],
        [*earlier.unmet, *more.unmet],
        earlier.verified + more.verified,
        earlier.unread | more.unread,
    )


def _unjudged(facts: Sequence[NewFact], said: Sequence[FactVerdict]) -> frozenset[int]:
    judged = {verdict.fact for verdict in said}
    return frozenset(
        new.candidate.turn
        for number, new in enumerate(facts)
        if number not in judged and (new.candidate.doubtful or new.candidate.forget)
    )


def _to_shown_fact(candidate: Candidate) -> ShownFact:
    around = candidate.context or candidate.source
    said = "" if fold(around) == fold(candidate.fact) else around[:_MAX_CONTEXT_CHARS]
    is_marked = said and candidate.doubtful and not candidate.forget
    return ShownFact(
        candidate.fact,
        said,
        candidate.question,
        candidate.said_on,
        candidate.said_at,
        candidate.forget,
        added(candidate.fact, TextWords(f"{candidate.question} {said}")) if is_marked else (),
    )


def _aliases(facts: Sequence[NewFact]) -> dict[str, Neighbour]:
    # A long id costs tokens and invites mistakes. The memories nearest to any fact are chosen.
    # Most of the room is reserved for requests to forget, since a memory missing from the
    # prompt cannot be forgotten.
    asked = _by_rank([new for new in facts if new.candidate.forget])
    others = _by_rank([new for new in facts if not new.candidate.forget])
    first = dict(list(asked.items())[:_MAX_ASKED])
    chosen = list((first | others | asked).items())[:_MAX_MEMORIES]
    return {f"m{n}": near for n, (_, near) in enumerate(chosen, start=1)}


def _mark_cut(new: NewFact, aliases: Mapping[str, Neighbour]) -> NewFact:
    """Mark a request for everything if the prompt had no room for some of its memories."""
    shown = {near.memory_id for near in aliases.values()}
    left_out = any(near.memory_id not in shown for near in new.near)
    is_all = new.candidate.forget and means_everything(new.candidate.fact)
    return replace(new, has_more=True) if is_all and left_out else new


def _by_rank(facts: Sequence[NewFact]) -> dict[str, Neighbour]:
    ranked = sorted(
        ((rank, near) for new in facts for rank, near in enumerate(new.near)),
        key=lambda pair: pair[0],
    )
    by_id: dict[str, Neighbour] = {}
    for _, near in ranked:
        by_id.setdefault(near.memory_id, near)
    return by_id


def _cut(fact: str) -> str:
    return fact[:MAX_SHOWN_CHARS]


def _fitting(new: NewFact, before: dict[str, tuple[str, ...]], max_tokens: int) -> NewFact:
    """Return a fact that fits the model's input; histories are shortened in `before` first."""
    fitting, near = new, list(new.near)
    while near and _tokens(fitting, before) > max_tokens:
        longest = max(
            near, key=lambda neighbour: len(before.get(neighbour.memory_id, ()))
        ).memory_id
        if before.get(longest):
            before[longest] = before[longest][:-1]
        else:
            near = near[:-1]
            fitting = replace(new, near=near)
    return fitting


def _tokens(new: NewFact, before: Mapping[str, Sequence[str]]) -> int:
    said = _to_shown_fact(new.candidate)
    shown = [said.fact, said.said, said.question]
    for near in new.near:
        shown += [_cut(near.fact), *before.get(near.memory_id, ())]
    return sum(_TOKENS_PER_LINE + estimate_tokens_of_bytes(text) for text in shown)


def _parts(
    facts: Iterable[NewFact], before: Mapping[str, Sequence[str]], max_tokens: int
) -> list[list[NewFact]]:
    parts: list[list[NewFact]] = []
    left = 0
    for new in facts:
        needed = _tokens(new, before)
        if not parts or needed > left:
            parts.append([])
            left = max_tokens
        parts[-1].append(new)
        left -= needed
    return parts
