"""Accounting of the tables published by Prompt Memory Lab (pure).

It exists only for comparison with those tables. It sums running totals, and so counts each message
again with every later one.
"""

from dataclasses import dataclass

from app.conversation.costs.logic.accounting import Sizes, triangle

NOTE = (
    "This is the accounting of the published tables, not what a provider bills: costs are sums of"
    " running totals, so that each message is paid for again with every later one (about 12 times"
    " too much at 30 messages without summaries, 35 times at 100), and a smaller cap always looks"
    " cheaper. Values are not rounded; the tables cut some digits off."
)
"""Note in responses that warns about this accounting."""


@dataclass(frozen=True)
class Published:
    """Figures of a published table, all in tokens.

    Attributes:
        final: the column of tokens: the running total at the last message, or 0 if a summary was
            just made.
        total: cost of all messages and summaries.
    """

    final: int
    last: int
    total: int
    summaries: int


@dataclass(frozen=True)
class PublishedCourse:
    """Cost model of a session as in the tables; no summaries if `cap` is None."""

    sizes: Sizes
    cap: int | None
    is_replaced: bool

    def figures(self, end: int) -> Published:
        """Return the figures up to a message."""
        made = self._summaries_made(end)
        rest = end - made * (self.cap or 0)
        place = (made, rest) if rest else (made - 1, self.cap or 0)
        running = self._running(*place)
        return Published(
            final=running if rest else 0,
            last=running + self.sizes.system,
            total=self._total(made, rest),
            summaries=made,
        )

    def _summaries_made(self, end: int) -> int:
        if self.cap is None:
            return 0
        if end > self.cap and (end - 1) % self.cap == 0:
            # The tables make no summary if one message is left, since their countdown passes zero.
            return (end - 1) // self.cap - 1
        return end // self.cap

    def _carried(self, block: int) -> int:
        return self.sizes.summary * (min(block, 1) if self.is_replaced else block)

    def _running(self, block: int, place: int) -> int:
        """Return the running total after `place` messages of a block; blocks count from 0."""
        weight = triangle(place) if block == 0 else triangle(place - 1)
        return self.sizes.message * weight + place * (self.sizes.system + self._carried(block))

    def _total(self, made: int, rest: int) -> int:
        cap = self.cap or 0
        called = self.sizes.overhead + self.sizes.summary
        cost = self._messages(made, rest)
        if made:
            cost += self._messages(0, cap) + self._running(0, cap) + called
        if made > 1:
            # Successive blocks differ by the tokens of the added summary.
            carried = sum(self._carried(block) for block in (1, made - 1)) * (made - 1) // 2
            each = self._messages(1, cap) + self._running(1, cap) + called
            more = carried - (made - 1) * self._carried(1)
            cost += (made - 1) * each + more * (triangle(cap) + cap)
        return cost

    def _messages(self, block: int, count: int) -> int:
        """Return the cost of a block's first messages: running total and system prompt for each."""
        sizes = self.sizes
        weights = _pyramid(count) if block == 0 else _pyramid(count - 1)
        each = sizes.system + self._carried(block)
        return sizes.message * weights + each * triangle(count) + count * sizes.system


def _pyramid(count: int) -> int:
    return count * (count + 1) * (count + 2) // 6
