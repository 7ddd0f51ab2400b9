"""`python -m benchmarks.costs`: costs of contexts as a chart of characters or as SVG."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from benchmarks.costs.__main__ import main
from benchmarks.costs.charts import ChartLine, as_svg, in_characters, ticks

_SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def drawn(capsys: pytest.CaptureFixture[str]) -> Any:
    def draw(**request: Any) -> str:
        main([json.dumps(request)])
        return capsys.readouterr().out

    return draw


def test_the_chart_shows_a_letter_for_each_strategy(drawn: Any) -> None:
    chart = drawn(messages=[1_000]).splitlines()
    assert chart[0] == "Cost by messages"
    assert chart[1].startswith(" 101 |")
    assert chart[1].endswith("a")
    assert chart[16].startswith("   0 |")
    assert chart[18].split() == ["1", "1,000", "messages"]
    assert chart[19:22] == [
        "a  inclusive",
        "b  abstraction_inclusive cap=10",
        "c  fully_abstracted cap=10",
    ]


def test_the_chart_has_no_gaps(drawn: Any) -> None:
    chart = drawn(messages=[100], strategies=[{"strategy": "inclusive"}])
    rows = [line.split("|", 1)[1] for line in chart.splitlines() if "|" in line]
    assert {place for row in rows for place, sign in enumerate(row) if sign == "a"} == set(
        range(64)
    )


def test_only_what_is_drawn_is_explained(drawn: Any) -> None:
    inclusive = {"strategy": "inclusive"}
    assert "several" in drawn(strategies=[inclusive, {"strategy": "window", "window": 1_000}])
    assert "several" not in drawn(strategies=[inclusive])


def test_long_policies_are_told_apart(drawn: Any) -> None:
    long = {"strategy": "abstraction_inclusive", "keepRecent": 3}
    chart = drawn(
        messages=[10],
        strategies=[
            long | {"maxAbstractions": 4},
            long | {"cap": 10},
            long | {"maxAbstractions": 5},
        ],
    )
    legend = [line for line in chart.splitlines() if line[1:3] == "  "]
    labels = [line[3:] for line in legend if line[0] in "abc"]
    assert len(set(labels)) == 3
    assert all(len(label) <= 60 for label in labels)
    assert labels[1] == "abstraction_inclusive cap=10 keepRecent=3 cap=10"[:41]


def test_the_svg_has_a_line_for_each_strategy(tmp_path: Path) -> None:
    file = tmp_path / "costs.svg"
    names = ("inclusive", "fully_abstracted")
    strategies = [*({"strategy": name} for name in names), {"strategy": "window", "window": 5}]
    main([json.dumps({"strategies": strategies}), "--svg", str(file)])
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


def test_a_label_is_no_markup() -> None:
    svg = as_svg([ChartLine("<b>&", [(1, 1.0), (2, 2.0)])], "a < b")
    assert ET.fromstring(svg).findtext(f"{_SVG}title") == "a < b"
    assert "<b>" not in svg


@pytest.mark.parametrize(
    "arguments",
    [
        ["{"],
        ['{"messages": [0]}'],
        ['{"strategies": [{"strategy": "agent_summary"}]}'],
        ["--svg", "absent/costs.svg"],
    ],
)
def test_invalid_arguments_end_with_the_reason(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert "error: " in capsys.readouterr().err


def test_costs_of_nothing_and_of_one_message_can_be_drawn(drawn: Any) -> None:
    free = {"inputPer1k": "0", "outputPer1k": "0"}
    assert "a  none" in drawn(messages=[1], strategies=[{"strategy": "none"}], prices=free)
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
