"""Cost of `agent_summary`, simulated message by message (pure).

Each prompt is composed as in `strategies/logic/composing.py`, after any due summary is made.
Summaries are assumed to fill their share of the window. A hundred thousand messages take tens of
milliseconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.conversation.costs.logic.accounting import Sizes, SummaryPart, Totals

_FULL_PROMPT_TOKENS = 14
"""Overhead in tokens of a full summary's prompt; the sum of both constants in `schedule.py`."""


@dataclass(frozen=True)
class Shared:
    """Cost model in which the events and the summary each have a share of the window.

    Attributes:
        sizes: token sizes; `summary` is the share of the summary.
        user, assistant: tokens of the two events of a message.
        limit: tokens of the window.
        share: tokens available for events.
        low: maximum tokens of events that stay after the share was exceeded.
        is_recursive: whether each summary except the first is made from the previous one, even if
            all events would fit the summariser's window.
    """

    sizes: Sizes
    user: int
    assistant: int
    limit: int
    share: int
    low: int
    is_recursive: bool

    def totals(self, ends: Sequence[int], window: int | None) -> Sequence[Totals]:
        """Return the costs up to each message in `ends`, which is ascending."""
        totals: list[Totals] = []
        message_tokens = self.user + self.assistant
        part = SummaryPart()
        events = gone = prompt = largest = prompts = 0
        over: int | None = None
        for message in range(1, ends[-1] + 1):
            told = (message - 1) * message_tokens
            if told - gone > self.share:
                events, until = self._evict(events, gone, told)
                if until > gone:
                    part = self._with_call(part, gone, until)
                gone = until
            cell = self.sizes.summary if part.calls else 0
            prompt = self.sizes.system + cell + told - gone + message_tokens
            prompts += prompt
            largest = max(largest, prompt)
            if over is None and window is not None and prompt > window:
                over = message
            if message == ends[len(totals)]:
                totals.append(Totals(prompt, largest, prompts, part, over))
        return totals

    def _evict(self, events: int, gone: int, told: int) -> tuple[int, int]:
        """Return the number and tokens of all events that are summarised after an eviction.

        The newest event always stays.
        """
        while told - gone > self.low and told - gone > self.assistant:
            gone += self.assistant if events % 2 else self.user
            events += 1
        return events, gone

    def _with_call(self, part: SummaryPart, before: int, until: int) -> SummaryPart:
        """Return the cost after a call that extends the summary from `before` to `until`."""
        longest = self.sizes.summary
        read = until
        does_not_fit = until + _FULL_PROMPT_TOKENS + longest > self.limit
        if part.calls and (self.is_recursive or does_not_fit):
            read = longest + until - before
        return SummaryPart(
            part.calls + 1,
            part.tokens_in + read + self.sizes.overhead,
            part.tokens_out + longest,
        )
