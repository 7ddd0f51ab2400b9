"""What calls of models cost."""

from pathlib import Path

import pytest

from app.adapters.llm.ports import Meter, Usage
from app.platform.usage.logic import Sums, cost_of, details, is_used_up, money, with_earlier
from app.settings.settings import ModelPrice, Settings

_MINI, _LOCAL = "openai:gpt-5-mini", "ollama:llama3"
_PRICES = {_MINI: ModelPrice(input=0.25, output=2)}
_NOTHING = {
    "modelCallCount": 0,
    "inputTokenCount": 0,
    "outputTokenCount": 0,
    "modelMilliseconds": 0,
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, model_prices=_PRICES, price_currency="EUR")


def _meter(**by_model: Usage) -> Meter:
    names = {"mini": _MINI, "local": _LOCAL}
    return Meter({names[name]: usage for name, usage in by_model.items()})


def test_a_price_is_that_of_a_million_tokens() -> None:
    assert cost_of(_MINI, Usage(1, 1_000_000, 0, 5), _PRICES) == 0.25
    assert cost_of(_MINI, Usage(1, 0, 500_000, 5), _PRICES) == 1.0


@pytest.mark.parametrize("other", ["gpt-5-mini", "openai:gpt-5-mini-2", "OPENAI:GPT-5-MINI", ""])
def test_a_price_is_of_exactly_one_model(other: str) -> None:
    assert cost_of(other, Usage(1, 10, 10, 5), _PRICES) is None


def test_a_price_of_nothing_is_a_price() -> None:
    free = {_LOCAL: ModelPrice(input=0, output=0)}
    assert cost_of(_LOCAL, Usage(1, 10, 10, 5), free) == 0


def test_a_work_tells_its_calls_tokens_time_and_money(settings: Settings) -> None:
    meter = _meter(mini=Usage(2, 1_500, 310, 2_400))
    assert details(meter, settings) == {
        "modelCallCount": 2,
        "inputTokenCount": 1_500,
        "outputTokenCount": 310,
        "modelMilliseconds": 2_400,
        "cost": {"amount": 0.000995, "currency": "EUR"},
    }


def test_rules_tell_that_no_model_was_called(settings: Settings) -> None:
    assert details(Meter(), settings) == _NOTHING


def test_no_sum_is_told_that_lacks_a_part(settings: Settings) -> None:
    meter = _meter(mini=Usage(1, 1_000, 10, 300), local=Usage(1, 500, 20, 100))
    assert details(meter, settings) == {
        "modelCallCount": 2,
        "inputTokenCount": 1_500,
        "outputTokenCount": 30,
        "modelMilliseconds": 400,
    }


def test_money_has_nine_digits_and_no_noise() -> None:
    assert money([0.1, 0.2], "USD") == {"amount": 0.3, "currency": "USD"}
    assert money([0.000_000_000_49], "USD") == {"amount": 0.0, "currency": "USD"}
    assert money([0.000_000_001], "USD") == {"amount": 1e-9, "currency": "USD"}


@pytest.mark.parametrize("amounts", [[], [None], [1.0, None]])
def test_what_is_not_known_is_not_told(amounts: list[float | None]) -> None:
    assert money(amounts, "USD") is None


def test_sums_of_nothing_are_zero() -> None:
    assert Sums.of([]) == Sums(0, 0, 0, 0)


@pytest.mark.parametrize(
    ("used", "limit", "expected"),
    [(0, None, False), (10**9, None, False), (99, 100, False), (100, 100, True), (101, 100, True)],
)
def test_a_budget_is_used_up_at_its_limit(used: int, limit: int | None, *, expected: bool) -> None:
    assert is_used_up(used, limit) is expected


_PAID = {
    "modelCallCount": 1,
    "inputTokenCount": 100,
    "outputTokenCount": 10,
    "modelMilliseconds": 50,
    "cost": {"amount": 0.5, "currency": "EUR"},
}
_UNPRICED = {key: value for key, value in _PAID.items() if key != "cost"}


def test_what_earlier_attempts_cost_is_added() -> None:
    assert with_earlier({**_PAID, "author": "a"}, {**_PAID, "@type": "t"}) == {
        "author": "a",
        "modelCallCount": 2,
        "inputTokenCount": 200,
        "outputTokenCount": 20,
        "modelMilliseconds": 100,
        "cost": {"amount": 1.0, "currency": "EUR"},
    }


@pytest.mark.parametrize("other", [_NOTHING, {}])
def test_an_attempt_without_calls_changes_no_sum(other: dict[str, int]) -> None:
    assert with_earlier(_PAID, other) == _PAID
    assert with_earlier({**other}, _PAID) == _PAID
    assert with_earlier({**other}, {**other}) == _NOTHING


@pytest.mark.parametrize(
    "other", [_UNPRICED, {**_PAID, "cost": {"amount": 0.5, "currency": "USD"}}]
)
def test_a_sum_that_is_not_known_replaces_the_one_that_was(other: dict[str, object]) -> None:
    assert with_earlier(_PAID, other)["cost"] is None
    assert with_earlier(other, _PAID)["cost"] is None
    assert "cost" not in with_earlier(_UNPRICED, _UNPRICED)
