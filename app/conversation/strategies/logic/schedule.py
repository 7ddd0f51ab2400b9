"""Choice of the next summary to make in a session (pure).

It is due once enough exchanges are complete, or once events exceed their token share.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from app.conversation.strategies.logic.policies import Combine, Rules, Summarising
from app.conversation.strategies.logic.rendering import frame_of, newest_within, total
from app.conversation.strategies.logic.turns import (
    ContextTurn,
    Due,
    History,
    Shares,
    TurnKind,
    TurnSummary,
)
from app.kernel.wire.memory_policy import Recompute
from app.platform.sessions.logic.event_text import EventNumbers

_COUNTED, _CALLED = 4, 10
"""Estimated overhead in tokens of a text and of a call, to test if all events fit in one call."""


def next_due(rules: Rules, history: History, shares: Shares) -> Due | None:
    """Return the next summary to make, or None.

    For a history with `is_tail`, the range is unreliable; only rely on whether a summary is due.
    """
    summarising = rules.summarising
    if summarising is None:
        return None
    if summarising.combine is Combine.SPLIT:
        return _due_by_budget(rules, summarising, history, shares)
    return _due_by_count(summarising, history)


def _due_by_count(summarising: Summarising, history: History) -> Due | None:
    """Return the summary that is due once enough exchanges are complete, after due merges."""
    end = _end_of_block(summarising, history)
    summaries = history.summaries
    is_list = summarising.combine is Combine.APPEND
    if is_list and summarising.most is not None:
        excess = len(summaries) + (end is not None) - summarising.most
        if excess > 0:
            return _merge(summarising, summaries[: excess + 1])
    if end is None:
        return None
    first = history.boundary + 1
    block = EventNumbers(first, end.seq)
    tokens, chars = _longest(summarising, summarising.tokens or 0)
    if is_list or not summaries:
        kind = TurnKind.BLOCK if is_list else TurnKind.FULL
        return Due(kind, first, end.seq, end.exchange, block, (), tokens, chars)
    previous = tuple(summary.summary_id for summary in summaries)
    start = summaries[0].first_seq
    return Due(TurnKind.RECURSIVE, start, end.seq, end.exchange, block, previous, tokens, chars)


class _End(NamedTuple):
    """End of the range that a summary covers."""

    seq: int
    exchange: int


def _end_of_block(summarising: Summarising, history: History) -> _End | None:
    """Return the end of the next block of exchanges, or None if it is not complete.

    Fully erased exchanges do not form a block: the block extends to the next readable exchange.
    """
    turns = history.turns
    if summarising.combine is Combine.APPEND and (again := _gap(turns, history.until)):
        return again
    oldest = 0 if history.is_tail else turns[0].exchange if turns else history.complete + 1
    target = next_target(summarising, history.behind, oldest)
    if not is_reached(summarising, history.complete, target):
        return None
    after = next((turn for turn in turns if turn.exchange > target), None)
    if after is not None:
        return _End(after.seq - 1, target)
    if history.is_bounded and turns:
        # The block ends at the last event that was read; the next block continues from there.
        return _End(turns[-1].seq, min(target, turns[-1].exchange))
    return _End(turns[-1].seq if turns else history.last_seq, target)


def next_target(summarising: Summarising, behind: int, oldest: int = 0) -> int:
    """Return the exchange up to which the next summary reaches.

    `behind` is the last exchange covered, `oldest` the first readable one after it, or 0.
    """
    return max(behind + summarising.cap, oldest)


def is_reached(summarising: Summarising, complete: int, target: int) -> bool:
    """Return True if enough exchanges are complete for a summary up to `target`."""
    return target <= complete - summarising.keep


def _gap(turns: Sequence[ContextTurn], until: int | None) -> _End | None:
    within = [turn for turn in turns if until is not None and turn.seq <= until]
    return _End(until, within[-1].exchange) if until is not None and within else None


def _merge(summarising: Summarising, merged: Sequence[TurnSummary]) -> Due:
    tokens, chars = _longest(summarising, summarising.tokens or 0)
    previous = tuple(summary.summary_id for summary in merged)
    return Due(
        TurnKind.MERGE,
        merged[0].first_seq,
        merged[-1].last_seq,
        merged[-1].last_exchange,
        None,
        previous,
        tokens,
        chars,
    )


def _due_by_budget(
    rules: Rules, summarising: Summarising, history: History, shares: Shares
) -> Due | None:
    """Return the summary that is due once events exceed their share; the newest event stays."""
    turns = history.turns
    if rules.limit is None or not shares.stm or not shares.lts:
        return None
    share = _share(shares.stm, history, shares.room)
    if total(turns) <= share:
        return None
    low = min(int(Decimal(str(summarising.low_water)) * shares.stm), share)
    kept = newest_within(turns, low) or turns[-1:]
    evicted = turns[: -len(kept)]
    if not evicted and not history.is_tail:
        return None
    end = kept[0].seq - 1
    exchange = evicted[-1].exchange if evicted else kept[0].exchange
    tokens, chars = _longest(summarising, shares.lts)
    summaries = history.summaries
    needed = total(evicted) + _COUNTED + _CALLED + shares.lts
    if not summaries or _is_taken_whole(summarising, history.covered, needed, rules.limit):
        first = history.cleared_seq + 1
        return Due(TurnKind.FULL, first, end, exchange, EventNumbers(first, end), (), tokens, chars)
    previous = tuple(summary.summary_id for summary in summaries)
    read = EventNumbers(history.boundary + 1, end)
    first = summaries[0].first_seq
    return Due(TurnKind.RECURSIVE, first, end, exchange, read, previous, tokens, chars)


def _share(stm: int, history: History, room: int | None) -> int:
    """Return the token share of the events, given the existing summaries.

    The marks around the summaries belong to neither share. If the window has no other room for
    them, the share of the events shrinks, and no summary is left out.
    """
    frame = frame_of(history, history.summaries)
    framing = frame + sum(summary.framing for summary in history.summaries)
    lacking = stm + total(history.summaries) + frame - (room or 0)
    return stm - max(0, min(framing, lacking))


def _is_taken_whole(summarising: Summarising, covered: int | None, needed: int, limit: int) -> bool:
    is_asked = summarising.recompute is Recompute.FULL_UNTIL_OVERFLOW
    return is_asked and covered is not None and covered + needed <= limit


def _longest(summarising: Summarising, tokens: int) -> tuple[int, int]:
    return tokens, tokens * summarising.chars_per_token
