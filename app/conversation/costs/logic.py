"""Token and money costs of strategies (pure).

A message is a prompt with its answer. It is counted once, with its whole prompt, which includes the
earlier messages that the strategy keeps. The sums are closed forms, but for `agent_summary`: a
hundred thousand messages take no longer than one.

Summaries are assumed to have their maximum length and to be made as soon as they are due. Prompts
are never cut to fit a window.

The tables published by Prompt Memory Lab have their own accounting, only for comparison with them.
It sums running totals, and so counts each message again with every later one.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal, Inexact
from functools import reduce
from typing import NamedTuple, Self

# Amounts are sums of products of integers and prices. They are exact with this many digits; an
# inexact result raises an error.
_EXACT = Context(prec=100, traps=[Inexact])
_ROUNDED = Context(prec=100, rounding=ROUND_HALF_UP)
_PRICED_TOKENS_EXPONENT = -3
_SHARE_DIGITS = Decimal("0.000001")
_ENDLESS = 2**63
"""Number of messages that no session reaches."""
_FULL_PROMPT_TOKENS = 14
"""Overhead in tokens of a full summary's prompt; the sum of both constants in `schedule.py`."""


@dataclass(frozen=True)
class Sizes:
    """Token sizes of the parts of prompts.

    Attributes:
        user, assistant: the two halves of a message, or the whole as `user`.
        overhead: tokens of a summariser's prompt without the content to summarise.
        frame: tokens of the marks around the summaries of a prompt, whatever their number.
    """

    system: int
    user: int
    assistant: int
    summary: int
    overhead: int
    frame: int = 0

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


