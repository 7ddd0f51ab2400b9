"""Token budgets: selection of the items that fit, and the error for too small a window (pure)."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from app.kernel.errors import InvalidArgument, Reason
from app.kernel.wire.memory_policy import AGENT_RESERVE


class BudgetTooSmall(InvalidArgument):
    """The mandatory content does not fit into the window; the error reports the numbers.

    Args:
        what: subject and verb that begin the message, as in "The system prompt needs".
        needed: tokens of all mandatory content, including the fixed parts.
    """

    def __init__(self, what: str, limit: int, reserved: int, needed: int) -> None:
        numbers = {"limit": limit, "reserved": reserved, "needed": needed}
        super().__init__(
            f"{what} {needed} tokens; the limit of {limit} leaves"
            f" {max(0, limit - reserved)} beside the {reserved} that reserveOutputTokens keeps"
            f" for the answer (unless given, {AGENT_RESERVE} with agent_summary, else 0).",
            Reason.BUDGET_TOO_SMALL,
            metadata={name: str(number) for name, number in numbers.items()},
        )


class Costly(Protocol):
    """Anything that takes tokens of a prompt."""

    @property
    def cost(self) -> int:
        """Number of tokens."""
        ...


_T = TypeVar("_T", bound=Costly)


def newest_within(items: Sequence[_T], budget: int | None) -> Sequence[_T]:
    """Return the newest (last) items that fit into a token budget, or all items without one."""
    if budget is None:
        return items
    count = 0
    for item in reversed(items):
        budget -= item.cost
        if budget < 0:
            break
        count += 1
    return items[len(items) - count :]


def total(items: Iterable[Costly]) -> int:
    """Return the tokens of all items."""
    return sum(item.cost for item in items)


def gaps(told: Iterable[tuple[int, int]], last: int) -> Sequence[tuple[int, int]]:
    """Return the ranges between 1 and `last` that `told` does not cover; `told` is ascending."""
    missing: list[tuple[int, int]] = []
    reached = 0
    for start, end in [*told, (last + 1, last + 1)]:
        if start > reached + 1:
            missing.append((reached + 1, start - 1))
        reached = end
    return missing
