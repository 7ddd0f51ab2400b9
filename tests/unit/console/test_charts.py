"""Charts: every value is in the table, and no bar leaves the picture."""

import re
from collections import defaultdict
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from app.surfaces.console.charts import HEIGHT, MAX_BARS, MAX_PARTS, WIDTH, StackedBars, stacked
from app.surfaces.console.templating import environment, number

_NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cn", "Co", "Cs"]), max_size=8)
_VALUES = st.integers(-5, 10**12) | st.floats(-5, 1e9, allow_subnormal=True)
_LABELS = [f"day {at}" for at in range(366)]
_MOST_POINTS = 400
_ROUNDED = 0.02
_TEMPLATE = environment().from_string(
    '{% import "parts.html" as parts %}{{ parts.chart(bars, "x", "Day") }}'
)


def _table(bars: StackedBars) -> list[list[str]]:
    """Return the cells that the template makes of a chart, by row."""
    shown = _TEMPLATE.render(bars=bars)
    rows = re.findall(r"<tr><th scope=\"row\">.*?</tr>", shown, re.DOTALL)
    return [re.findall(r"<td>(.*?)</td>", row) for row in rows]


def _numbers(picture: ET.Element) -> list[dict[str, float]]:
    rectangles = [one for one in picture if one.tag == "rect"]
    return [
        {name: float(one.attrib[name]) for name in ("x", "y", "width", "height")}
        for one in rectangles
    ]


@given(
    length=st.integers(1, 366),
    values=st.lists(st.tuples(st.integers(0, 365), _NAMES, _VALUES), max_size=40),
)
def test_a_chart_keeps_to_its_frame_and_its_table_has_its_values(
    length: int, values: list[tuple[int, str, float]]
) -> None:
    labels = _LABELS[:length]
    given_values = [(labels[at % length], name, value) for at, name, value in values]
    bars = stacked("Title", labels, given_values)
    assert _table(bars) == [[number(value) for value in row] for _, row in bars.rows]
    picture = ET.fromstring(bars.svg("x"))
    assert [one.tag for one in picture][:2] == ["desc", "line"]
    assert bars.steps == sorted(bars.steps, reverse=True)
    found = _numbers(picture)
    assert len(found) <= _MOST_POINTS
    assert len(bars.parts) <= MAX_PARTS
    assert len(bars.labels) <= MAX_BARS
    for one in found:
        assert one["height"] >= 0
        assert one["width"] > 0
        assert 0 <= one["y"] <= one["y"] + one["height"] <= HEIGHT + _ROUNDED
        assert 0 <= one["x"] <= one["x"] + one["width"] <= WIDTH


@given(
    values=st.dictionaries(
        st.tuples(st.sampled_from(_LABELS[:30]), st.sampled_from("abcdef")),
        st.integers(1, 10**12) | st.floats(1e-6, 1e9),
    )
)
def test_each_value_of_thirty_days_and_six_models_is_told(
    values: dict[tuple[str, str], float],
) -> None:
    bars = stacked("Title", _LABELS[:30], ((day, part, one) for (day, part), one in values.items()))
    told = {
        (label, part): shown
        for (label, _), row in zip(bars.rows, _table(bars), strict=True)
        for part, shown in zip(bars.parts, row, strict=True)
    }
    assert {key: told[key] for key in values} == {key: number(one) for key, one in values.items()}


def test_small_parts_and_long_spans_share_a_bar_and_lose_nothing() -> None:
    values = [(label, f"model {at % 9}", 10 - at % 9) for at, label in enumerate(_LABELS)]
    bars = stacked("Title", _LABELS, values)
    assert list(bars.parts)[-1] == "4 others"
    assert (len(bars.labels), bars.labels[0]) == (53, "day 0 to day 6")
    assert sum(map(sum, bars.parts.values())) == sum(value for _, _, value in values)


def test_a_name_of_a_part_stays_text_and_loses_none() -> None:
    names = ["<script>", "\u202eevil", "2 others", *"abcd"]
    values: dict[str, float] = defaultdict(float)
    for at, name in enumerate(names):
        values[name] = 100 - at
    bars = stacked("Title", ["a"], (("a", name, value) for name, value in values.items()))
    shown = str(bars.svg("x"))
    assert "<script>" not in shown
    assert "[U+202E]evil" in shown
    assert list(bars.parts)[-1] == "2 others…"


def test_rules_stand_at_round_numbers_above_the_highest_bar() -> None:
    bars = stacked("Title", ["a", "b"], [("a", "x", 500), ("a", "y", 216), ("b", "x", -3)])
    assert bars.steps == [800, 600, 400, 200, 0]
    assert bars.sum == 713
    assert bars.ends == ["a", "b"]
    assert "M0.0 1.9 L120.0 32.0" in bars.spark()


def test_nothing_is_an_empty_picture() -> None:
    for bars in (stacked("Title", ["a"], []), stacked("Title", ["a"], [("a", "x", 0)])):
        assert "<rect" not in bars.svg("x")
        assert bars.rows == []
        assert bars.spark() == ""
