"""The published tables of Prompt Memory Lab, in their own accounting."""

from typing import Any

import pytest

from app.conversation.costs.logic import Published, PublishedCourse, Sizes
from app.conversation.costs.schemas import ContextCost, EstimateContextCostsRequest
from app.conversation.costs.service import estimate
from app.kernel.errors import InvalidArgument

_ISM, _LIST, _CELL = "inclusive", "abstraction_inclusive", "fully_abstracted"
_SIZES = Sizes(system=400, user=100, assistant=0, summary=250, overhead=30)


def _row(**given: Any) -> ContextCost:
    request = {"accounting": "published_tables", **given}
    return estimate(EstimateContextCostsRequest.model_validate(request)).rows[0]


@pytest.mark.parametrize(
    ("strategy", "messages", "cap", "system", "tokens", "last", "total"),
    [
        (_ISM, 30, None, 400, 58_500, "0.1178", "1.388"),
        (_LIST, 30, 16, 400, 18_200, "0.0372", "0.56406"),
        (_LIST, 30, 10, 400, 0, "0.0278", "0.41818"),
        (_LIST, 30, 5, 400, 0, "0.0193", "0.31336"),
        (_CELL, 30, 10, 400, 0, "0.0228", "0.38568"),
        (_ISM, 100, None, 400, 545_000, "1.0908", "38.46"),
        (_LIST, 100, 51, 400, 149_450, "0.2997", "11.64506"),
        (_LIST, 100, 21, 400, 34_400, "0.0696", "3.61184"),
        (_LIST, 100, 11, 400, 35_400, "0.0716", "2.54228"),
        (_CELL, 100, 11, 400, 14_400, "0.0296", "1.46078"),
        (_LIST, 1_000, 11, 400, 233_500, "0.4678", "168.1043"),
        # The tables can only have had a shorter system prompt here.
        (_CELL, 1_000, 11, 40, 7_400, "0.01488", "9.1416"),
        (_CELL, 1_000, 11, 400, 11_000, "0.0228", "14.8908"),
    ],
)
def test_the_published_figures_are_reproduced_without_rounding(
    *,
    strategy: str,
    messages: int,
    cap: int | None,
    system: int,
    tokens: int,
    last: str,
    total: str,
) -> None:
    policy = {"strategy": strategy} | ({} if cap is None else {"cap": cap})
    row = _row(messages=[messages], systemTokens=system, strategies=[policy]).wire()
    assert (row["finalTokens"], row["lastCost"], row["cost"]) == (tokens, last, total)


def test_the_figures_that_are_labelled_with_9_abstractions_have_8() -> None:
    assert _row(messages=[100], strategies=[{"strategy": _LIST, "cap": 11}]).summaries == 8


def _counted_out(sizes: Sizes, end: int, cap: int | None, *, is_replaced: bool) -> Published:
    """Count a table message by message, as its calculator does."""
    made = place = running = last = total = 0
    countdown = cap or -1
    for message in range(1, end + 1):
        place += 1
        carried = sizes.summary * (min(made, 1) if is_replaced else made)
        weight = place if made == 0 else place - 1
        running += sizes.message * weight + sizes.system + carried
        last = running + sizes.system
        total += last
        countdown -= 1
        if countdown == 0 and end - message != 1:
            total += running + sizes.overhead + sizes.summary
            made, place, running, countdown = made + 1, 0, 0, cap or -1
    return Published(running, last, total, made)


@pytest.mark.parametrize("is_replaced", [False, True])
def test_the_closed_form_is_what_counting_message_by_message_gives(*, is_replaced: bool) -> None:
    for cap in (None, *range(1, 41)):
        course = PublishedCourse(_SIZES, cap, is_replaced)
        for end in range(1, 81):
            counted = _counted_out(_SIZES, end, cap, is_replaced=is_replaced)
            assert course.figures(end) == counted, (cap, end)


def test_the_answer_says_what_is_wrong_with_them() -> None:
    request = EstimateContextCostsRequest.model_validate({"accounting": "published_tables"})
    note = estimate(request).wire()["note"]
    assert "running totals" in note
    assert "not what a provider bills" in note
    assert "not rounded" in note


def test_sound_figures_have_no_such_note() -> None:
    found = estimate(EstimateContextCostsRequest()).wire()
    assert "note" not in found
    assert "finalTokens" not in found["rows"][0]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"strategies": [{"strategy": "window"}]}, "strategies[0]"),
        (
            {"strategies": [{"strategy": _LIST}, {"strategy": _CELL, "keepRecent": 1}]},
            "strategies[1]",
        ),
        ({"strategies": [{"strategy": _LIST, "maxAbstractions": 2}]}, "strategies[0]"),
        (
            {"strategies": [{"strategy": "agent_summary", "tokenLimit": 9_000}]},
            "strategies[0]",
        ),
        ({"findBestCap": True}, "findBestCap"),
        ({"prices": {"inputPer1k": "1", "outputPer1k": "2"}}, "prices"),
    ],
)
def test_what_the_tables_do_not_know_is_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        _row(**given)
    assert [violation.field for violation in caught.value.violations] == [field]
