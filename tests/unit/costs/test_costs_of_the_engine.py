"""Estimates are of what the engine of strategies does, message by message."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from app.conversation.costs.logic import SharedWindow, SummaryPart
from app.conversation.costs.schemas import EstimateContextCostsRequest
from app.conversation.costs.service import Case, cases_of
from app.conversation.strategies.logic.policies import Rules
from app.conversation.strategies.logic.rendering import compose, shares_of
from app.conversation.strategies.logic.schedule import next_due
from app.conversation.strategies.logic.turns import ContextTurn, Due, Fixed, History, TurnSummary

_SYSTEM, _OVERHEAD = 400, 30
_USER, _ASSISTANT = 60, 40
_MESSAGES = 70


@dataclass
class _Session:
    """A session whose summaries are made at once, each as long as it may be."""

    rules: Rules
    turns: list[ContextTurn] = field(default_factory=list)
    summaries: list[TurnSummary] = field(default_factory=list)
    part: SummaryPart = field(default_factory=SummaryPart)
    made: int = 0

    def prompt(self, pending: int) -> int:
        """Return the tokens of the prompt of the next message, without the message itself."""
        shares = shares_of(self.rules, Fixed(_SYSTEM, pending))
        while due := next_due(self.rules, self._history(), shares):
            self._summarise(due)
        shown = compose(self.rules, self._history(), shares)
        assert not shown.cut
        summaries = sum(one.tokens for one in shown.summaries)
        return _SYSTEM + shown.frame + summaries + sum(turn.tokens for turn in shown.turns)

    def say(self) -> None:
        exchange = len(self.turns) // 2 + 1
        for tokens in (_USER, _ASSISTANT):
            self.turns.append(ContextTurn(len(self.turns) + 1, exchange, tokens))

    def _history(self) -> History:
        boundary = self.summaries[-1].last_seq if self.summaries else 0
        return History(
            turns=self.turns[boundary:],
            summaries=self.summaries,
            last_seq=len(self.turns),
            complete=len(self.turns) // 2,
            covered=sum(turn.tokens for turn in self.turns[:boundary]),
            frame=22,
        )

    def _summarise(self, due: Due) -> None:
        first, last = due.read or (1, 0)
        read = sum(turn.tokens for turn in self.turns[first - 1 : last])
        read += sum(one.tokens for one in self.summaries if one.summary_id in due.previous)
        came_in = self.part.tokens_in + read + _OVERHEAD
        self.part = SummaryPart(self.part.calls + 1, came_in, self.part.tokens_out + due.tokens)
        self.made += 1
        new = TurnSummary(
            str(self.made), due.first_seq, due.last_seq, due.last_exchange, due.tokens
        )
        kept = [one for one in self.summaries if not new.first_seq <= one.last_seq <= new.last_seq]
        self.summaries = sorted([*kept, new], key=lambda one: one.first_seq)


def _case(policy: dict[str, Any]) -> Case:
    tokens = {"user": _USER, "assistant": _ASSISTANT}
    request = {"messageTokens": tokens, "summaryTokens": 250, "strategies": [policy]}
    return cases_of(EstimateContextCostsRequest.model_validate(request))[0]


@pytest.mark.parametrize(
    "policy",
    [
        {"strategy": "none"},
        {"strategy": "inclusive"},
        {"strategy": "window", "window": 0},
        {"strategy": "window", "window": 4},
        {"strategy": "window", "windowTokens": 339},
        {"strategy": "window", "windowTokens": 340},
        {"strategy": "window", "window": 2, "windowTokens": 340},
        {"strategy": "every_n"},
        {"strategy": "every_n", "every": 1, "keepRecent": 2},
        {"strategy": "every_n", "every": 3, "refresh": "whole"},
        {"strategy": "abstraction_inclusive"},
        {"strategy": "abstraction_inclusive", "cap": 11, "keepRecent": 4},
        {"strategy": "abstraction_inclusive", "cap": 5, "maxAbstractions": 4},
        {"strategy": "abstraction_inclusive", "cap": 3, "maxAbstractions": 2, "keepRecent": 1},
        {"strategy": "abstraction_inclusive", "cap": 7, "maxAbstractions": 1},
        {"strategy": "fully_abstracted"},
        {"strategy": "fully_abstracted", "cap": 11, "keepRecent": 4, "summaryTokens": 99},
        {"strategy": "agent_summary", "tokenLimit": 4_032},
        {"strategy": "agent_summary", "tokenLimit": 4_032, "lowWater": 0.8},
        {"strategy": "agent_summary", "tokenLimit": 2_500, "recompute": "recursive"},
        {"strategy": "agent_summary", "tokenLimit": 3_000, "split": {"stm": 1, "lts": 1}},
        {"strategy": "agent_summary", "tokenLimit": 3_007, "lowWater": 0.35},
    ],
)
def test_prompts_and_summaries_are_those_of_the_engine(policy: dict[str, Any]) -> None:
    case = _case(policy)
    session = _Session(case.rules)
    ends = list(range(1, _MESSAGES + 1))
    for end, told in zip(ends, case.course.totals(ends, None), strict=True):
        prompt = session.prompt(_USER)
        assert prompt + _USER + _ASSISTANT == told.last, end
        session.say()
        if not isinstance(case.course, SharedWindow):
            # Summaries by exchange are made at once, not before the next prompt.
            session.prompt(0)
        assert session.part == told.summaries, end
