"""The second call of a generation: a model confirms new facts and merges them with memories."""

import asyncio
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from app.adapters.llm.ports import Meter, Prompt, TextModel
from app.kernel.text import clean, fold
from app.language.facts import Candidate, Neighbour, Verdict
from app.language.forgetting import means_everything
from app.language.merging import ASKED
from app.memory.generation.logic.chunks import estimated_tokens
from app.memory.generation.logic.decisions import MAX_SHOWN_CHARS, Caps, Decided, NewFact, decided
from app.memory.generation.logic.prompts import MERGE, Shown, ShownFact, merging
from app.memory.generation.logic.replies import FactVerdict, FactVerdicts
from app.memory.generation.services.neighbours import NearMemories

_SCHEMA_TOKENS = 300
_TOKENS_PER_LINE = 12
"""Number, or id, day and marks."""
_MAX_MEMORIES = 30
"""Memories that one prompt shows."""
_MAX_ASKED = 20
"""Places in that prompt reserved for memories near requests to forget; unused ones serve facts."""
_MAX_CONTEXT_CHARS = 300


@dataclass(frozen=True)
class Compared:
    """New facts beside the memories near them.

    Attributes:
        settled: what is known word for word already.
        open: everything else.
    """

    settled: list[Verdict]
    open: list[NewFact]

    @property
    def needs_model(self) -> bool:
        """Whether there is anything to confirm or to decide."""
        has_earlier = any(not one.candidate.forget for one in self.open)
        return any(
            one.near or one.candidate.doubtful or (one.candidate.forget and has_earlier)
            for one in self.open
        )


def compared(candidates: Sequence[Candidate], near: Sequence[NearMemories]) -> Compared:
    """Join candidates of the same text, and settle those that a memory has word for word."""
    facts: dict[tuple[str, bool], NewFact] = {}
    for position, (candidate, row) in enumerate(zip(candidates, near, strict=True)):
        mark = (_bare(candidate.fact), candidate.forget)
        before = facts.pop(mark, None)
        told = [position] if before is None else [*before.positions, position]
        facts[mark] = NewFact(told, candidate, list(row.memories), row.has_more)
    found = Compared([], [])
    known: dict[str, Verdict] = {}
    # What is said again beside a request to forget may be said after it: a model decides.
    asked = {one.memory_id for (_, forget), new in facts.items() if forget for one in new.near}
    for (text, forget), new in facts.items():
        same = next((one for one in new.near if not forget and _bare(one.fact) == text), None)
        if same is None or same.memory_id in {*known, *asked}:
            found.open.append(new)
        else:
            about = (same.memory_id, same.fact)
            known[same.memory_id] = Verdict("UPDATE", new.told, "said again", *about)
    found.settled.extend(known.values())
    return found


