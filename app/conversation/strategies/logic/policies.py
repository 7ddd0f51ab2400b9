"""Complete rules of a memory policy, and the choice of the next summary by them (pure).

A summary is due once enough exchanges are complete, or once events exceed their token share.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple, TypeVar

from app.conversation.strategies.logic.rendering import newest_within, total
from app.conversation.strategies.logic.turns import (
    ContextTurn,
    Due,
    History,
    Shares,
    TurnKind,
    TurnSummary,
)
from app.kernel.wire.memory_policy import (
    AGENT_RESERVE,
    CHARS4,
    FormerSummaryRole,
    MemoryPolicy,
    Overflow,
    Recompute,
    Refresh,
    Split,
    Strategy,
    SummaryRole,
)
from app.platform.sessions.logic.event_text import EventNumbers

_T = TypeVar("_T")

DEFAULT = MemoryPolicy(strategy=Strategy.INCLUSIVE)
"""Policy that applies if neither session nor engine has one."""
_EVERY, _CAP, _SUMMARY_TOKENS = 3, 10, 250


class Combine(StrEnum):
    """Treatment of existing summaries when the next one is made."""

    APPEND = "append"
    """Existing summaries stay; the next one covers the exchanges after them."""
    REPLACE = "replace"
    """The next summary absorbs the existing ones and also covers their range."""
    SPLIT = "split"
    """Like `REPLACE`, but due when events exceed their token share, not by number of exchanges."""


@dataclass(frozen=True)
class Summarising:
    """Rules for making summaries.

    Attributes:
        cap: complete exchanges in a summary; 0 with `SPLIT`.
        keep: number of newest complete exchanges that are not summarised.
        most: maximum number of summaries at once, at least 2 with `APPEND`; None: no limit.
        tokens: maximum length of a summary; None with `SPLIT`, where the budget determines it.
        template: template of the prompt; None: the strategy's default (`prompts.py`).
    """

    combine: Combine
    cap: int
    keep: int
    most: int | None
    tokens: int | None
    chars_per_token: int
    model: str | None
    template: str | None
    recursive_template: str | None
    stm: int = 0
    lts: int = 0
    low_water: float = 1.0
    recompute: Recompute = Recompute.FULL_UNTIL_OVERFLOW

    @property
    def is_unlimited_list(self) -> bool:
        """True if summaries are appended, in any number."""
        return self.combine is Combine.APPEND and self.most is None


@dataclass(frozen=True)
class Rules:
    """A policy with every default filled in.

    Attributes:
        limit: tokens of the window, including reserved ones; None: no limit.
        window: number of complete exchanges shown; None: no limit; see also `window_tokens`.
        shows: whether events of the session are shown.
        may_omit: whether events that do not fit are left out; otherwise they are an error.
        summarising: rules for making summaries; None: no summaries.
    """

    strategy: Strategy
    limit: int | None
    reserved: int
    counter: str
    overhead: int
    human_label: str
    ai_label: str
    joiner: str
    role: SummaryRole
    shows: bool = True
    may_omit: bool = True
    window: int | None = None
    window_tokens: int | None = None
    count_pending: bool = True
    summarising: Summarising | None = None

    @property
    def key(self) -> str:
        """Key under which the summaries of a policy are stored.

        Settings that do not affect a summary are excluded: roles, and limits of the window except
        with `SPLIT`. Strategies with equal effective settings share a key. Fields that are None
        are excluded, so that a setting added by a later release does not change existing keys.
        """
        parts: dict[str, object] = {"labels": [self.human_label, self.ai_label]}
        if self.summarising is not None:
            settings = asdict(self.summarising)
            parts |= {name: value for name, value in settings.items() if value is not None}
            if self.summarising.combine is Combine.SPLIT:
                parts |= {"limit": self.limit, "reserved": self.reserved, "counter": self.counter}
        text = json.dumps(parts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def rules_of(policy: MemoryPolicy) -> Rules:
    """Return the rules of a policy, with defaults filled in."""
    is_agents = policy.strategy is Strategy.AGENT_SUMMARY
    reserve = AGENT_RESERVE if is_agents else 0
    return Rules(
        strategy=policy.strategy,
        limit=policy.token_limit,
        reserved=_or(policy.reserve_output_tokens, reserve),
        counter=_or(policy.counter, CHARS4),
        overhead=_or(policy.per_message_overhead, 0),
        human_label=_or(policy.human_label, "Human"),
        ai_label=_or(policy.ai_label, "AI"),
        joiner=_or(policy.joiner, "\n"),
        role=_or(policy.summary_role, _former_role(policy)),
        shows=policy.strategy is not Strategy.NONE,
        may_omit=policy.strategy is not Strategy.INCLUSIVE or policy.on_overflow is Overflow.OMIT,
        window=policy.window,
        window_tokens=policy.window_tokens,
        count_pending=_or(policy.count_pending, True),
        summarising=_summarising(policy),
    )


def _former_role(policy: MemoryPolicy) -> SummaryRole:
    is_system = policy.lts_role is FormerSummaryRole.SYSTEM
    return SummaryRole.SYSTEM if is_system else SummaryRole.USER


def _summarising(policy: MemoryPolicy) -> Summarising | None:
    choice = {
        Strategy.EVERY_N: (
            Combine.REPLACE if policy.refresh is Refresh.WHOLE else Combine.APPEND,
            _or(policy.every, _EVERY),
        ),
        Strategy.ABSTRACTION_INCLUSIVE: (Combine.APPEND, _or(policy.cap, _CAP)),
        Strategy.FULLY_ABSTRACTED: (Combine.REPLACE, _or(policy.cap, _CAP)),
        Strategy.AGENT_SUMMARY: (Combine.SPLIT, 0),
    }.get(policy.strategy)
    if choice is None:
        return None
    combine, cap = choice
    if policy.max_abstractions == 1 and combine is Combine.APPEND:
        combine = Combine.REPLACE  # a list with at most one summary is replaced each time
    split = _or(policy.split, Split(stm=3, lts=1)) if combine is Combine.SPLIT else None
    return Summarising(
        combine=combine,
        cap=cap,
        keep=_or(policy.keep_recent, 0),
        most=policy.max_abstractions if combine is Combine.APPEND else None,
        tokens=None if split else _or(policy.summary_tokens, _SUMMARY_TOKENS),
        chars_per_token=_or(policy.chars_per_token, 4),
        model=policy.summary_model,
        template=policy.template,
        recursive_template=policy.recursive_template,
        stm=split.stm if split else 0,
        lts=split.lts if split else 0,
        low_water=_or(policy.low_water, 1.0),
        recompute=_or(policy.recompute, Recompute.FULL_UNTIL_OVERFLOW),
    )


def _or(value: _T | None, default: _T) -> _T:
    return default if value is None else value


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
    """Return the summary that is due once enough exchanges are complete.

    Summaries are merged before the next one is added, to keep their number within the limit.
    """
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

    `behind` is the last exchange covered. `oldest` is the first readable one after it, or 0 if
    unknown.
    """
    return max(behind + summarising.cap, oldest)


