"""Cost estimates as a text table (pure)."""

import hashlib
from collections.abc import Sequence

from app.conversation.costs.logic import plain
from app.conversation.costs.schemas import ContextCost, EstimateContextCostsResponse
from app.conversation.strategies.logic.policies import rules_of
from app.kernel.wire.memory_policy import MemoryPolicy, Strategy

_MAX_LABEL_CHARS = 60
_TOLD_APART_CHARS = 4
_HEADS = (
    "Messages",
    "Strategy",
    "Tokens",
    "Last cost",
    "Cost",
    "Summaries",
    "Largest prompt",
    "First too large",
    "Saved",
    "Best cap",
)
_IN_WORDS = frozenset({1, len(_HEADS) - 1})
"""Columns that hold text."""


def label(policy: MemoryPolicy) -> str:
    """Return a short name of a policy: its strategy, its cap, and its other settings.

    A name that is too long is cut and ends in a digest, which keeps it distinct.
    """
    rules = rules_of(policy).summarising
    field = "every" if policy.strategy is Strategy.EVERY_N else "cap"
    settings = {field: rules.cap} if rules is not None and rules.cap else {}
    settings |= {name: value for name, value in policy.wire().items() if name != "strategy"}
    shown = [f"{name}={value}" for name, value in settings.items()]
    whole = " ".join([policy.strategy.value, *shown])
    if len(whole) <= _MAX_LABEL_CHARS:
        return whole
    end = f"\u2026 #{hashlib.sha256(whole.encode()).hexdigest()[:_TOLD_APART_CHARS]}"
    return whole[: _MAX_LABEL_CHARS - len(end)] + end


def table(estimates: EstimateContextCostsResponse) -> str:
    """Return the estimates as a table; empty columns are left out."""
    rows = [_cells(row) for row in estimates.rows]
    kept = [place for place in range(len(_HEADS)) if any(row[place] for row in rows)]
    widths = {place: max(len(line[place]) for line in (_HEADS, *rows)) for place in kept}
    return "\n".join(
        "  ".join(
            line[place].ljust(width) if place in _IN_WORDS else line[place].rjust(width)
            for place, width in widths.items()
        ).rstrip()
        for line in (_HEADS, *rows)
    )


def _cells(row: ContextCost) -> Sequence[str]:
    best, saved = row.best_cap, row.saved_vs_inclusive
    return (
        _number(row.messages),
        label(row.policy),
        _number(row.final_tokens if row.total_tokens is None else row.total_tokens),
        "" if row.last_cost is None else plain(row.last_cost),
        plain(row.cost),
        _number(row.summaries),
        _number(row.largest_prompt_tokens),
        _number(row.first_overflow_message),
        "" if saved is None else f"{saved:z.1%}",
        "" if best is None else f"{best.cap} ({plain(best.cost)})",
    )


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"