@dataclass(frozen=True)
class Blocks:
    """Cost model of all strategies but `agent_summary`.

    Once `cap` + `keep` messages are held verbatim, the oldest `cap` of them are summarised. If
    summaries are appended and their number exceeds `most`, a separate call merges the two oldest.
    If one summary is replaced each time, every call except the first also reads the previous
    summary.
    """

    sizes: Sizes
    cap: int
    keep: int = 0
    most: int | None = None
    is_replaced: bool = False
    is_summarised: bool = True

    @classmethod
    def without_summaries(cls, sizes: Sizes, kept: int | None) -> Self:
        """Return the model of a strategy that shows at most `kept` tokens of earlier messages.

        Older messages leave the prompt one by one, as blocks of one message. The "summary" in their
        place is the part of the oldest message that still fits, and it is free. None: no limit.
        """
        keep, rest = (_ENDLESS, 0) if kept is None else divmod(kept, sizes.message)
        part = replace(sizes, summary=rest, frame=0)
        return cls(part, cap=1, keep=keep, is_replaced=True, is_summarised=False)

    def totals(self, ends: Sequence[int], window: int | None) -> Sequence[Totals]:
        """Return the costs up to each message in `ends`, which is ascending."""
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
        frame = self.sizes.frame if made else 0
        return self.sizes.system + frame + self._shown(made) * self.sizes.summary + held

    def summary_part(self, end: int) -> SummaryPart:
        """Return the cost of the summaries made up to the end of a message."""
        if not self.is_summarised:
            return SummaryPart()
        made = self._blocks_made(end)
        merged = 0 if self.is_replaced or self.most is None else max(0, made - self.most)
        again = max(0, made - 1) if self.is_replaced else 2 * merged
        calls = made + merged
        read = made * self.cap * self.sizes.message + again * self.sizes.summary
        return SummaryPart(calls, read + calls * self.sizes.overhead, calls * self.sizes.summary)

    def _blocks_made(self, message: int) -> int:
        return max(0, message - self.keep) // self.cap

    @property
    def _most_shown(self) -> int | None:
        return 1 if self.is_replaced else self.most

    def _shown(self, made: int) -> int:
        return made if self._most_shown is None else min(made, self._most_shown)

    def _prompts(self, end: int) -> int:
        sizes = self.sizes
        held = triangle(end) - self.cap * self._sum_of_made(end, None)
        shown = self._sum_of_made(end, self._most_shown)
        framed = max(0, end - self.keep - self.cap)
        fixed = end * sizes.system + framed * sizes.frame
        return fixed + sizes.message * held + sizes.summary * shown

    def _sum_of_made(self, end: int, most: int | None) -> int:
        made = self._blocks_made(end - 1)
        whole = made if most is None else min(made, most)
        rest = max(0, end - self.keep - whole * self.cap)
        return self.cap * triangle(whole - 1) + rest * whole

    def _end_of_block(self, made: int) -> int:
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
class SharedWindow:
    """Cost model of `agent_summary`: the events and the summary each have a share of the window.

    It is simulated message by message, with each due summary made first and as long as its share. A
    hundred thousand messages take tens of milliseconds.

    Attributes:
        user, assistant: tokens of the two events of a message.
        share: tokens available for events.
        lacking: tokens by which the marks around the summary reduce this share.
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
    lacking: int = 0

    def totals(self, ends: Sequence[int], window: int | None) -> Sequence[Totals]:
        """Return the costs up to each message in `ends`, which is ascending."""
        totals: list[Totals] = []
        message_tokens = self.user + self.assistant
        part = SummaryPart()
        events = gone = prompt = largest = prompts = 0
        over: int | None = None
        for message in range(1, ends[-1] + 1):
            earlier = (message - 1) * message_tokens
            # The first summary brings marks, which may make another one due at once.
            while earlier - gone > (share := self._share(part)):
                events, until = self._evict(events, gone, earlier, min(self.low, share))
                if until == gone:
                    break
                part = self._with_call(part, gone, until)
                gone = until
            cell = self.sizes.summary + self.sizes.frame if part.calls else 0
            prompt = self.sizes.system + cell + earlier - gone + message_tokens
            prompts += prompt
            largest = max(largest, prompt)
            if over is None and window is not None and prompt > window:
                over = message
            if message == ends[len(totals)]:
                totals.append(Totals(prompt, largest, prompts, part, over))
        return totals

    def _share(self, part: SummaryPart) -> int:
        return self.share - (self.lacking if part.calls else 0)

    def _evict(self, events: int, gone: int, earlier: int, low: int) -> tuple[int, int]:
        """Return the number and tokens of all events that are summarised after an eviction."""
        while earlier - gone > low and earlier - gone > self.assistant:
            gone += self.assistant if events % 2 else self.user
            events += 1
        return events, gone

    def _with_call(self, part: SummaryPart, before: int, until: int) -> SummaryPart:
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


class Prices(NamedTuple):
    """Prices of a thousand tokens: prompts, answers, and input and output of summarisers."""

    prompt_in: Decimal
    prompt_out: Decimal
    summary_in: Decimal
    summary_out: Decimal


class Billed(NamedTuple):
    """Billed tokens of a session by kind, in the order of `Prices`."""

    prompt_in: int
    prompt_out: int
    summary_in: int
    summary_out: int

    @classmethod
    def of(cls, sizes: Sizes, messages: int, totals: Totals) -> Self:
        """Return the tokens of a session, divided into input and output."""
        out = messages * sizes.assistant
        made = totals.summaries
        return cls(totals.prompts - out, out, made.tokens_in, made.tokens_out)

    def cost(self, prices: Prices) -> Decimal:
        """Return the exact cost of the tokens."""
        return reduce(_EXACT.add, map(cost_of, self, prices))


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


def triangle(count: int) -> int:
    """Return the sum of the numbers from 1 to `count`."""
    return count * (count + 1) // 2


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
        final: the running total at the last message, or 0 if a summary was just made.
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
        sizes = self.sizes
        weights = _pyramid(count) if block == 0 else _pyramid(count - 1)
        each = sizes.system + self._carried(block)
        return sizes.message * weights + each * triangle(count) + count * sizes.system


def _pyramid(count: int) -> int:
    return count * (count + 1) * (count + 2) // 6
