"""Complete rules of a memory policy: its strategy, with defaults filled in (pure)."""

import hashlib
import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TypeVar

from app.kernel.wire.memory_policy import (
    AGENT_RESERVE,
    CARRY_OVER_TOKENS,
    CHARS4,
    CarryOver,
    FormerSummaryRole,
    MemoryPolicy,
    Overflow,
    Recompute,
    Refresh,
    Split,
    Strategy,
    SummaryRole,
)

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
        system_instruction: False if the summariser takes no system instruction; never True, so that
            keys of policies stay as they were.
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
    system_instruction: bool | None = None

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
        framing: whether marks around the summaries declare them to be data.
        may_omit: whether events that do not fit are left out; otherwise they are an error.
        carry_over: content of former sessions to show, up to `carry_over_tokens`; None: none.
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
    framing: bool = True
    shows: bool = True
    may_omit: bool = True
    window: int | None = None
    window_tokens: int | None = None
    count_pending: bool = True
    carry_over: CarryOver | None = None
    carry_over_tokens: int = CARRY_OVER_TOKENS
    summarising: Summarising | None = None

    @property
    def key(self) -> str:
        """Key under which the summaries of a policy are stored.

        Settings that do not affect a summary are excluded: roles, marks, content of former
        sessions, and, except with `SPLIT`, limits of the window. Fields that are None are excluded,
        so that a setting added by a later release does not change existing keys.
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
        framing=_or(policy.framing, True),
        shows=policy.strategy is not Strategy.NONE,
        may_omit=policy.strategy is not Strategy.INCLUSIVE or policy.on_overflow is Overflow.OMIT,
        window=policy.window,
        window_tokens=policy.window_tokens,
        count_pending=_or(policy.count_pending, True),
        carry_over=policy.carry_over,
        carry_over_tokens=_or(policy.carry_over_tokens, CARRY_OVER_TOKENS),
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
        system_instruction=False if policy.system_instruction is False else None,
    )


def _or(value: _T | None, default: _T) -> _T:
    return default if value is None else value
