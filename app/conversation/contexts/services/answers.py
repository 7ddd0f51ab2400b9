"""Response of a context: the shown content, and an account of every token and event."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.adapters.offload import done
from app.conversation.contexts.schemas import SummaryState
from app.conversation.strategies.logic.forms import SourceField
from app.conversation.strategies.logic.rendering import ContextContent, render
from app.conversation.strategies.logic.turns import Composition, Fixed, Shares
from app.conversation.strategies.service import WORK_PER_TEXT, Scale
from app.conversation.summaries.services.material import SessionInput
from app.kernel.wire.memory_policy import MemoryPolicy


@dataclass(frozen=True)
class ContextPrompt:
    """System prompt and pending message, which surround the session in a context."""

    system: str | None = None
    pending: str | None = None

    async def weighed(self, scale: Scale) -> Fixed:
        """Return the tokens of both parts."""
        length = len(self.system or "") + len(self.pending or "")
        return await done(length, self._weigh, scale)

    def _weigh(self, scale: Scale) -> Fixed:
        return Fixed(
            system=scale.of_part(SourceField.SYSTEM, self.system or ""),
            pending=scale.of_part(SourceField.PENDING, self.pending or ""),
        )


@dataclass(frozen=True)
class Composed:
    """A composed context before rendering.

    Attributes:
        session: full name of the session.
        fixed: tokens of `prompt`.
        memories: name and fact of each memory, best first.
        raw: raw events as JSON texts, by seq.
    """

    session: str
    policy: MemoryPolicy
    scale: Scale
    prompt: ContextPrompt
    fixed: Fixed
    shares: Shares
    told: SessionInput
    composition: Composition
    state: SummaryState
    memories: Sequence[tuple[str, str]] = ()
    raw: Mapping[int, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All tokens of the context, with the marks around summaries."""
        return sum(self._parts().values()) + self._framing

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
        texts += [event.text for event in shown.said]
        texts += shown.raw.values()
        return sum(map(len, texts)) + WORK_PER_TEXT * len(texts)

    def answer(self) -> dict[str, Any]:
        """Return the JSON form of a `ContextResponse`; equal content gives equal output."""
        return {
            **render(self._to_shown(), self.scale.rules, self.scale.form, self.scale.counter.count),
            "tokens": self._tokens(),
            "coverage": self._coverage(),
            "summaryState": self.state.value,
            "truncatedEvents": [
                {"seq": seq, "tokens": tokens} for seq, tokens in self.composition.cut.items()
            ],
            "policy": self.policy.wire(),
            "policyKey": self.scale.rules.key,
            "lastSeq": self.told.history.last_seq,
        }

    def _to_shown(self) -> ContextContent:
        rows = self.told.summaries
        chosen = self.composition.summaries
        return ContextContent(
            session=self.session,
            system=self.prompt.system,
            summaries=[
                (summary.summary_id, rows[summary.summary_id].text or "") for summary in chosen
            ],
            said=[self.told.said[turn.seq] for turn in self.composition.turns],
            cut=self.composition.cut,
            memories=self.memories,
            pending=self.prompt.pending,
            raw=self.raw,
        )

    def _parts(self) -> dict[str, int]:
        cut = self.composition.cut
        return {
            "system": self.fixed.system,
            "summaries": sum(summary.tokens for summary in self.composition.summaries),
            "events": sum(cut.get(turn.seq, turn.tokens) for turn in self.composition.turns),
            "memories": self.scale.of_facts([fact for _, fact in self.memories]),
            "pending": self.fixed.pending,
        }

    @property
    def _framing(self) -> int:
        return sum(summary.framing for summary in self.composition.summaries)

    def _tokens(self) -> dict[str, Any]:
        rules = self.scale.rules
        given = {
            "limit": rules.limit,
            "stmBudget": self.shares.stm,
            "ltsBudget": self.shares.lts,
        }
        return {
            "total": self.total - self._framing,
            **self._parts(),
            "framingTokens": self._framing,
            "reserved": rules.reserved,
            **{name: number for name, number in given.items() if number is not None},
            "counter": self.scale.counter.name,
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
    """Return ascending numbers as ranges of first and last."""
    ranges: list[tuple[int, int]] = []
    for seq in seqs:
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1] = (ranges[-1][0], seq)
        else:
            ranges.append((seq, seq))
    return ranges


def _ranges_to_json(ranges: Iterable[tuple[int, int]]) -> list[Mapping[str, int]]:
    return [{"firstSeq": first, "lastSeq": last} for first, last in ranges]
