"""What `agent_summary` costs, counted message by message (pure).

Each prompt is as `strategies/logic/composing.py` composes it once its summary is made; the summary
is taken to be as long as its share of the window. A hundred thousand messages take some tens of
milliseconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.conversation.costs.logic.accounting import Sizes, SummaryPart, Totals

_FULL_PROMPT_TOKENS = 14
"""What a full summary's prompt is taken to hold beside the events, as in the source."""


@dataclass(frozen=True)
class Shared:
    """A session whose newest events have a share of the window, and a summary of the rest another.

    Attributes:
        sizes: `summary` is the share of the summary.
        user, assistant: tokens of the two events of a message.
        limit: tokens of the window.
        share: tokens for the events.
        low: how many of them stay once they are more than that.
        is_recursive: whether each summary but the first is made from the one before it, also
            where all events would fit the summariser's window.
    """

    sizes: Sizes
    user: int
    assistant: int
    limit: int
    share: int
    low: int
    is_recursive: bool

    def totals(self, ends: Sequence[int], window: int | None) -> Sequence[Totals]:
        """As `Course` has it."""
        found: list[Totals] = []
        message_tokens = self.user + self.assistant
        part = SummaryPart()
        events = gone = prompt = largest = prompts = 0
        over: int | None = None
        for message in range(1, ends[-1] + 1):
            told = (message - 1) * message_tokens
            if told - gone > self.share:
                events, until = self._evicted(events, gone, told)
                if until > gone:
                    part = self._called(part, gone, until)
                gone = until
            cell = self.sizes.summary if part.calls else 0
            prompt = self.sizes.system + cell + told - gone + message_tokens
            prompts += prompt
            largest = max(largest, prompt)
            if over is None and window is not None and prompt > window:
                over = message
            if message == ends[len(found)]:
                found.append(Totals(prompt, largest, prompts, part, over))
        return found

    def _evicted(self, events: int, gone: int, told: int) -> tuple[int, int]:
        """Return how many events are summarised so that few enough stay, and their tokens.

        The newest always stays.
        """
        while told - gone > self.low and told - gone > self.assistant:
            gone += self.assistant if events % 2 else self.user
            events += 1
        return events, gone

    def _called(self, part: SummaryPart, before: int, until: int) -> SummaryPart:
        """Add the call that summarises so many tokens, where it was fewer before."""
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