def is_reached(summarising: Summarising, complete: int, target: int) -> bool:
    """Return True if enough exchanges are complete for a summary up to `target`."""
    return target <= complete - summarising.keep


def _gap(turns: Sequence[ContextTurn], until: int | None) -> _End | None:
    """Return the end of a gap between summaries, if it has readable events."""
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
    """Return the summary that is due once events exceed their share.

    The newest event always stays.
    """
    turns = history.turns
    if rules.limit is None or not shares.stm or not shares.lts:
        return None
    share = _share(shares.stm, history.summaries, shares.room)
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


def _share(stm: int, summaries: Sequence[TurnSummary], room: int | None) -> int:
    """Return the token share of the events, given the existing summaries.

    The marks around a summary belong to neither share. If the window has no other room for them,
    the share of the events shrinks, and no summary is left out.
    """
    framing = sum(summary.framing for summary in summaries)
    lacking = stm + total(summaries) - (room or 0)
    return stm - max(0, min(framing, lacking))


def _is_taken_whole(summarising: Summarising, covered: int | None, needed: int, limit: int) -> bool:
    is_asked = summarising.recompute is Recompute.FULL_UNTIL_OVERFLOW
    return is_asked and covered is not None and covered + needed <= limit


def _longest(summarising: Summarising, tokens: int) -> tuple[int, int]:
    return tokens, tokens * summarising.chars_per_token
