"""Cost estimates of strategies, for the API and the command line.

Pure; an estimate of long sessions can take several seconds.
"""

from dataclasses import replace
from decimal import Decimal

from app.conversation.costs.logic.accounting import (
    Billed,
    Blocks,
    Totals,
    cost_of,
    saved,
)
from app.conversation.costs.logic.published import NOTE, PublishedCourse
from app.conversation.costs.logic.simulated import Shared
from app.conversation.costs.schemas import (
    Accounting,
    BestCap,
    BilledTokens,
    ContextCost,
    EstimateContextCostsRequest,
    EstimateContextCostsResponse,
    MessageTokens,
)
from app.conversation.costs.services.cases import Case, cases_of
from app.conversation.strategies.logic.policies import Combine
from app.kernel.wire.memory_policy import Strategy

MAX_CAP = 1_000
"""Maximum cap of a policy."""
_SHARED_NOTE = (
    "Counted as two events a message, with each summary as long as its share of the window (an"
    " upper bound), and made before the prompt that needs it."
)
_HALVED_NOTE = " Each event is taken to be half a message."


def estimate(request: EstimateContextCostsRequest) -> EstimateContextCostsResponse:
    """Return the estimates of a request.

    Raises:
        InvalidArgument: a field conflicts with the others; the error names it.
    """
    cases = cases_of(request)
    if request.accounting is Accounting.PUBLISHED_TABLES:
        rows = {
            (end, place): _published_row(case, end)
            for place, case in enumerate(cases)
            for end in request.messages
        }
    else:
        rows = {
            (end, place): row
            for place, case in enumerate(cases)
            for end, row in _rows(case, request).items()
        }
    ordered = [rows[end, place] for end in request.messages for place in range(len(cases))]
    note = NOTE if request.accounting is Accounting.PUBLISHED_TABLES else None
    return EstimateContextCostsResponse(accounting=request.accounting, rows=ordered, note=note)


def _rows(case: Case, request: EstimateContextCostsRequest) -> dict[int, ContextCost]:
    ends = sorted(set(request.messages))
    all_totals = case.course.totals(ends, case.window)
    return {
        end: _row(case, request, end, totals) for end, totals in zip(ends, all_totals, strict=True)
    }


def _row(case: Case, request: EstimateContextCostsRequest, end: int, totals: Totals) -> ContextCost:
    billed = Billed.of(case.course.sizes, end, totals)
    cost = billed.cost(case.prices)
    (whole,) = Blocks.without_summaries(case.course.sizes, None).totals([end], None)
    inclusive = Billed.of(case.course.sizes, end, whole).cost(case.prices)
    return ContextCost(
        strategy=case.policy.strategy,
        policy=case.policy,
        messages=end,
        last_prompt_tokens=totals.last,
        largest_prompt_tokens=totals.largest,
        total_tokens=sum(billed),
        billed_tokens=BilledTokens(**billed._asdict()),
        cost=cost,
        summaries=totals.summaries.calls,
        first_overflow_message=totals.first_over,
        saved_vs_inclusive=_saved(case, cost, inclusive),
        best_cap=_best_cap(case, end, inclusive) if request.find_best_cap else None,
        note=_note(case, request.message_tokens),
    )


def _note(case: Case, tokens: MessageTokens) -> str | None:
    if not isinstance(case.course, Shared):
        return None
    return _SHARED_NOTE + ("" if tokens.is_split else _HALVED_NOTE)


def _saved(case: Case, cost: Decimal, inclusive: Decimal) -> Decimal | None:
    if case.policy.strategy is Strategy.INCLUSIVE or not inclusive:
        return None
    return saved(cost, inclusive)


def _best_cap(case: Case, end: int, inclusive: Decimal) -> BestCap | None:
    """Return the cheapest cap, the smallest of equal ones, or None if no cap saves money."""
    course = case.course
    if not isinstance(course, Blocks) or not course.is_summarised:
        return None
    best: BestCap | None = None
    lowest = inclusive
    for cap in range(1, min(end, MAX_CAP) + 1):
        totals = replace(course, cap=cap).totals([end], None)[0]
        billed = Billed.of(course.sizes, end, totals)
        cost = billed.cost(case.prices)
        if cost < lowest:
            lowest = cost
            best = BestCap(cap=cap, total_tokens=sum(billed), cost=cost)
    return best


def _published(case: Case) -> PublishedCourse:
    made = case.rules.summarising
    is_replaced = made is not None and made.combine is Combine.REPLACE
    return PublishedCourse(case.course.sizes, made.cap if made else None, is_replaced)


def _published_row(case: Case, end: int) -> ContextCost:
    price = case.prices.prompt_in
    figures = _published(case).figures(end)
    cost = cost_of(figures.total, price)
    whole = PublishedCourse(case.course.sizes, cap=None, is_replaced=False).figures(end)
    return ContextCost(
        strategy=case.policy.strategy,
        policy=case.policy,
        messages=end,
        final_tokens=figures.final,
        last_cost=cost_of(figures.last, price),
        cost=cost,
        summaries=figures.summaries,
        saved_vs_inclusive=_saved(case, cost, cost_of(whole.total, price)),
    )
