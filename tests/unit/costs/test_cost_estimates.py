"""Requests for estimates: sizes, prices, windows, and what is refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from app.conversation.costs.schemas import ContextCost, EstimateContextCostsRequest
from app.conversation.costs.service import estimate
from app.kernel.errors import InvalidArgument
from app.kernel.wire.violations import invalid_fields

_CELL: dict[str, Any] = {"strategy": "fully_abstracted", "cap": 10, "framing": False}
_AGENT: dict[str, Any] = {"strategy": "agent_summary", "tokenLimit": 4_032}
_MODELS = {
    "large:1": {"inputPer1k": "0.002", "outputPer1k": "0.008"},
    "small": {"input_per_1k": "0.0001", "output_per_1k": "0.0004"},
}


def _rows(**given: Any) -> list[ContextCost]:
    return list(estimate(EstimateContextCostsRequest.model_validate(given)).rows)


def _row(strategy: dict[str, Any], **given: Any) -> ContextCost:
    return _rows(**{"messages": [30], "strategies": [strategy], **given})[0]


def _refused(**given: Any) -> list[str]:
    """Return the fields that are named, in whichever way they are found wrong."""
    try:
        _rows(**given)
    except ValidationError as error:
        return [found.field for found in invalid_fields(error.errors()).violations]
    except InvalidArgument as error:
        return [found.field for found in error.violations]
    return []


def test_without_fields_three_strategies_are_estimated_at_three_lengths() -> None:
    shown = [(row.messages, row.strategy.value) for row in _rows()]
    strategies = ["inclusive", "abstraction_inclusive", "fully_abstracted"]
    assert shown == [(end, one) for end in (30, 100, 1_000) for one in strategies]


def test_rows_come_in_the_order_of_the_request() -> None:
    rows = _rows(messages=[100, 30, 30], strategies=[_CELL, {"strategy": "none"}])
    assert [row.messages for row in rows] == [100, 100, 30, 30, 30, 30]
    assert rows[2] == rows[4]
    assert rows[2].policy.cap == 10


def test_an_answer_that_is_told_apart_is_paid_for_as_output_once() -> None:
    whole = _row(_CELL)
    halves = _row(_CELL, messageTokens={"user": 60, "assistant": 40})
    assert whole.billed_tokens is not None
    assert halves.billed_tokens is not None
    assert whole.wire()["billedTokens"] == {
        "promptIn": 33_500,
        "promptOut": 0,
        "summaryIn": 3_590,
        "summaryOut": 750,
    }
    assert halves.wire()["billedTokens"] == {
        "promptIn": 33_500 - 30 * 40,
        "promptOut": 30 * 40,
        "summaryIn": 3_590,
        "summaryOut": 750,
    }
    assert halves.total_tokens == whole.total_tokens
    # The window must hold the answer, wherever it is counted.
    assert halves.largest_prompt_tokens == whole.largest_prompt_tokens


def test_each_kind_of_token_has_its_price() -> None:
    prices = {
        "inputPer1k": "1",
        "outputPer1k": "10",
        "summaryInputPer1k": "0.1",
        "summaryOutputPer1k": "0.01",
    }
    row = _row(_CELL, messageTokens={"user": 60, "assistant": 40}, prices=prices)
    # 32.3 x 1 + 1.2 x 10 + 3.59 x 0.1 + 0.75 x 0.01
    assert row.wire()["cost"] == "44.6665"


def test_prices_that_are_not_given_are_those_of_prompts() -> None:
    given = {"messageTokens": {"user": 60, "assistant": 40}}
    all_one = _row(_CELL, prices={"inputPer1k": "0.004"}, **given)
    assert all_one.cost == 2 * _row(_CELL, **given).cost
    output = _row(_CELL, prices={"inputPer1k": "0", "outputPer1k": "1"}, **given)
    # Of answers and of summaries.
    assert output.wire()["cost"] == "1.95"


def test_another_model_for_summaries_has_its_own_prices() -> None:
    given = {"models": _MODELS, "model": "large:1"}
    one = _row(_CELL, **given)
    two = _row(_CELL, **given, summaryModel="small")
    assert one.billed_tokens == two.billed_tokens
    assert one.wire()["cost"] == "0.08018"  # 33.5 x 0.002 + 3.59 x 0.002 + 0.75 x 0.008
    assert two.wire()["cost"] == "0.067659"  # 33.5 x 0.002 + 3.59 x 0.0001 + 0.75 x 0.0004


def test_a_policy_may_name_its_summariser_itself() -> None:
    given = {"models": _MODELS, "model": "large:1"}
    own = _row({**_CELL, "summaryModel": "small"}, **given)
    assert own.cost == _row(_CELL, **given, summaryModel="small").cost


@pytest.mark.parametrize("given", [{}, {"models": _MODELS, "model": "large:1"}])
def test_the_built_in_summariser_costs_nothing(given: dict[str, Any]) -> None:
    by_policy = _row({**_CELL, "summaryModel": "builtin"}, **given)
    by_request = _row(_CELL, **given, summaryModel="builtin")
    assert by_policy.wire()["cost"] == by_request.wire()["cost"] == "0.067"
    assert by_policy.summaries == 3


def test_money_has_all_of_its_digits_and_no_exponent() -> None:
    tiny = _row({"strategy": "none"}, messages=[1], prices={"inputPer1k": "0.000000000001"})
    assert tiny.wire()["cost"] == "0.0000000000005"
    huge = _row({"strategy": "none"}, messages=[2], prices={"inputPer1k": "999999999"})
    assert huge.wire()["cost"] == "999999999"


def test_where_prompts_cost_nothing_no_share_is_saved() -> None:
    row = _row(_CELL, prices={"inputPer1k": "0", "summaryInputPer1k": "1"})
    assert row.wire()["cost"] == "3.59"
    assert row.saved_vs_inclusive is None


def test_a_strategy_that_costs_more_saves_less_than_nothing() -> None:
    dear = _row({"strategy": "abstraction_inclusive", "cap": 1}).wire()
    assert dear["savedVsInclusive"].startswith("-")


def test_a_share_that_is_rounded_to_nothing_has_no_sign() -> None:
    given = {"systemTokens": 10_000_000, "messageTokens": 1, "messages": [1_000]}
    (row,) = _rows(**given, strategies=[{**_CELL, "cap": 1_000}])
    assert row.cost > 0
    assert row.wire()["savedVsInclusive"] == "0"


def test_a_policy_may_say_how_long_its_summaries_are() -> None:
    own = _row({**_CELL, "summaryTokens": 100}, summaryTokens=250)
    assert own.billed_tokens == _row(_CELL, summaryTokens=100).billed_tokens


def test_the_limit_of_a_policy_comes_before_the_window() -> None:
    shown = {"strategy": "inclusive"}
    assert _row(shown, contextWindow=1_000).first_overflow_message == 7
    assert _row({**shown, "tokenLimit": 2_000}, contextWindow=1_000).first_overflow_message == 17
    assert _row(shown).first_overflow_message is None


def test_tokens_reserved_for_the_answer_are_part_of_the_window() -> None:
    reserving = {"strategy": "inclusive", "tokenLimit": 2_000, "reserveOutputTokens": 300}
    assert _row(reserving).first_overflow_message == 14
    # The answer itself is within what is reserved for it.
    halves = {"user": 60, "assistant": 40}
    assert _row(reserving, messageTokens=halves).first_overflow_message == 14
    assert _row(reserving, messageTokens={"user": 0, "assistant": 100}).first_overflow_message == 15


@pytest.mark.parametrize(
    ("settings", "tokens", "largest"),
    [
        # Thirty times the system prompt and the message, and what is shown before each.
        ({"window": 0}, 15_000, 500),
        ({"window": 5}, 15_000 + 100 * (0 + 1 + 2 + 3 + 4) + 25 * 500, 1_000),
        ({"windowTokens": 540}, 15_000 + 100 * (0 + 1 + 2 + 3 + 4 + 5) + 24 * 540, 1_040),
        ({"windowTokens": 539}, 15_000 + 100 * (0 + 1 + 2 + 3 + 4) + 25 * 500, 1_000),
        ({"window": 2, "windowTokens": 540}, 15_000 + 100 * (0 + 1) + 28 * 200, 700),
        # Of a single answer that is longer, what fits.
        ({"windowTokens": 30}, 15_000 + 29 * 30, 530),
    ],
)
def test_a_window_shows_so_much_of_the_newest(
    settings: dict[str, Any], tokens: int, largest: int
) -> None:
    policy = {"strategy": "window", **settings}
    row = _row(policy, messageTokens={"user": 60, "assistant": 40})
    assert (row.total_tokens, row.largest_prompt_tokens) == (tokens, largest)


def test_an_agents_summary_is_counted_message_by_message() -> None:
    # 232 tokens of the system prompt, none to wait for, and 800 reserved: 3000 are shared, so
    # that 2250 hold 22 events of 100 tokens.
    row = _row(
        {**_AGENT, "countPending": False},
        messages=[28],
        messageTokens={"user": 100, "assistant": 100},
        systemTokens=232,
    )
    # Before message 12 there are 22 events; from there on each prompt has the newest 22, and a
    # summary of all before.
    assert row.summaries == 16
    billed = row.billed_tokens
    assert billed is not None
    # Of 54 events 32 are summarised and fit the model; it reads 2, 4 ... 32 events in 16 calls.
    assert billed.summary_in == sum(200 * call + 30 for call in range(1, 17))
    assert billed.summary_out == 16 * 750
    assert row.last_prompt_tokens == row.largest_prompt_tokens == 232 + 22 + 750 + 2_200 + 200
    assert row.note is not None


def test_an_agents_summary_takes_up_the_former_one_once_all_events_are_too_many() -> None:
    given = {"messageTokens": {"user": 100, "assistant": 100}, "systemTokens": 232}
    policy = {**_AGENT, "countPending": False}
    before = _row(policy, messages=[28], **given).billed_tokens
    after = _row(policy, messages=[29], **given).billed_tokens
    assert before is not None
    assert after is not None
    # 56 events, 34 summarised: 3400 + 14 + 750 is more than 4032. Two events, and the summary.
    assert after.summary_in - before.summary_in == 750 + 200 + 30


@pytest.mark.parametrize("tokens", [100, 101, {"user": 60, "assistant": 40}])
def test_an_agents_prompts_fit_the_window(tokens: Any) -> None:
    row = _row(_AGENT, messages=[1_000], messageTokens=tokens)
    assert row.first_overflow_message is None
    # Nor is much of it left unused.
    assert row.largest_prompt_tokens is not None
    assert row.largest_prompt_tokens > 4_032 - 800 - 22 - 2 * 101


def test_low_water_makes_an_agents_summaries_seldom() -> None:
    given = {"messages": [50], "messageTokens": {"user": 100, "assistant": 100}}
    low = {**_AGENT, "lowWater": 0.8, "recompute": "recursive"}
    assert _row(low, **given).summaries < _row(_AGENT, **given).summaries / 2


def test_a_plain_number_of_tokens_is_two_halves_for_an_agents_summary() -> None:
    row = _row(_AGENT, messageTokens=101)
    halves = _row(_AGENT, messageTokens={"user": 51, "assistant": 50})
    assert row.total_tokens == halves.total_tokens
    assert row.billed_tokens != halves.billed_tokens
    assert "half a message" in str(row.note)
    assert "half a message" not in str(halves.note)


def test_too_many_summaries_are_merged_by_calls_of_their_own() -> None:
    policy = {"strategy": "abstraction_inclusive", "cap": 10}
    free = _row(policy, messages=[100])
    capped = _row({**policy, "maxAbstractions": 4}, messages=[100])
    assert (free.summaries, capped.summaries) == (10, 16)
    assert capped.largest_prompt_tokens == 400 + 22 + 4 * 250 + 10 * 100
    assert capped.billed_tokens is not None
    assert capped.billed_tokens.summary_in == 10 * 1_030 + 6 * (2 * 250 + 30)


def test_a_list_of_one_summary_is_a_cell() -> None:
    policy = {**_CELL, "strategy": "abstraction_inclusive", "maxAbstractions": 1}
    assert _row(policy).billed_tokens == _row(_CELL).billed_tokens


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [0]}, "messages[0]"),
        ({"messages": [30, 100_001]}, "messages[1]"),
        ({"messages": [30] * 11}, "messages"),
        ({"messageTokens": 0}, "messageTokens"),
        ({"messageTokens": "100"}, "messageTokens"),
        ({"messageTokens": 100_001}, "messageTokens"),
        ({"messageTokens": {"user": 1}}, "messageTokens.assistant"),
        ({"messageTokens": {"user": -1, "assistant": 1}}, "messageTokens.user"),
        ({"messageTokens": {"user": 0, "assistant": 0}}, "messageTokens"),
        ({"systemTokens": -1}, "systemTokens"),
        ({"summaryTokens": 100_001}, "summaryTokens"),
        ({"summaryOverheadTokens": -1}, "summaryOverheadTokens"),
        ({"prices": {"inputPer1k": 0.002}}, "prices.inputPer1k"),
        ({"prices": {"inputPer1k": "1e-3"}}, "prices.inputPer1k"),
        ({"prices": {"inputPer1k": "-1"}}, "prices.inputPer1k"),
        ({"prices": {"inputPer1k": "NaN"}}, "prices.inputPer1k"),
        ({"prices": {"perCall": "1"}}, "prices.perCall"),
        ({"prices": {}, "models": _MODELS, "model": "small"}, "prices"),
        ({"models": _MODELS}, "model"),
        ({"models": _MODELS, "model": "medium"}, "model"),
        ({"models": _MODELS, "model": "builtin"}, "model"),
        ({"models": _MODELS, "model": "small", "summaryModel": "medium"}, "summaryModel"),
        ({"models": {"small": {"inputPer1k": "1"}}}, "models.small.outputPer1k"),
        ({"model": "small"}, "model"),
        ({"summaryModel": "small"}, "summaryModel"),
        (
            {"strategies": [_CELL, {**_CELL, "summaryModel": "small"}]},
            "strategies[1].summaryModel",
        ),
        ({"contextWindow": 0}, "contextWindow"),
        ({"strategies": []}, "strategies"),
        ({"strategies": [_CELL] * 11}, "strategies"),
        ({"strategies": [{"strategy": "all"}]}, "strategies[0].strategy"),
        ({"strategies": [{**_CELL, "cap": 0}]}, "strategies[0].cap"),
        ({"strategies": [_CELL, {**_CELL, "every": 3}]}, "strategies[1]"),
        ({"strategies": [{**_CELL, "summaryTokens": 100_001}]}, "strategies[0].summaryTokens"),
        ({"strategies": [{"strategy": "agent_summary"}]}, "contextWindow"),
        ({"strategies": [{"strategy": "agent_summary"}], "contextWindow": 1_250}, "contextWindow"),
        ({"strategies": [{**_AGENT, "tokenLimit": 1_253}]}, "strategies[0].tokenLimit"),
        ({"accounting": "guessed"}, "accounting"),
        ({"cap": 3}, "cap"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_its_field(given: dict[str, Any], field: str) -> None:
    assert _refused(**given) == [field]


def test_the_smallest_window_of_an_agents_summary_is_told() -> None:
    with pytest.raises(InvalidArgument, match="at least 1254"):
        _row({**_AGENT, "tokenLimit": 1_253})
    assert _row({**_AGENT, "tokenLimit": 1_254}).summaries == 29


def test_a_summariser_without_a_price_is_named_where_it_is_given() -> None:
    strategies = [_CELL, {**_CELL, "summaryModel": "medium"}]
    found = _refused(models=_MODELS, model="small", strategies=strategies)
    assert found == ["strategies[1].summaryModel"]


@pytest.mark.parametrize(
    "strategy",
    [{"strategy": "inclusive"}, {"strategy": "every_n"}, {"strategy": "window", "window": 2}],
    ids=lambda one: str(one["strategy"]),
)
def test_what_is_carried_over_is_in_each_prompt_with_its_marks(strategy: dict[str, Any]) -> None:
    bare = _row({**strategy, "framing": False})
    marked = _row({**strategy, "carryOver": "ALL", "carryOverTokens": 100})
    assert _total(marked) - _total(bare) == 30 * (100 + 22)
    assert marked.largest_prompt_tokens == (bare.largest_prompt_tokens or 0) + 122


def test_without_a_number_500_tokens_are_carried_over() -> None:
    for strategy in (_CELL, {**_AGENT, "framing": False}):
        carried = {**strategy, "carryOver": "LAST"}
        assert _total(_row(carried)) - _total(_row(strategy)) == 30 * 500
        # Only the window of `agent_summary` shrinks what is carried over.
        assert ("carryOverTokens" in (_row(carried).note or "")) is (strategy is not _CELL)
        if strategy is _CELL:
            published = {"accounting": "published_tables"}
            assert _row(carried, **published).cost == _row(strategy, **published).cost


def _total(row: ContextCost) -> int:
    assert row.total_tokens is not None
    return row.total_tokens
