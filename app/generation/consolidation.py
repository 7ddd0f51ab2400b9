"""From candidates and the memories near them to verdicts, by a model or by the built-in rules."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.generation.chunks import estimated_tokens
from app.generation.decisions import decided
from app.generation.gates import Gated, Group, gate
from app.generation.losses import MAX_SHOWN_CHARS
from app.generation.prompts import MERGE, Shown, merging
from app.generation.replies import Decision, Decisions
from app.llm.ports import Meter, Prompt, TextModel
from app.rules.facts import Candidate, Neighbour, Verdict
from app.rules.text import clean

_SCHEMA_TOKENS = 300
_TOKENS_PER_LINE = 4
"""Number, or id, and marks."""


@dataclass
class Consolidation:
    """Consolidates with a model, once for all candidates.

    What it was asked and has answered is kept, so that planning again asks only what is new.
    """

    model: TextModel
    meter: Meter
    refused: int = 0
    _answers: dict[str, tuple[Decision, ...]] = field(default_factory=dict)

    async def gated(
        self, candidates: Sequence[Candidate], neighbours: Sequence[Sequence[Neighbour]]
    ) -> Gated:
        """Settle what needs no model, off the event loop."""
        return await asyncio.to_thread(gate, candidates, neighbours)

    async def decide(self, gated: Gated, histories: Mapping[str, Sequence[str]]) -> list[Verdict]:
        """Return all verdicts; `histories` has what memories said before, by id, newest first.

        Must not be called inside a transaction. Raises what `TextModel.ask` raises.
        """
        self.refused = 0
        verdicts = gated.settled
        before = {one: tuple(map(_cut, facts)) for one, facts in histories.items()}
        room = self.model.max_input_tokens - _SCHEMA_TOKENS - estimated_tokens(MERGE)
        fitting = [_fitting(group, before, room) for group in gated.unsettled]
        for groups in _parts(fitting, before, room):
            aliases = _aliases(groups)
            memories = [
                Shown(alias, _cut(near.fact), before.get(near.memory_id, ()))
                for alias, near in aliases.items()
            ]
            facts = {n: (group.fact.fact, group.forget) for n, group in enumerate(groups)}
            answer = await self._ask(merging(facts, memories)) if memories else ()
            found = await asyncio.to_thread(decided, groups, answer, aliases, verdicts)
            verdicts, self.refused = found.verdicts, self.refused + found.refused
        return verdicts

    async def _ask(self, text: str) -> tuple[Decision, ...]:
        if text not in self._answers:
            reply = await self.model.ask(Prompt(MERGE, text), Decisions, self.meter)
            self._answers[text] = tuple(
                one.model_copy(update={"text": clean(one.text)}) for one in reply.decisions
            )
        return self._answers[text]


def _aliases(groups: Sequence[Group]) -> dict[str, Neighbour]:
    """Give each memory that is shown a short name; a long id costs tokens and invites slips."""
    shown = {near.memory_id: near for group in groups for near in group.near}
    return {f"m{n}": near for n, near in enumerate(shown.values(), start=1)}


def _cut(fact: str) -> str:
    return fact[:MAX_SHOWN_CHARS]


def _fitting(group: Group, before: dict[str, tuple[str, ...]], max_tokens: int) -> Group:
    """Return a group that fits the model's input alone.

    Where it does not, the oldest of what its memories said before goes, out of `before`, then the
    farthest of the memories. Without any left, there is nothing to ask.
    """
    fitting, near = group, sorted(group.near, key=lambda one: one.distance)
    while near and _tokens(fitting, before) > max_tokens:
        told = max(near, key=lambda one: len(before.get(one.memory_id, ()))).memory_id
        if before.get(told):
            before[told] = before[told][:-1]
        else:
            near = near[:-1]
            fitting = replace(group, near=near)
    return fitting


def _tokens(group: Group, before: Mapping[str, Sequence[str]]) -> int:
    """Return what a group takes of the input, generously estimated."""
    shown = [group.fact.fact]
    for near in group.near:
        shown += [_cut(near.fact), *before.get(near.memory_id, ())]
    return sum(_TOKENS_PER_LINE + estimated_tokens(text) for text in shown)


def _parts(
    groups: Sequence[Group], before: Mapping[str, Sequence[str]], max_tokens: int
) -> list[list[Group]]:
    """Cut the groups, of which each fits alone, so that each part fits the model's input."""
    parts: list[list[Group]] = []
    left = 0
    for group in groups:
        needed = _tokens(group, before)
        if not parts or needed > left:
            parts.append([])
            left = max_tokens
        parts[-1].append(group)
        left -= needed
    return parts
