"""What a context is answered with: what it shows, and the account of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.adapters.llm.aside import done
from app.conversation.contexts.schemas import SummaryState
from app.conversation.strategies.logic.forms import Source
from app.conversation.strategies.logic.rendering import Shown, render
from app.conversation.strategies.logic.turns import Composition, Fixed, Shares
from app.conversation.strategies.services.scales import WORK_PER_TEXT, Scale
from app.conversation.summaries.services.material import Told
from app.kernel.wire.memory_policy import MemoryPolicy


@dataclass(frozen=True)
class Prompt:
    """What stands around a session in a context."""

    system: str | None = None
    pending: str | None = None

    async def weighed(self, scale: Scale) -> Fixed:
        """Return what it takes of the window."""
        length = len(self.system or "") + len(self.pending or "")
        return await done(length, self._weighed, scale)

    def _weighed(self, scale: Scale) -> Fixed:
        return Fixed(
            system=scale.of_part(Source.SYSTEM, self.system or ""),
            pending=scale.of_part(Source.PENDING, self.pending or ""),
        )


@dataclass(frozen=True)
class Composed:
    """A context before it has a form.

    Attributes:
        session: the full name of the session.
        fixed: tokens of `prompt`.
        memories: name and fact of each, best first.
    """

    session: str
    policy: MemoryPolicy
    scale: Scale
    prompt: Prompt
    fixed: Fixed
    shares: Shares
    told: Told
    composition: Composition
    state: SummaryState
    memories: Sequence[tuple[str, str]] = ()

    @property
    def total(self) -> int:
        """All tokens of the context, those of the marks around summaries included."""
        return sum(self._parts().values()) + self._framing

    @property
    def length(self) -> int:
        """About how many characters it shows, and as many again as make the same work."""
        shown = self._shown()
        texts = [text for _, text in (*shown.summaries, *shown.memories)]
        texts += [one.text for one in shown.said]
        return sum(map(len, texts)) + WORK_PER_TEXT * len(texts)

    def answer(self) -> dict[str, Any]:
        """Return the JSON form of a `ContextResponse`. Of the same, it is the same."""
        return {
            **render(self._shown(), self.scale.rules, self.scale.form, self.scale.counter.count),
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

    def _shown(self) -> Shown:
        rows = self.told.summaries
        chosen = self.composition.summaries
        return Shown(
            session=self.session,
            system=self.prompt.system,
            summaries=[(one.summary_id, rows[one.summary_id].text or "") for one in chosen],
            said=[self.told.said[turn.seq] for turn in self.composition.turns],
            cut=self.composition.cut,
            memories=self.memories,
            pending=self.prompt.pending,
        )

    def _parts(self) -> dict[str, int]:
        cut = self.composition.cut
        return {
            "system": self.fixed.system,
            "summaries": sum(one.tokens for one in self.composition.summaries),
            "events": sum(cut.get(one.seq, one.tokens) for one in self.composition.turns),
            "memories": self.scale.of_facts([fact for _, fact in self.memories]),
            "pending": self.fixed.pending,
        }

    @property
    def _framing(self) -> int:
        return sum(one.framing for one in self.composition.summaries)

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
        found = self.composition
        return {
            "verbatim": _told(_joined(turn.seq for turn in found.turns)),
            "summarised": [
                {"summary": one.summary_id, "firstSeq": one.first_seq, "lastSeq": one.last_seq}
                for one in found.summaries
            ],
            "omitted": _told(found.omitted),
        }


def _joined(seqs: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending numbers as ranges, first and last."""
    found: list[tuple[int, int]] = []
    for seq in seqs:
        if found and found[-1][1] == seq - 1:
            found[-1] = (found[-1][0], seq)
        else:
            found.append((seq, seq))
    return found


def _told(ranges: Iterable[tuple[int, int]]) -> list[Mapping[str, int]]:
    return [{"firstSeq": first, "lastSeq": last} for first, last in ranges]
