"""`memory-bank costs`: a table, a chart, JSON and SVG; the same figures as the API's."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner, Result

from app.conversation.costs.logic.charts import ChartLine, as_svg, in_characters, ticks
from app.conversation.costs.schemas import EstimateContextCostsRequest
from app.conversation.costs.services.costs import estimate
from app.process.cli import app

_SVG = "{http://www.w3.org/2000/svg}"


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
        "100 abstraction_inclusive cap=10 220,300 0.4406 10 3,650 59.6% 18 (0.3978)",
        "100 fully_abstracted cap=10 132,550 0.2651 10 1,650 75.7% 3 (0.22258)",
    ]


def test_the_chart_shows_a_letter_for_each_strategy() -> None:
    printed = _printed("--messages", "1000")
    chart = printed[printed.index("Cost by messages") :].splitlines()
    assert chart[1].startswith(" 101 |")
    assert chart[1].endswith("a")
    assert chart[16].startswith("   0 |")
    assert chart[18].split() == ["1", "1,000", "messages"]
    assert chart[19:22] == [
        "a  inclusive",
        "b  abstraction_inclusive cap=10",
        "c  fully_abstracted cap=10",
    ]


def test_the_chart_has_no_gaps() -> None:
    printed = _printed("--messages", "100", "--strategy", "inclusive")
    rows = [line.split("|", 1)[1] for line in printed.splitlines() if "|" in line]
    assert {place for row in rows for place, sign in enumerate(row) if sign == "a"} == set(
        range(64)
    )


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


def test_the_plot_is_svg_with_a_line_for_each_strategy(tmp_path: Path) -> None:
    file = tmp_path / "costs.svg"
    names = ("inclusive", "fully_abstracted", "window:window=5")
    _printed(*(part for name in names for part in ("--strategy", name)), "--plot", str(file))
    root = ET.fromstring(file.read_text())
    assert root.tag == f"{_SVG}svg"
    lines = root.findall(f"{_SVG}polyline")
    assert len(lines) == 3
    texts = [text.text for text in root.findall(f"{_SVG}text")]
    assert texts[0] == "What contexts cost by strategy"
    assert {"inclusive", "fully_abstracted cap=10", "window window=5", "1,000"} <= set(texts)
    # The dearer a strategy, the higher it ends.
    ends = [float(line.attrib["points"].split()[-1].split(",")[1]) for line in lines]
    assert ends[0] < ends[1]
    assert all(0 <= end <= 440 for end in ends)


def test_what_a_label_says_is_no_markup() -> None:
    drawn = as_svg([ChartLine("<b>&", [(1, 1.0), (2, 2.0)])], "a < b")
    assert ET.fromstring(drawn).findtext(f"{_SVG}title") == "a < b"
    assert "<b>" not in drawn


def test_a_plot_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    done = _costs("--plot", str(tmp_path / "absent" / "costs.svg"))
    assert done.exit_code == 1
    assert done.stderr.startswith("--plot: ")
    assert done.stderr.count("\n") == 1


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


def test_only_what_is_drawn_is_explained() -> None:
    assert "several" in _printed("--strategy", "inclusive", "--strategy", "window:window=1000")
    assert "several" not in _printed("--strategy", "inclusive")


def test_long_policies_are_told_apart() -> None:
    printed = _printed(
        *("--messages", "10", "--strategy"),
        '{"strategy": "abstraction_inclusive", "keepRecent": 3, "maxAbstractions": 4}',
        *("--strategy", '{"strategy": "abstraction_inclusive", "keepRecent": 3, "cap": 10}'),
        "--strategy",
        '{"strategy": "abstraction_inclusive", "keepRecent": 3, "maxAbstractions": 5}',
    )
    legend = [line for line in printed.splitlines() if line[1:3] == "  "]
    labels = [line[3:] for line in legend if line[0] in "abc"]
    assert len(set(labels)) == 3
    assert all(len(one) <= 60 for one in labels)
    assert labels[1] == "abstraction_inclusive cap=10 keepRecent=3 cap=10"[:41]


def test_a_share_that_is_nearly_nothing_has_no_sign_in_the_table() -> None:
    options = ("--system-tokens", "1000000", "--message-tokens", "1", "--messages", "1000")
    row = _printed(*options, "--strategy", "fully_abstracted:cap=900").splitlines()[1]
    assert row.endswith(" 0.0%")


def test_the_help_says_what_a_strategy_looks_like_and_what_is_the_default() -> None:
    shown = " ".join(_costs("--help").stdout.replace("\u2502", " ").split())
    assert "every_n:every=5" in shown
    assert "[default: (400)]" in shown


def test_costs_of_nothing_and_of_one_message_can_be_drawn() -> None:
    assert "a  none" in _printed("--messages", "1", "--strategy", "none", "--prices", "0,0")
    assert "polyline" in as_svg([ChartLine("none", [(1, 0.0)])], "nothing")
    assert in_characters([ChartLine("none", [(1, 0.0)])]).count("a") >= 1


@pytest.mark.parametrize(
    ("top", "marks"),
    [
        (0.0, [0, 1]),
        (1.0, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (100.9, [0, 20, 40, 60, 80, 100, 120]),
        (0.0117, [0, 0.002, 0.004, 0.006, 0.008, 0.01, 0.012]),
    ],
)
def test_marks_are_at_round_numbers(top: float, marks: list[float]) -> None:
    assert ticks(top) == pytest.approx(marks)
