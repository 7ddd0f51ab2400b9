"""What fits in a budget of tokens, what is left out of a session, and what is refused (pure)."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from app.kernel.errors import InvalidArgument, Reason
from app.kernel.wire.memory_policy import AGENT_RESERVE

_CHARS_PER_TOKEN = 4


class BudgetTooSmall(InvalidArgument):
    """What has to be shown does not fit in the window; the numbers are told.

    Args:
        what: what needs so many tokens, with its verb.
        needed: the tokens of all that has to be shown, what is fixed included.
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
    """What takes tokens of a prompt."""

    @property
    def cost(self) -> int:
        """How many."""
        ...


_T = TypeVar("_T", bound=Costly)


def by_length(text: str) -> int:
    """Return about how many tokens a text has: a quarter of its characters, rounded up."""
    return -(-len(text) // _CHARS_PER_TOKEN)


def newest_within(items: Sequence[_T], budget: int | None) -> Sequence[_T]:
    """Return the newest of the items, the last, that a budget of tokens allows; None: all."""
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
    """Return the ranges from 1 to `last` that are in none of those told, which are ascending."""
    found: list[tuple[int, int]] = []
    reached = 0
    for start, end in [*told, (last + 1, last + 1)]:
        if start > reached + 1:
            found.append((reached + 1, start - 1))
        reached = end
    return found
