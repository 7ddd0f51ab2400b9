"""Token and money costs of strategies (pure).

A message is a prompt with its answer. It is counted once, with its whole prompt, which includes the
earlier messages that the strategy keeps. The sums are closed forms: a hundred thousand messages
take no longer than one.

Summaries are assumed to have their maximum length and to be made as soon as they are due. Prompts
are never cut to fit a window; the result gives the first message that does not fit.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal, Inexact
from typing import Protocol

# Amounts are sums of products of integers and prices. They are exact with this many digits; an
# inexact result raises an error.
_EXACT = Context(prec=100, traps=[Inexact])
_ROUNDED = Context(prec=100, rounding=ROUND_HALF_UP)
_PRICED_TOKENS_EXPONENT = -3
_SHARE_DIGITS = Decimal("0.000001")


@dataclass(frozen=True)
class Sizes:
    """Token sizes of the parts of prompts.

    Attributes:
        user, assistant: the two halves of a message. If answers are not counted separately, the
            whole message is `user`.
        summary: tokens of a summary.
        overhead: tokens of a summariser's prompt without the content to summarise.
    """

    system: int
    user: int
    assistant: int
    summary: int
    overhead: int

    @property
    def message(self) -> int:
        """Tokens of both halves."""
        return self.user + self.assistant


@dataclass(frozen=True)
class SummaryPart:
    """Cost of summaries: number of model calls, and their input and output tokens."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True)
class Totals:
    """Costs of a session up to a message.

    Attributes:
        last, largest: tokens of the last and of the largest prompt, each with its answer.
        prompts: total tokens of all prompts with their answers.
        first_over: the first message with a prompt too large for the window; None: all fit.
    """

    last: int
    largest: int
    prompts: int
    summaries: SummaryPart
    first_over: int | None = None


class Course(Protocol):
    """Cost model of a session under a strategy."""

    @property
    def sizes(self) -> Sizes:
        """Token sizes of the parts of its prompts."""
        ...

    def totals(self, ends: Sequence[int], window: int | None) -> Sequence[Totals]:
        """Return the costs up to each message in `ends`, which is ascending."""
        ...