def _bare(text: str) -> str:
    """Return what texts share that differ in case, blanks and the final mark alone."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(plain.split()).strip(".!?\u00a1\u00bf\u2026\u3002 ")


@dataclass
class Consolidation:
    """Confirms and merges with a model, once for all candidates.

    What it was asked and has answered is kept, so that planning again asks only what is new.
    """

    model: TextModel
    meter: Meter
    caps: Caps
    _answers: dict[str, tuple[FactVerdict, ...]] = field(default_factory=dict)

    async def decide(
        self, facts: Compared, histories: Mapping[str, Sequence[str]], today: date
    ) -> Decided:
        """Return all verdicts; `histories` has what memories said before, by id, newest first.

        Must not be called inside a transaction. Raises what `TextModel.ask` raises.
        """
        dated = [_on(new, today) for new in facts.open]
        before = {one: tuple(map(_cut, texts)) for one, texts in histories.items()}
        room = self.model.max_input_tokens - _SCHEMA_TOKENS - estimated_tokens(MERGE)
        fitting = [_fitting(new, before, room) for new in dated]
        found = Decided(verdicts=facts.settled)
        for part in _parts(fitting, before, room):
            aliases = _aliases(part)
            answer = await self._asked(part, aliases, before) if facts.needs_model else ()
            left = _left(self.caps, found)
            told = [_as_shown(new, aliases) for new in part]
            more = await asyncio.to_thread(decided, told, answer, aliases, left, found.verdicts)
            found = _joined(found, more)
        return found

    async def _asked(
        self,
        facts: Sequence[NewFact],
        aliases: Mapping[str, Neighbour],
        before: Mapping[str, Sequence[str]],
    ) -> tuple[FactVerdict, ...]:
        memories = [
            Shown(alias, _cut(near.fact), near.changed_on, tuple(before.get(near.memory_id, ())))
            for alias, near in aliases.items()
        ]
        text = merging([_shown(new.candidate) for new in facts], memories)
        if text not in self._answers:
            reply = await self.model.ask(Prompt(MERGE, text), FactVerdicts, self.meter)
            self._answers[text] = tuple(
                one.model_copy(update={"text": clean(one.text).strip()}) for one in reply.verdicts
            )
        return self._answers[text]


def _on(new: NewFact, today: date) -> NewFact:
    """Give a fact without a day that of the generation."""
    day = new.candidate.said_on or today
    return replace(new, candidate=replace(new.candidate, said_on=day))


def _left(caps: Caps, found: Decided) -> Caps:
    on_request = sum(one.reason == ASKED for one in found.verdicts)
    ended = sum(one.action == "DELETE" and one.reason != ASKED for one in found.verdicts)
    return Caps(caps.deletes - ended, caps.forgets - on_request)


def _joined(found: Decided, more: Decided) -> Decided:
    return Decided(
        more.verdicts,
        [*found.dropped, *more.dropped],
        [*found.refused, *more.refused],
        [*found.unmet, *more.unmet],
        found.verified + more.verified,
    )


def _shown(one: Candidate) -> ShownFact:
    """Return a fact as the model sees it: with its words, unless it repeats them."""
    around = one.context or one.source
    said = "" if fold(around) == fold(one.fact) else around[:_MAX_CONTEXT_CHARS]
    return ShownFact(one.fact, said, one.question[:_MAX_CONTEXT_CHARS], one.said_on, one.forget)


def _aliases(facts: Sequence[NewFact]) -> dict[str, Neighbour]:
    """Give each memory that is shown a short name; a long id costs tokens and invites slips.

    Of more than fit, those that are nearest to any of the facts are shown; but most of the room is
    for requests to forget first, since what is not shown is not forgotten.
    """
    asked = _by_rank([new for new in facts if new.candidate.forget])
    others = _by_rank([new for new in facts if not new.candidate.forget])
    first = dict(list(asked.items())[:_MAX_ASKED])
    chosen = list((first | others | asked).items())[:_MAX_MEMORIES]
    return {f"m{n}": near for n, (_, near) in enumerate(chosen, start=1)}


def _as_shown(new: NewFact, aliases: Mapping[str, Neighbour]) -> NewFact:
    """Note of a request that means everything whether some of it had no room in the prompt."""
    shown = {near.memory_id for near in aliases.values()}
    left_out = any(near.memory_id not in shown for near in new.near)
    is_all = new.candidate.forget and means_everything(new.candidate.fact)
    return replace(new, has_more=True) if is_all and left_out else new


def _by_rank(facts: Sequence[NewFact]) -> dict[str, Neighbour]:
    """Return the memories near facts by their ids, those first that are nearest to any of them."""
    ranked = sorted(
        ((rank, near) for new in facts for rank, near in enumerate(new.near)),
        key=lambda one: one[0],
    )
    found: dict[str, Neighbour] = {}
    for _, near in ranked:
        found.setdefault(near.memory_id, near)
    return found


def _cut(fact: str) -> str:
    return fact[:MAX_SHOWN_CHARS]


def _fitting(new: NewFact, before: dict[str, tuple[str, ...]], max_tokens: int) -> NewFact:
    """Return a fact that fits the model's input alone, with its memories.

    Where it does not, the oldest of what its memories said before goes, out of `before`, then the
    farthest of the memories.
    """
    fitting, near = new, list(new.near)
    while near and _tokens(fitting, before) > max_tokens:
        told = max(near, key=lambda one: len(before.get(one.memory_id, ()))).memory_id
        if before.get(told):
            before[told] = before[told][:-1]
        else:
            near = near[:-1]
            fitting = replace(new, near=near)
    return fitting


def _tokens(new: NewFact, before: Mapping[str, Sequence[str]]) -> int:
    """Return what a fact takes of the input, generously estimated."""
    said = _shown(new.candidate)
    shown = [said.fact, said.said, said.question]
    for near in new.near:
        shown += [_cut(near.fact), *before.get(near.memory_id, ())]
    return sum(_TOKENS_PER_LINE + estimated_tokens(text) for text in shown)


def _parts(
    facts: Iterable[NewFact], before: Mapping[str, Sequence[str]], max_tokens: int
) -> list[list[NewFact]]:
    """Cut the facts, of which each fits alone, so that each part fits the model's input."""
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
