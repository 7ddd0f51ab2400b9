"""What calls of models cost (pure).

Money is a number rounded to nine digits after the point: a token of the cheapest model costs more
than that. Calls of a model without a configured price have no known cost, and a sum that such
calls are part of has none either: a smaller sum than the bill would be worse than none.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

_MONEY_DIGITS = 9
_PRICED_TOKENS = 1_000_000
_COUNTS = ("modelCallCount", "inputTokenCount", "outputTokenCount", "modelMilliseconds")


class Price(Protocol):
    """What a model costs, per million tokens: `app.settings.model_settings.ModelPrice`."""

    @property
    def input(self) -> float:
        """Of the tokens of prompts."""
        ...

    @property
    def output(self) -> float:
        """Of the tokens of answers."""
        ...


class Prices(Protocol):
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
    """What calls have taken: `app.adapters.llm.ports.Usage`, or a row of the day's sums."""

    @property
    def calls(self) -> int:
        """Requests to the model, failed ones too."""
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
        """Time from asking to the answer."""
        ...


class Metered(Protocol):
    """What a piece of work has spent: `app.adapters.llm.ports.Meter`."""

    @property
    def by_model(self) -> Mapping[str, Spent]:
        """The calls of each model, by the model's id."""
        ...


def cost_of(model_id: str, spent: Spent, prices: Mapping[str, Price]) -> float | None:
    """Return what calls of one model cost, or None without a price under exactly this id."""
    price = prices.get(model_id)
    if price is None:
        return None
    amount = spent.input_tokens * price.input + spent.output_tokens * price.output
    return amount / _PRICED_TOKENS


def money(amounts: Sequence[float | None], currency: str) -> dict[str, Any] | None:
    """Return the sum as it is answered; None of nothing, and where an amount is not known."""
    known = [amount for amount in amounts if amount is not None]
    if not known or len(known) < len(amounts):
        return None
    return {"amount": round(sum(known), _MONEY_DIGITS), "currency": currency}


@dataclass(frozen=True)
class Sums:
    """What several pieces have spent together."""

    calls: int
    input_tokens: int
    output_tokens: int
    milliseconds: int

    @classmethod
    def of(cls, spent: Iterable[Spent]) -> "Sums":
        """Add up."""
        found = list(spent)
        return cls(
            sum(one.calls for one in found),
            sum(one.input_tokens for one in found),
            sum(one.output_tokens for one in found),
            sum(one.milliseconds for one in found),
        )


def details(meter: Metered, settings: Prices) -> dict[str, Any]:
    """Return what an operation's metadata says of its costs.

    The counts are there also when no model was called, so that nobody has to guess; `cost` is
    there when a model was called and every one that was has its price in the settings.
    """
    spent = meter.by_model
    total = Sums.of(spent.values())
    amounts = [cost_of(model, one, settings.model_prices) for model, one in spent.items()]
    cost = money(amounts, settings.price_currency)
    return {
        "modelCallCount": total.calls,
        "inputTokenCount": total.input_tokens,
        "outputTokenCount": total.output_tokens,
        "modelMilliseconds": total.milliseconds,
        **({} if cost is None else {"cost": cost}),
    }


def with_earlier(own: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return an operation's `details` with the costs that its metadata had already, added up.

    `cost` is None, so that a sum without it takes its place, where not all of it is known.
    """
    parts = [part for part in (earlier, own) if part.get("modelCallCount")]
    sums = {name: sum(part.get(name, 0) for part in parts) for name in _COUNTS}
    costs = [part.get("cost") or {} for part in parts]
    return {**own, **sums, **({"cost": _sum(costs)} if any(costs) else {})}


def _sum(costs: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    currencies = {one.get("currency") for one in costs}
    if len(currencies) > 1:
        return None
    return money([one.get("amount") for one in costs], str(currencies.pop()))


def is_used_up(used_tokens: int, limit: int | None) -> bool:
    """Say whether a day's budget of tokens leaves nothing; without a limit there always is some."""
    return limit is not None and used_tokens >= limit