@dataclass(frozen=True)
class Tail:
    """Cost model without summaries: `none`, `inclusive` and `window`.

    Attributes:
        kept: maximum tokens of earlier messages in a prompt; None: no limit.
    """

    sizes: Sizes
    kept: int | None

    def totals(self, ends: Sequence[int], window: int | None) -> Sequence[Totals]:
        """Return the costs: see `Course`."""
        return [self._totals(end, window) for end in ends]

    def prompt(self, message: int) -> int:
        """Return the tokens of a message's prompt, with its answer."""
        before = (message - 1) * self.sizes.message
        kept = before if self.kept is None else min(before, self.kept)
        return self.sizes.system + kept + self.sizes.message

    def _totals(self, end: int, window: int | None) -> Totals:
        last = self.prompt(end)
        over = None if window is None else bisect_right(range(1, end + 1), window, key=self.prompt)
        first_over = None if over is None or over >= end else over + 1
        return Totals(last, last, self._prompts(end), SummaryPart(), first_over)

    def _prompts(self, end: int) -> int:
        own = end * (self.sizes.system + self.sizes.message)
        grown = end - 1
        if self.kept is not None:
            grown = min(grown, self.kept // self.sizes.message)
        full = (end - 1 - grown) * (self.kept or 0)
        return own + self.sizes.message * _triangle(grown) + full


@dataclass(frozen=True)
class Blocks:
    """Cost model with summaries of blocks of messages.

    The strategies are `every_n`, `abstraction_inclusive` and `fully_abstracted`. Once `cap` +
    `keep` messages are held verbatim, the oldest `cap` of them are summarised. If summaries are
    appended and their number exceeds `most`, a separate call merges the two oldest. If one summary
    is replaced each time, every call except the first also reads the previous summary.
    """

    sizes: Sizes
    cap: int
    keep: int = 0
    most: int | None = None
    is_replaced: bool = False

    def totals(self, ends: Sequence[int], window: int | None) -> Sequence[Totals]:
        """Return the costs: see `Course`."""
        return [
            Totals(
                last=self.prompt(end),
                largest=self._largest(end),
                prompts=self._prompts(end),
                summaries=self.summary_part(end),
                first_over=None if window is None else self._first_over(end, window),
            )
            for end in ends
        ]

    def prompt(self, message: int) -> int:
        """Return the tokens of a message's prompt, with its answer."""
        made = self._blocks_made(message - 1)
        held = (message - made * self.cap) * self.sizes.message
        return self.sizes.system + self._shown(made) * self.sizes.summary + held

    def summary_part(self, end: int) -> SummaryPart:
        """Return the cost of the summaries made up to the end of a message."""
        made = self._blocks_made(end)
        merged = 0 if self.is_replaced or self.most is None else max(0, made - self.most)
        again = max(0, made - 1) if self.is_replaced else 2 * merged
        calls = made + merged
        read = made * self.cap * self.sizes.message + again * self.sizes.summary
        return SummaryPart(calls, read + calls * self.sizes.overhead, calls * self.sizes.summary)

    def _blocks_made(self, message: int) -> int:
        """Return the number of blocks summarised after a message."""
        return max(0, message - self.keep) // self.cap

    @property
    def _most_shown(self) -> int | None:
        return 1 if self.is_replaced else self.most

    def _shown(self, made: int) -> int:
        return made if self._most_shown is None else min(made, self._most_shown)

    def _prompts(self, end: int) -> int:
        sizes = self.sizes
        held = _triangle(end) - self.cap * self._sum_of_made(end, None)
        shown = self._sum_of_made(end, self._most_shown)
        return end * sizes.system + sizes.message * held + sizes.summary * shown

    def _sum_of_made(self, end: int, most: int | None) -> int:
        """Return the sum over all prompts of the summarised blocks, each capped at `most`."""
        made = self._blocks_made(end - 1)
        whole = made if most is None else min(made, most)
        rest = max(0, end - self.keep - whole * self.cap)
        return self.cap * _triangle(whole - 1) + rest * whole

    def _end_of_block(self, made: int) -> int:
        """Return the last message before the next block is summarised."""
        return self.keep + (made + 1) * self.cap

    def _largest(self, end: int) -> int:
        # Prompts grow within a block, and so do the last prompts of successive blocks.
        made = self._blocks_made(end - 1)
        before = self.prompt(self._end_of_block(made - 1)) if made else 0
        return max(before, self.prompt(end))

    def _first_over(self, end: int, window: int) -> int | None:
        def at_end(made: int) -> int:
            return self.prompt(min(end, self._end_of_block(made)))

        made = self._blocks_made(end - 1)
        # The last block may end early with a smaller prompt, so it is searched separately.
        block = bisect_right(range(made), window, key=at_end)
        first = self._end_of_block(block - 1) + 1 if block else 1
        last = min(end, self._end_of_block(block))
        first_over = first + bisect_right(range(first, last + 1), window, key=self.prompt)
        return None if first_over > last else first_over


@dataclass(frozen=True)
class Prices:
    """Prices of a thousand tokens: prompts, answers, and input and output of summarisers."""

    prompt_in: Decimal
    prompt_out: Decimal
    summary_in: Decimal
    summary_out: Decimal

    @property
    def is_one(self) -> bool:
        """True if all prices are equal."""
        return self.prompt_in == self.prompt_out == self.summary_in == self.summary_out


@dataclass(frozen=True)
class Billed:
    """Billed tokens of a session by kind."""

    prompt_in: int
    prompt_out: int
    summary_in: int
    summary_out: int

    @classmethod
    def of(cls, sizes: Sizes, messages: int, totals: Totals) -> "Billed":
        """Return the tokens of a session, divided into input and output."""
        out = messages * sizes.assistant
        made = totals.summaries
        return cls(totals.prompts - out, out, made.tokens_in, made.tokens_out)

    @property
    def total(self) -> int:
        """All billed tokens."""
        return self.prompt_in + self.prompt_out + self.summary_in + self.summary_out

    def cost(self, prices: Prices) -> Decimal:
        """Return the exact cost of the tokens."""
        total = Decimal(0)
        for amount in (
            cost_of(self.prompt_in, prices.prompt_in),
            cost_of(self.prompt_out, prices.prompt_out),
            cost_of(self.summary_in, prices.summary_in),
            cost_of(self.summary_out, prices.summary_out),
        ):
            total = _EXACT.add(total, amount)
        return total


def cost_of(tokens: int, price: Decimal) -> Decimal:
    """Return the exact cost of tokens at a price per thousand."""
    return _EXACT.scaleb(_EXACT.multiply(Decimal(tokens), price), _PRICED_TOKENS_EXPONENT)


def saved(cost: Decimal, whole: Decimal) -> Decimal:
    """Return the fraction of `whole`, which is above 0, that `cost` saves, to six digits."""
    share = _ROUNDED.subtract(Decimal(1), _ROUNDED.divide(cost, whole))
    # `plus` removes the sign of a negative zero.
    return _ROUNDED.plus(share.quantize(_SHARE_DIGITS, context=_ROUNDED))


def plain(amount: Decimal) -> str:
    """Return an amount with all digits, without an exponent or trailing zeros."""
    return format(amount.normalize(_EXACT), "f")


def _triangle(count: int) -> int:
    return count * (count + 1) // 2
