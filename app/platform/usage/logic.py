"""Costs of model calls (pure).

Amounts are rounded to nine decimal places: a token of the cheapest model costs more than that. A
call of a model without a configured price has an unknown cost. So has each sum that includes it,
unless the number of such calls stands next to the sum of the others.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

from app.kernel.errors import InvalidArgument

_MONEY_DIGITS = 9
_PRICED_TOKENS = 1_000_000
_COUNTS = ("modelCallCount", "inputTokenCount", "outputTokenCount", "modelMilliseconds")
FIELD = "groupBy"

# Kinds of work in addition to the kinds of operations.
RECALL: Final = "recall"
"""Recall of events that are outside the context."""
QUERY: Final = "query"
"""Reads of task memory: questions and summaries."""


class Price(Protocol):
    """Prices per million tokens of a model: `app.settings.model_settings.ModelPrice`."""

    @property
    def input(self) -> float:
        """Price of prompt tokens."""
        ...

    @property
    def output(self) -> float:
        """Price of response tokens."""
        ...


class PriceList(Protocol):
    """The prices of models by the models' ids, and their currency: `app.settings.Settings`."""

    @property
    def model_prices(self) -> Mapping[str, Price]:
        """The price of each model that has one."""
        ...

    @property
    def price_currency(self) -> str:
        """The currency of all prices."""
        ...


class Spent(Protocol):
    """The consumption of calls: `app.adapters.llm.ports.Usage`, or a row of the day's sums."""

    @property
    def calls(self) -> int:
        """Requests to the model, including failed ones."""
        ...

    @property
    def input_tokens(self) -> int:
        """Tokens of the prompts."""
        ...

    @property
    def output_tokens(self) -> int:
        """Tokens of the answers."""
        ...

    @property
    def milliseconds(self) -> int:
        """Time from request to answer."""
        ...


class Metered(Protocol):
    """The consumption of a piece of work: `app.adapters.llm.ports.Meter`."""

    @property
    def by_model(self) -> Mapping[str, Spent]:
        """The consumption by model id."""
        ...


def cost_of(model_id: str, spent: Spent, prices: Mapping[str, Price]) -> float | None:
    """Return the cost of one model's calls; None without a price for exactly this id."""
    price = prices.get(model_id)
    if price is None:
        return None
    amount = spent.input_tokens * price.input + spent.output_tokens * price.output
    return amount / _PRICED_TOKENS


def money(amounts: Sequence[float | None], currency: str) -> dict[str, Any] | None:
    """Return the sum in wire form; None if there are no amounts or one is unknown."""
    known = [amount for amount in amounts if amount is not None]
    if not known or len(known) < len(amounts):
        return None
    return {"amount": round(sum(known), _MONEY_DIGITS), "currency": currency}


@dataclass(frozen=True)
class Sums:
    """The consumption of several pieces of work together."""

    calls: int
    input_tokens: int
    output_tokens: int
    milliseconds: int

    @classmethod
    def of(cls, spent: Iterable[Spent]) -> "Sums":
        """Return the sums of several pieces."""
        pieces = list(spent)
        return cls(
            sum(piece.calls for piece in pieces),
            sum(piece.input_tokens for piece in pieces),
            sum(piece.output_tokens for piece in pieces),
            sum(piece.milliseconds for piece in pieces),
        )


def details(meter: Metered, settings: PriceList) -> dict[str, Any]:
    """Return the cost fields of an operation's metadata.

    The counts are always present, `cost` only if each called model has a price in the settings.
    """
    spent = meter.by_model
    total = Sums.of(spent.values())
    amounts = [cost_of(model, usage, settings.model_prices) for model, usage in spent.items()]
    cost = money(amounts, settings.price_currency)
    return {
        "modelCallCount": total.calls,
        "inputTokenCount": total.input_tokens,
        "outputTokenCount": total.output_tokens,
        "modelMilliseconds": total.milliseconds,
        **({} if cost is None else {"cost": cost}),
    }


def with_earlier(own: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return `details` with an operation's earlier costs; None as `cost` removes the sum."""
    parts = [part for part in (earlier, own) if part.get("modelCallCount")]
    sums = {name: sum(part.get(name, 0) for part in parts) for name in _COUNTS}
    costs = [part.get("cost") or {} for part in parts]
    return {**own, **sums, **({"cost": _sum(costs)} if any(costs) else {})}


def _sum(costs: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    currencies = {cost.get("currency") for cost in costs}
    if len(currencies) > 1:
        return None
    return money([cost.get("amount") for cost in costs], str(currencies.pop()))


def is_used_up(used_tokens: int, limit: int | None) -> bool:
    """Return True if a day's token budget is used up; without a limit it never is."""
    return limit is not None and used_tokens >= limit


class Dimension(StrEnum):
    """A property of usage; sums are ordered by them in this order."""

    DAY = "day"
    MODEL = "model"
    KIND = "kind"


_USUAL = (Dimension.DAY, Dimension.MODEL)


def read_grouping(text: str | None) -> Sequence[Dimension]:
    """Return the dimensions that a text names; day and model without any."""
    if text is None or not text.strip():
        return _USUAL
    names = {name.strip() for name in text.split(",")}
    if not names <= set(Dimension):
        accepted = ", ".join(Dimension)
        raise InvalidArgument.of_field(FIELD, f"must be some of {accepted}, separated by commas.")
    return [dimension for dimension in Dimension if dimension in names]
