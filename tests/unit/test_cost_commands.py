"""`memory-bank costs`: a table or JSON; the same figures as the API's."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from app.conversation.costs.schemas import EstimateContextCostsRequest
from app.conversation.costs.service import estimate
from app.process.cli import app


def _costs(*options: str) -> Result:
    return CliRunner().invoke(app, ["costs", *options])


def _printed(*options: str) -> str:
    done = _costs(*options)
    assert done.exit_code == 0, done.output
    return done.stdout


def _asked(*options: str) -> Any:
    return json.loads(_printed(*options, "--json"))


def _api(**given: Any) -> Any:
    return estimate(EstimateContextCostsRequest.model_validate(given)).wire()


def test_without_options_it_says_what_the_api_says_to_an_empty_request() -> None:
    assert _asked() == _api()


def test_every_option_is_a_field_of_the_request() -> None:
    found = _asked(
        *("--messages", "30", "--messages", "50", "--message-tokens", "60,40"),
        *("--system-tokens", "300", "--summary-tokens", "200", "--summary-overhead-tokens", "20"),
        *("--prices", "0.001,0.002,0.0001,0.0002", "--context-window", "5000", "--best-cap"),
        *("--strategy", "fully_abstracted:cap=11,keepRecent=4", "--strategy", "inclusive"),
        *("--strategy", '{"strategy": "agent_summary", "split": {"stm": 1, "lts": 1}}'),
    )
    prices = ("inputPer1k", "outputPer1k", "summaryInputPer1k", "summaryOutputPer1k")
    assert found == _api(
        messages=[30, 50],
        messageTokens={"user": 60, "assistant": 40},
        systemTokens=300,
        summaryTokens=200,
        summaryOverheadTokens=20,
        prices=dict(zip(prices, ("0.001", "0.002", "0.0001", "0.0002"), strict=True)),
        contextWindow=5_000,
        findBestCap=True,
        strategies=[
            {"strategy": "fully_abstracted", "cap": 11, "keepRecent": 4},
            {"strategy": "inclusive"},
            {"strategy": "agent_summary", "split": {"stm": 1, "lts": 1}},
        ],
    )


def test_models_have_prices_by_their_names() -> None:
    found = _asked(
        *("--model-prices", "openai:a=0.002,0.008", "--model-prices", "b=x=0.0001,0.0004"),
        *("--model", "openai:a", "--summary-model", "b=x", "--strategy", "fully_abstracted"),
    )
    models = {
        "openai:a": {"inputPer1k": "0.002", "outputPer1k": "0.008"},
        "b=x": {"inputPer1k": "0.0001", "outputPer1k": "0.0004"},
    }
    given = {"models": models, "model": "openai:a", "summaryModel": "b=x"}
    assert found == _api(**given, strategies=[{"strategy": "fully_abstracted"}])


def test_the_table_has_a_line_for_each_length_and_strategy() -> None:
    lines = _printed("--messages", "100", "--context-window", "4096", "--best-cap").splitlines()
    assert [" ".join(line.split()) for line in lines[:4]] == [
        "Messages Strategy Tokens Cost Summaries Largest prompt First too large Saved Best cap",
        "100 inclusive 545,000 1.09 0 10,400 37",
        "100 abstraction_inclusive cap=10 222,280 0.44456 10 3,672 59.2% 18 (0.401408)",
        "100 fully_abstracted cap=10 134,530 0.26906 10 1,672 75.3% 3 (0.226848)",
    ]


def test_the_published_accounting_comes_with_its_note() -> None:
    printed = _printed("--accounting", "published_tables", "--messages", "30")
    assert printed.split("\n", 2)[1].split() == [
        "30",
        "inclusive",
        "58,500",
        "0.1178",
        "1.388",
        "0",
    ]
    assert "not what a provider bills" in printed


def test_a_note_of_a_strategy_is_printed_once() -> None:
    printed = _printed("--strategy", "agent_summary", "--context-window", "4096")
    assert printed.count("upper bound") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--messages", "0"), "--messages (messages[0]): "),
        (("--message-tokens", "many"), "--message-tokens: "),
        (("--message-tokens", "9" * 5_000), "--message-tokens: "),
        (("--strategy", f"every_n:every={'9' * 5_000}"), "--strategy (strategies[0].every): "),
        (("--message-tokens", "1,"), "--message-tokens (messageTokens.assistant): "),
        (("--prices", "dear"), "--prices (prices.inputPer1k): "),
        (("--prices", "1,2,3,4,5"), "--prices: "),
        (("--model-prices", "a"), "--model-prices: "),
        (("--model-prices", "a=1"), "--model-prices: "),
        (("--model-prices", "a=1,2"), "--model: "),
        (("--strategy", "all"), "--strategy (strategies[0].strategy): "),
        (("--strategy", "every_n:every=0"), "--strategy (strategies[0].every): "),
        (("--strategy", "{"), "--strategy: "),
        (("--strategy", "agent_summary"), "--context-window: "),
        (("--accounting", "guessed"), "--accounting: "),
        (("--accounting", "published_tables", "--best-cap"), "--best-cap: "),
    ],
)
def test_what_cannot_be_counted_is_refused_by_its_option(
    options: tuple[str, ...], said: str
) -> None:
    done = _costs(*options)
    assert done.exit_code == 2
    assert done.stderr.startswith(said), done.stderr
    assert done.stderr.count("\n") == 1


def test_a_share_that_is_nearly_nothing_has_no_sign_in_the_table() -> None:
    options = ("--system-tokens", "1000000", "--message-tokens", "1", "--messages", "1000")
    row = _printed(*options, "--strategy", "fully_abstracted:cap=900").splitlines()[1]
    assert row.endswith(" 0.0%")


def test_the_help_says_what_a_strategy_looks_like_and_what_is_the_default() -> None:
    shown = " ".join(_costs("--help").stdout.replace("\u2502", " ").split())
    assert "every_n:every=5" in shown
    assert "[default: (400)]" in shown
