"""Which summary of a session is to be made next (pure).

Either once enough exchanges are complete, or once the events outgrow their share of the window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from app.conversation.strategies.logic.budgets import newest_within, total
from app.conversation.strategies.logic.policies import Combine, Rules, Summarising
from app.conversation.strategies.logic.turns import Due, History, Kind, Shares, Summary, Turn
from app.kernel.wire.memory_policy import Recompute

_COUNTED, _CALLED = 4, 10
"""Tokens that a text costs beside itself, and a call beside its text, where it is asked whether a
model takes all events at once."""


def next_due(rules: Rules, history: History, shares: Shares) -> Due | None:
    """Return the summary that is to be made next, if one is.

    Of a tail, whether one is due is right, and what it covers is not.
    """
    ways = rules.summarising
    if ways is None:
        return None
    if ways.combine is Combine.SPLIT:
        return _due_by_budget(rules, ways, history, shares)
    return _due_by_count(ways, history)


def _due_by_count(ways: Summarising, history: History) -> Due | None:
    """Return what is due once enough exchanges are complete.

    Summaries are merged before the next is added to them, so that there never are too many.
    """
    end = _end_of_block(ways, history)
    summaries = history.summaries
    is_list = ways.combine is Combine.APPEND
    if is_list and ways.most is not None:
        excess = len(summaries) + (end is not None) - ways.most
        if excess > 0:
            return _merge(ways, summaries[: excess + 1])
    if end is None:
        return None
    first = history.boundary + 1
    block = (first, end.seq)
    tokens, chars = _longest(ways, ways.tokens or 0)
    if is_list or not summaries:
        kind = Kind.BLOCK if is_list else Kind.FULL
        return Due(kind, *block, end.exchange, block, (), tokens, chars)
    previous = tuple(summary.summary_id for summary in summaries)
    start = summaries[0].first_seq
    return Due(Kind.RECURSIVE, start, end.seq, end.exchange, block, previous, tokens, chars)


@dataclass(frozen=True)
class _End:
    """Where what a summary covers ends."""

    seq: int
    exchange: int


def _end_of_block(ways: Summarising, history: History) -> _End | None:
    """Return where the next block of exchanges ends; None: it is not complete.

    Exchanges of which all is erased make no block: it goes on until there is something to read.
    """
    turns = history.turns
    if ways.combine is Combine.APPEND and (again := _gap(turns, history.until)):
        return again
    oldest = 0 if history.is_tail else turns[0].exchange if turns else history.complete + 1
    target = next_target(ways, history.behind, oldest)
    if not is_reached(ways, history.complete, target):
        return None
    after = next((turn for turn in turns if turn.exchange > target), None)
    if after is not None:
        return _End(after.seq - 1, target)
    if history.is_bounded and turns:
        # It ends with what was read; what comes after that is left to the next.
        return _End(turns[-1].seq, min(target, turns[-1].exchange))
    return _End(turns[-1].seq if turns else history.last_seq, target)


def next_target(ways: Summarising, behind: int, oldest: int = 0) -> int:
    """Return the exchange that the next summary reaches to.

    `behind` is the last that is covered, `oldest` the first after it of which there is something
    to read; 0: not known.
    """
    return max(behind + ways.cap, oldest)


def is_reached(ways: Summarising, complete: int, target: int) -> bool:
    """Say whether so many exchanges are complete that a summary up to one of them is due."""
    return target <= complete - ways.keep


def _gap(turns: Sequence[Turn], until: int | None) -> _End | None:
    """Return the end of a gap between summaries, if there is something in it."""
    within = [turn for turn in turns if until is not None and turn.seq <= until]
    return _End(until, within[-1].exchange) if until is not None and within else None


def _merge(ways: Summarising, merged: Sequence[Summary]) -> Due:
    tokens, chars = _longest(ways, ways.tokens or 0)
    ends = (merged[0].first_seq, merged[-1].last_seq, merged[-1].last_exchange)
    previous = tuple(summary.summary_id for summary in merged)
    return Due(Kind.MERGE, *ends, None, previous, tokens, chars)


def _due_by_budget(rules: Rules, ways: Summarising, history: History, shares: Shares) -> Due | None:
    """Return what is due once the events outgrow their share; the newest is never taken away."""
    turns = history.turns
    if rules.limit is None or not shares.stm or not shares.lts:
        return None
    share = _share(shares.stm, history.summaries, shares.room)
    if total(turns) <= share:
        return None
    low = min(int(Decimal(str(ways.low_water)) * shares.stm), share)
    kept = newest_within(turns, low) or turns[-1:]
    evicted = turns[: -len(kept)]
    if not evicted and not history.is_tail:
        return None
    end = kept[0].seq - 1
    exchange = evicted[-1].exchange if evicted else kept[0].exchange
    tokens, chars = _longest(ways, shares.lts)
    summaries = history.summaries
    needed = total(evicted) + _COUNTED + _CALLED + shares.lts
    if not summaries or _is_taken_whole(ways, history.covered, needed, rules.limit):
        block = (history.cleared_seq + 1, end)
        return Due(Kind.FULL, *block, exchange, block, (), tokens, chars)
    previous = tuple(summary.summary_id for summary in summaries)
    read = (history.boundary + 1, end)
    first = summaries[0].first_seq
    return Due(Kind.RECURSIVE, first, end, exchange, read, previous, tokens, chars)


def _share(stm: int, summaries: Sequence[Summary], room: int | None) -> int:
    """Return what events may take beside the summary there is.

    The marks around that are in neither share: where the rest of the window lacks the room for
    them, they take it from the events, so that none is left out.
    """
    framing = sum(one.framing for one in summaries)
    lacking = stm + total(summaries) - (room or 0)
    return stm - max(0, min(framing, lacking))


def _is_taken_whole(ways: Summarising, covered: int | None, needed: int, limit: int) -> bool:
    """Say whether the model takes all events there are at once."""
    is_asked = ways.recompute is Recompute.FULL_UNTIL_OVERFLOW
    return is_asked and covered is not None and covered + needed <= limit


def _longest(ways: Summarising, tokens: int) -> tuple[int, int]:
    return tokens, tokens * ways.chars_per_token
