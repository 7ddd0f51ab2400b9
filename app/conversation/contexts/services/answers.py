"""Response of a context: the shown content, and an account of every token and event."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.conversation.contexts.schemas import ComposeContextRequest, SummaryState
from app.conversation.contexts.services.carrying import CarriedContent
from app.conversation.strategies.logic.rendering import (
    BudgetTooSmall,
    ContextContent,
    render,
    shares_of,
)
from app.conversation.strategies.logic.schedule import next_due
from app.conversation.strategies.logic.turns import Composition, Fixed, History, Shares
from app.conversation.strategies.service import WORK_PER_TEXT, Scale
from app.conversation.summaries.services.material import SessionInput
from app.kernel.names import SessionName
from app.kernel.wire.memory_policy import MemoryPolicy


@dataclass(frozen=True)
class Frame:
    """Policy, fixed parts and token shares of a context.

    Attributes:
        fixed: tokens of system prompt and pending message in the requested format.
        plain: the same as plain messages, which decide whether summaries are due.
    """

    policy: MemoryPolicy
    scale: Scale
    fixed: Fixed
    plain: Fixed
    shares: Shares

    @property
    def room(self) -> int | None:
        """Tokens of events to read: enough to determine whether a summary is due."""
        if self.shares.room is None:
            return None
        split = self._split
        return max(self.shares.room, (split and split.stm) or 0)

    def is_due(self, history: History) -> bool:
        """Return True if a summary is due."""
        split = self._split
        return split is not None and next_due(self.scale.rules, history, split) is not None

    @property
    def _split(self) -> Shares | None:
        if self.scale.rules.summarising is None:
            return None
        try:
            return shares_of(self.scale.rules, self.plain)
        except BudgetTooSmall:
            # The content fits in its format, but not as plain messages.
            return None


@dataclass(frozen=True)
class Composed:
    """A composed context before rendering.

    Attributes:
        memories: name and fact of each memory, best first.
        raw: raw events as JSON texts, by seq.
    """

    request: ComposeContextRequest
    session: SessionName
    user_id: str
    frame: Frame
    content: SessionInput
    composition: Composition
    carried: CarriedContent
    state: SummaryState
    memories: Sequence[tuple[str, str]] = ()
    raw: Mapping[int, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All tokens of the context, with the marks around its summaries."""
        return sum(self._parts().values()) + self._framing

    @property
    def left(self) -> int | None:
        """Tokens of the budget that memories may take; None: no limit."""
        left, carried = self.composition.left, self.carried
        return None if left is None else left - carried.tokens - carried.framing

    @property
    def whole_seqs(self) -> list[int]:
        """Numbers of the events that are shown whole."""
        turns = self.composition.turns
        return [turn.seq for turn in turns if turn.seq not in self.composition.cut]

    @property
    def length(self) -> int:
        """Approximate number of shown characters, plus the fixed work of counting each text."""
        shown = self._to_shown()
        texts = [text for _, text in (*shown.summaries, *shown.memories)]
        texts += [shown.carried, *(event.text for event in shown.said)]
        texts += shown.raw.values()
        return sum(map(len, texts)) + WORK_PER_TEXT * len(texts)

    def answer(self) -> dict[str, Any]:
        """Return the JSON form of a `ContextResponse`; equal content gives equal output."""
        scale = self.frame.scale
        answer = {
            **render(self._to_shown(), scale.rules, scale.form, scale.counter.count),
            "tokens": self._tokens(),
            "coverage": self._coverage(),
            "summaryState": self.state.value,
            "truncatedEvents": [
                {"seq": seq, "tokens": tokens} for seq, tokens in self.composition.cut.items()
            ],
            "policy": self.frame.policy.wire(),
            "policyKey": scale.rules.key,
            "lastSeq": self.content.history.last_seq,
        }
        if scale.rules.carry_over is not None:
            sessions, omitted = self.carried.sessions, self.carried.omitted
            answer["carriedOver"] = {"sessions": sessions, "omittedEvents": omitted}
        return answer

    def _to_shown(self) -> ContextContent:
        rows = self.content.summaries
        chosen = self.composition.summaries
        return ContextContent(
            session=str(self.session),
            system=self.request.system_prompt,
            summaries=[
                (summary.summary_id, rows[summary.summary_id].text or "") for summary in chosen
            ],
            carried=self.carried.text,
            carried_from=[one["session"] for one in self.carried.sessions],
            said=[self.content.said[turn.seq] for turn in self.composition.turns],
            cut=self.composition.cut,
            memories=self.memories,
            pending=self.request.pending_message,
            raw=self.raw,
        )

    def _parts(self) -> dict[str, int]:
        cut, mode = self.composition.cut, self.frame.scale.rules.carry_over
        return {
            "system": self.frame.fixed.system,
            **({} if mode is None else {"carriedOver": self.carried.tokens}),
            "summaries": sum(summary.tokens for summary in self.composition.summaries),
            "events": sum(cut.get(turn.seq, turn.tokens) for turn in self.composition.turns),
            "memories": self.frame.scale.of_facts([fact for _, fact in self.memories]),
            "pending": self.frame.fixed.pending,
        }

    @property
    def _framing(self) -> int:
        composition = self.composition
        separators = sum(summary.framing for summary in composition.summaries)
        return composition.frame + separators + self.carried.framing

    def _tokens(self) -> dict[str, Any]:
        rules = self.frame.scale.rules
        budgets = {
            "limit": rules.limit,
            "stmBudget": self.frame.shares.stm,
            "ltsBudget": self.frame.shares.lts,
        }
        return {
            "total": self.total,
            **self._parts(),
            "framingTokens": self._framing,
            "reserved": rules.reserved,
            **{name: number for name, number in budgets.items() if number is not None},
            "counter": self.frame.scale.counter.name,
        }

    def _coverage(self) -> dict[str, Any]:
        composition = self.composition
        return {
            "verbatim": _ranges_to_json(_joined(turn.seq for turn in composition.turns)),
            "summarised": [
                {
                    "summary": summary.summary_id,
                    "firstSeq": summary.first_seq,
                    "lastSeq": summary.last_seq,
                }
                for summary in composition.summaries
            ],
            "omitted": _ranges_to_json(composition.omitted),
        }


def encoded(answer: Mapping[str, Any]) -> bytes:
    """Return an answer as JSON, with each item of its lists encoded separately.

    The encoder holds the interpreter's lock during a call, which would block the event loop.
    """
    fields = (
        f"[{','.join(map(_to_json, value))}]" if isinstance(value, list) else _to_json(value)
        for value in answer.values()
    )
    pairs = (f"{_to_json(name)}:{field}" for name, field in zip(answer, fields, strict=True))
    return f"{{{','.join(pairs)}}}".encode()


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _joined(seqs: Iterable[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for seq in seqs:
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1] = (ranges[-1][0], seq)
        else:
            ranges.append((seq, seq))
    return ranges


def _ranges_to_json(ranges: Iterable[tuple[int, int]]) -> list[Mapping[str, int]]:
    return [{"firstSeq": first, "lastSeq": last} for first, last in ranges]
