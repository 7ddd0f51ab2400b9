"""Cost estimates of strategies, for the API and, as a text table, for the command line (pure).

An estimate of long sessions can take several seconds.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from app.conversation.costs.logic import (
    NOTE,
    Billed,
    Blocks,
    Prices,
    PublishedCourse,
    SharedWindow,
    Sizes,
    Totals,
    cost_of,
    plain,
    saved,
)
from app.conversation.costs.schemas import (
    MAX_PIECE_TOKENS,
    Accounting,
    BestCap,
    BilledTokens,
    ContextCost,
    EstimateContextCostsRequest,
    EstimateContextCostsResponse,
    MessageTokens,
    ModelPrices,
    PlainPrices,
)
from app.conversation.strategies.logic.policies import Combine, Rules, Summarising, rules_of
from app.conversation.strategies.logic.turns import SUMMARY_FRAME
from app.kernel.errors import InvalidArgument
from app.kernel.wire.memory_policy import BUILTIN, MemoryPolicy, Recompute, Strategy
from app.language.tokens import estimate_tokens
from app.settings.settings import ModelPrice

MAX_CAP = 1_000
"""Maximum cap of a policy."""
_SHARED_NOTE = (
    "Counted as two events a message, with each summary as long as its share of the window (an"
    " upper bound), and made before the prompt that needs it."
)
_HALVED_NOTE = " Each event is taken to be half a message."
_CARRIED_NOTE = (
    " Former sessions count with all of `carryOverTokens`; a context carries over only what the"
    " session's own content leaves free, so it exceeds no limit for them."
)
_DEFAULT_PRICE = Decimal("0.002")
_FRAME_TOKENS = estimate_tokens(SUMMARY_FRAME)
_FREE = ModelPrices(input_per_1k=Decimal(0), output_per_1k=Decimal(0))


@dataclass(frozen=True)
class Case:
    """A strategy with its cost model and prices; `window` bounds a prompt with its answer."""

    policy: MemoryPolicy
    rules: Rules
    course: Blocks | SharedWindow
    prices: Prices
    window: int | None


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


@dataclass(frozen=True)
class ConfiguredPrices:
    """The prices in the settings, of a million tokens by model.

    Attributes:
        aliases: the model by each other name of it.
        default: the model of the service, or `builtin`.
    """

    by_million: Mapping[str, ModelPrice]
    aliases: Mapping[str, str]
    default: str
    currency: str

    def estimate(self, request: EstimateContextCostsRequest) -> EstimateContextCostsResponse:
        """Return the estimates of a request at these prices; errors are as for `estimate`."""
        for field in ("prices", "models"):
            if getattr(request, field) is not None:
                raise InvalidArgument.of_field(field, "must be absent with configuredPrices.")
        answering, summarising = request.model or self.default, request.summary_model
        named, called = {answering}, {answering}
        for policy in request.strategies:
            summariser = policy.summary_model or summarising or self.default
            named.add(summariser)
            if rules_of(policy).summarising is not None:
                called.add(summariser)
        prices = {name: self._price_of(name) for name in named}
        unpriced = sorted(name for name in called - {BUILTIN} if prices[name] is None)
        response = estimate(
            request.model_copy(
                update={
                    "models": {name: price or _FREE for name, price in prices.items()},
                    "model": answering,
                    "summary_model": summarising or self.default,
                }
            )
        )
        found: dict[str, Any] = {
            "currency": self.currency,
            "priced_models": sorted(self.by_million),
        }
        found["model"] = None if answering == BUILTIN else answering
        return response.model_copy(update={**found, "unpriced_models": unpriced or None})

    def _price_of(self, name: str) -> ModelPrices | None:
        price = self.by_million.get(self.aliases.get(name, name))
        if price is None:
            return None
        return ModelPrices(
            input_per_1k=Decimal(str(price.input)).scaleb(-3),
            output_per_1k=Decimal(str(price.output)).scaleb(-3),
        )


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
    if not isinstance(case.course, SharedWindow):
        return None
    halved = "" if tokens.is_split else _HALVED_NOTE
    return _SHARED_NOTE + halved + ("" if case.rules.carry_over is None else _CARRIED_NOTE)


def _saved(case: Case, cost: Decimal, inclusive: Decimal) -> Decimal | None:
    if case.policy.strategy is Strategy.INCLUSIVE or not inclusive:
        return None
    return saved(cost, inclusive)


def _best_cap(case: Case, end: int, inclusive: Decimal) -> BestCap | None:
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


def _published_row(case: Case, end: int) -> ContextCost:
    price, rules = case.prices.prompt_in, case.rules.summarising
    is_replaced = rules is not None and rules.combine is Combine.REPLACE
    course = PublishedCourse(case.course.sizes, rules.cap if rules else None, is_replaced)
    figures = course.figures(end)
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


def cases_of(request: EstimateContextCostsRequest) -> Sequence[Case]:
    """Return the strategies of a request with their cost models and prices."""
    if not request.message_tokens.message:
        raise InvalidArgument.of_field("messageTokens", "must have at least one token.")
    cases = [_case(request, place) for place in range(len(request.strategies))]
    if request.accounting is Accounting.PUBLISHED_TABLES:
        _check_published(request, cases)
    return cases


def _case(request: EstimateContextCostsRequest, place: int) -> Case:
    policy = request.strategies[place]
    rules = rules_of(policy)
    field = f"strategies[{place}]"
    prices = _prices(request, policy, field)
    window = policy.token_limit or request.context_window
    sizes = _sizes(request, policy, field)
    if rules.framing and request.accounting is not Accounting.PUBLISHED_TABLES:
        sizes = replace(sizes, frame=_FRAME_TOKENS)
    summarising = rules.summarising
    course: Blocks | SharedWindow
    if summarising is None:
        course = Blocks.without_summaries(sizes, _kept(rules, request))
    elif summarising.combine is Combine.SPLIT:
        course = _shared(rules, summarising, request, sizes, field)
    else:
        course = blocks_of(summarising, sizes)
    if rules.carry_over is not None and request.accounting is not Accounting.PUBLISHED_TABLES:
        # The marks around it stand in every prompt, also before the first summary.
        system = sizes.system + rules.carry_over_tokens + sizes.frame
        course = replace(course, sizes=replace(course.sizes, system=system, frame=0))
    _, answer = _events(request.message_tokens)
    if window is not None:
        # The estimates already include the answer, but more tokens may be reserved for it.
        window -= max(0, rules.reserved - answer)
    return Case(policy, rules, course, prices, window)


def _sizes(request: EstimateContextCostsRequest, policy: MemoryPolicy, field: str) -> Sizes:
    summary = policy.summary_tokens
    if summary is not None and summary > MAX_PIECE_TOKENS:
        described = f"must be at most {MAX_PIECE_TOKENS} in an estimate."
        raise InvalidArgument.of_field(f"{field}.summaryTokens", described)
    return Sizes(
        system=request.system_tokens,
        user=request.message_tokens.user,
        assistant=request.message_tokens.assistant,
        summary=request.summary_tokens if summary is None else summary,
        overhead=request.summary_overhead_tokens,
    )


def _kept(rules: Rules, request: EstimateContextCostsRequest) -> int | None:
    """Return the maximum number of tokens of earlier messages in a prompt; None: no limit."""
    if not rules.shows:
        return 0
    bounds = []
    if rules.window is not None:
        bounds.append(rules.window * request.message_tokens.message)
    if rules.window_tokens is not None:
        bounds.append(_fitting(rules.window_tokens, request.message_tokens))
    return min(bounds, default=None)


def _fitting(most: int, tokens: MessageTokens) -> int:
    rest = most % tokens.message
    _, assistant = _events(tokens)
    if rest >= assistant:
        return most - rest + assistant
    # A single event that is too long is cut.
    return most - rest if most > rest else most


def blocks_of(summarising: Summarising, sizes: Sizes) -> Blocks:
    """Return the cost model of a strategy that summarises by number of exchanges."""
    return Blocks(
        sizes=sizes,
        cap=summarising.cap,
        keep=summarising.keep,
        most=summarising.most,
        is_replaced=summarising.combine is Combine.REPLACE,
    )


def _shared(
    rules: Rules,
    summarising: Summarising,
    request: EstimateContextCostsRequest,
    sizes: Sizes,
    field: str,
) -> SharedWindow:
    limit = rules.limit or request.context_window
    if limit is None:
        raise InvalidArgument.of_field(
            "contextWindow", f"is required by {field}, which divides it."
        )
    user, assistant = _events(request.message_tokens)
    fixed = request.system_tokens + (user if rules.count_pending else 0) + rules.reserved
    shares = summarising.stm + summarising.lts
    unit = (limit - fixed) // shares
    if unit < 1:
        named = "contextWindow" if rules.limit is None else f"{field}.tokenLimit"
        described = (
            f"must be at least {fixed + shares}: {fixed} tokens are fixed, and the rest is shared."
        )
        raise InvalidArgument.of_field(named, described)
    share = summarising.stm * unit
    spare = limit - fixed - shares * unit
    return SharedWindow(
        sizes=replace(sizes, summary=summarising.lts * unit),
        user=user,
        assistant=assistant,
        limit=limit,
        share=share,
        low=int(Decimal(str(summarising.low_water)) * share),
        is_recursive=summarising.recompute is Recompute.RECURSIVE,
        lacking=max(0, sizes.frame - spare),
    )


def _events(tokens: MessageTokens) -> tuple[int, int]:
    if tokens.is_split:
        return tokens.user, tokens.assistant
    return tokens.user - tokens.user // 2, tokens.user // 2


def _prices(request: EstimateContextCostsRequest, policy: MemoryPolicy, field: str) -> Prices:
    if request.models is None:
        return _plain_prices(request, policy, field)
    if request.prices is not None:
        raise InvalidArgument.of_field("prices", "must be absent where models are given.")
    if request.model is None:
        raise InvalidArgument.of_field("model", "is required where models are given.")
    answering = _priced(request.models, request.model, "model")
    if policy.summary_model is not None:
        summarising = _priced(request.models, policy.summary_model, f"{field}.summaryModel")
    else:
        name = request.summary_model or request.model
        summarising = _priced(request.models, name, "summaryModel")
    return Prices(
        answering.input_per_1k,
        answering.output_per_1k,
        summarising.input_per_1k,
        summarising.output_per_1k,
    )


def _priced(models: Mapping[str, ModelPrices], name: str, field: str) -> ModelPrices:
    if name in models:
        return models[name]
    if name == BUILTIN and field != "model":
        return _FREE
    raise InvalidArgument.of_field(field, "must be one of those in models.")


def _plain_prices(request: EstimateContextCostsRequest, policy: MemoryPolicy, field: str) -> Prices:
    summarising = {
        "summaryModel": request.summary_model,
        f"{field}.summaryModel": policy.summary_model,
    }
    for name, model in {"model": request.model, **summarising}.items():
        if model is not None and (model != BUILTIN or name not in summarising):
            raise InvalidArgument.of_field(name, "needs models, with the prices of each.")
    prices = request.prices or PlainPrices()
    prompt_in = _or(prices.input_per_1k, _DEFAULT_PRICE)
    prompt_out = _or(prices.output_per_1k, prompt_in)
    if (policy.summary_model or request.summary_model) == BUILTIN:
        return Prices(prompt_in, prompt_out, Decimal(0), Decimal(0))
    return Prices(
        prompt_in,
        prompt_out,
        _or(prices.summary_input_per_1k, prompt_in),
        _or(prices.summary_output_per_1k, prompt_out),
    )


def _or(price: Decimal | None, default: Decimal) -> Decimal:
    return default if price is None else price


def _check_published(request: EstimateContextCostsRequest, cases: Sequence[Case]) -> None:
    if request.find_best_cap:
        described = "needs accounting per_prompt: by the published tables, a smaller cap is always"
        raise InvalidArgument.of_field("findBestCap", f"{described} better.")
    for place, case in enumerate(cases):
        if len(set(case.prices)) > 1:
            described = "must all be the same for published_tables, which know one price alone."
            named = "prices" if request.models is None else "models"
            raise InvalidArgument.of_field(named, described)
        rules = case.rules.summarising
        if rules is None:
            is_published = case.policy.strategy is Strategy.INCLUSIVE
        else:
            is_plain = not rules.keep and rules.most is None
            is_published = is_plain and rules.combine is not Combine.SPLIT
        if not is_published:
            described = (
                "must be inclusive, abstraction_inclusive, fully_abstracted or every_n, without"
                " keepRecent and maxAbstractions, for published_tables."
            )
            raise InvalidArgument.of_field(f"strategies[{place}]", described)


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
