"""The accounting of the tables that Prompt Memory Lab has published (pure).

It is kept to compare with those tables, and for nothing else: it sums running totals, so that a
message is paid for again with each one after it.
"""

from dataclasses import dataclass

from app.conversation.costs.logic.accounting import Sizes

NOTE = (
    "This is the accounting of the published tables, not what a provider bills: costs are sums of"
    " running totals, so that each message is paid for again with every later one (about 12 times"
    " too much at 30 messages without summaries, 35 times at 100), and a smaller cap always looks"
    " cheaper. Values are not rounded; the tables cut some digits off."
)
"""What is wrong with it."""


@dataclass(frozen=True)
class Published:
    """The figures of a published table, all in tokens.

    Attributes:
        final: what the tables call tokens: the running total at the last message, or 0 where a
            summary was just made.
        last: what the last message costs.
        total: what all messages and summaries cost.
        summaries: how many are made.
    """

    final: int
    last: int
    total: int
    summaries: int


@dataclass(frozen=True)
class PublishedCourse:
    """A session as the tables have it. `cap`: None: no summaries."""

    sizes: Sizes
    cap: int | None
    is_replaced: bool

    def figures(self, end: int) -> Published:
        """Return the figures of so many messages."""
        made = self._made(end)
        rest = end - made * (self.cap or 0)
        place = (made, rest) if rest else (made - 1, self.cap or 0)
        running = self._running(*place)
        return Published(
            final=running if rest else 0,
            last=running + self.sizes.system,
            total=self._total(made, rest),
            summaries=made,
        )

    def _made(self, end: int) -> int:
        if self.cap is None:
            return 0
        if end > self.cap and (end - 1) % self.cap == 0:
            # With one message to go none is made, and the countdown passes zero.
            return (end - 1) // self.cap - 1
        return end // self.cap

    def _carried(self, block: int) -> int:
        """Return the tokens of the summaries in the prompts of a block."""
        return self.sizes.summary * (min(block, 1) if self.is_replaced else block)

    def _running(self, block: int, place: int) -> int:
        """Return the running total after so many messages of a block, which count from 0."""
        weight = _triangle(place) if block == 0 else _triangle(place - 1)
        return self.sizes.message * weight + place * (self.sizes.system + self._carried(block))

    def _total(self, made: int, rest: int) -> int:
        cap = self.cap or 0
        called = self.sizes.overhead + self.sizes.summary
        found = self._messages(made, rest)
        if made:
            found += self._messages(0, cap) + self._running(0, cap) + called
        if made > 1:
            # Of the blocks between, each differs from the next by what its summaries add.
            carried = sum(self._carried(block) for block in (1, made - 1)) * (made - 1) // 2
            each = self._messages(1, cap) + self._running(1, cap) + called
            more = carried - (made - 1) * self._carried(1)
            found += (made - 1) * each + more * (_triangle(cap) + cap)
        return found

    def _messages(self, block: int, count: int) -> int:
        """Return what the first messages of a block cost: each its running total and the system."""
        sizes = self.sizes
        weights = _pyramid(count) if block == 0 else _pyramid(count - 1)
        each = sizes.system + self._carried(block)
        return sizes.message * weights + each * _triangle(count) + count * sizes.system


def _triangle(count: int) -> int:
    return count * (count + 1) // 2


def _pyramid(count: int) -> int:
    return count * (count + 1) * (count + 2) // 6
