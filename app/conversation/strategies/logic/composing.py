"""Choice of the events to show, summarise or omit under a token budget (pure).

All strategies share this code; they differ only in their `Rules`. In every composition each event
of the session is shown verbatim, covered by exactly one shown summary, or omitted. An erased event
that no summary covers counts as omitted.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from app.conversation.strategies.logic.policies import Combine, Rules
from app.conversation.strategies.logic.turns import (
    Composition,
    ContextTurn,
    Fixed,
    History,
    Shares,
    TurnSummary,
)
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


def gaps(covered: Iterable[tuple[int, int]], last: int) -> Sequence[tuple[int, int]]:
    """Return the ranges between 1 and `last` that the ascending ranges `covered` leave out."""
    missing: list[tuple[int, int]] = []
    reached = 0
    for start, end in [*covered, (last + 1, last + 1)]:
        if start > reached + 1:
            missing.append((reached + 1, start - 1))
        reached = end
    return missing


def shares_of(rules: Rules, fixed: Fixed) -> Shares:
    """Divide the window into shares. Without a limit, `SPLIT` has no shares and never summarises.

    Raises:
        BudgetTooSmall: the fixed parts alone do not fit.
    """
    if rules.limit is None:
        return Shares(None)
    needed = fixed.system + fixed.pending
    room = rules.limit - rules.reserved - needed
    if room < 0:
        what = "The system prompt and the pending message need"
        raise BudgetTooSmall(what, rules.limit, rules.reserved, needed)
    summarising = rules.summarising
    if summarising is None or summarising.combine is not Combine.SPLIT:
        return Shares(room)
    divided = room if rules.count_pending else room + fixed.pending
    unit = divided // (summarising.stm + summarising.lts)
    return Shares(room, summarising.stm * unit, summarising.lts * unit)


def compose(
    rules: Rules,
    history: History,
    shares: Shares,
    least: Callable[[ContextTurn], int] | None = None,
) -> Composition:
    """Choose the summaries and events of a context.

    If they exceed the budget, the oldest events are omitted first, then the oldest summaries. If
    even the newest event does not fit, it is cut to the remaining room. This requires room for at
    least `least(event)` tokens, its shortest form; the default is the overhead plus one.

    Raises:
        BudgetTooSmall: all events must be shown but do not fit.
    """
    if not rules.shows:
        return Composition((), (), _left_out(history, (), ()), shares.room)
    turns = _in_window(rules, history)
    if not rules.may_omit:
        _check_fits(rules, turns, shares)
    summaries = newest_within(history.summaries, shares.room)
    left = _without(shares.room, summaries)
    space = min((most for most in (left, rules.window_tokens) if most is not None), default=None)
    shown = newest_within(turns, space)
    cut = _cut(turns, shown, space, least or (lambda _: rules.overhead + 1))
    if cut:
        shown = turns[-1 - len(shown) :]
        left = None if left is None or space is None else left - space
    else:
        left = _without(left, shown)
    return Composition(summaries, shown, _left_out(history, summaries, shown), left, cut)


def _check_fits(rules: Rules, turns: Sequence[ContextTurn], shares: Shares) -> None:
    if rules.limit is None or shares.room is None or total(turns) <= shares.room:
        return
    needed = rules.limit - rules.reserved - shares.room + total(turns)
    what = "With all events of the session, the context needs at least"
    raise BudgetTooSmall(what, rules.limit, rules.reserved, needed)


def _cut(
    turns: Sequence[ContextTurn],
    shown: Sequence[ContextTurn],
    space: int | None,
    least: Callable[[ContextTurn], int],
) -> dict[int, int]:
    """Return the seq and token limit of the newest event with content, if it must be cut."""
    if space is None or len(shown) == len(turns) or total(shown):
        return {}
    turn = turns[-1 - len(shown)]
    return {turn.seq: space} if space >= least(turn) else {}


def _in_window(rules: Rules, history: History) -> Sequence[ContextTurn]:
    """Return the events of the newest complete exchanges and of a current incomplete one."""
    turns = history.turns
    if rules.window is None:
        return turns
    return [turn for turn in turns if turn.exchange > history.complete - rules.window]


def _without(budget: int | None, items: Iterable[Costly]) -> int | None:
    return None if budget is None else budget - total(items)


def _left_out(
    history: History, summaries: Sequence[TurnSummary], turns: Sequence[ContextTurn]
) -> Sequence[tuple[int, int]]:
    covered = [(summary.first_seq, summary.last_seq) for summary in summaries]
    return gaps([*covered, *((turn.seq, turn.seq) for turn in turns)], history.last_seq)
