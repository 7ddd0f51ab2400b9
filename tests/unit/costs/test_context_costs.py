"""Sound figures: each prompt is paid for once, and each summary."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.conversation.costs.logic import Blocks, Sizes, SummaryPart, Totals
from app.conversation.costs.schemas import ContextCost, EstimateContextCostsRequest
from app.conversation.costs.service import estimate

_ISM, _LIST, _CELL = "inclusive", "abstraction_inclusive", "fully_abstracted"
_SIZES = Sizes(system=400, user=60, assistant=40, summary=250, overhead=30)
_WINDOW = 4_096


def _row(**given: Any) -> ContextCost:
    request = {"contextWindow": _WINDOW, **given}
    return estimate(EstimateContextCostsRequest.model_validate(request)).rows[0]


@pytest.mark.parametrize(
    ("strategy", "messages", "cap", "tokens", "cost", "largest", "first_over", "saved"),
    [
        (_ISM, 30, None, 58_500, "0.117", 3_400, None, None),
        (_LIST, 30, 16, 41_480, "0.08296", 2_050, None, "29.1"),
        (_LIST, 30, 10, 39_840, "0.07968", 1_900, None, "31.9"),
        (_LIST, 30, 5, 44_430, "0.08886", 2_150, None, "24.1"),
        (_CELL, 30, 10, 37_840, "0.07568", 1_650, None, "35.3"),
        (_ISM, 100, None, 545_000, "1.09", 10_400, 37, None),
        (_LIST, 100, 51, 312_730, "0.62546", 5_550, 37, "42.6"),
        (_LIST, 100, 21, 203_020, "0.40604", 3_250, None, "62.7"),
        (_LIST, 100, 11, 213_170, "0.42634", 3_500, None, "60.9"),
        (_CELL, 100, 11, 136_170, "0.27234", 1_750, None, "75.0"),
        (_ISM, 1_000, None, 50_450_000, "100.9", 100_400, 37, None),
        (_LIST, 1_000, 11, 12_362_450, "24.7249", 23_900, 131, "75.5"),
        (_CELL, 1_000, 11, 1_393_200, "2.7864", 1_750, None, "97.2"),
    ],
)
def test_the_scenarios_have_their_sound_figures(
    *,
    strategy: str,
    messages: int,
    cap: int | None,
    tokens: int,
    cost: str,
    largest: int,
    first_over: int | None,
    saved: str | None,
) -> None:
    policy = {"strategy": strategy, "framing": False} | ({} if cap is None else {"cap": cap})
    row = _row(messages=[messages], strategies=[policy])
    assert (row.total_tokens, row.wire()["cost"]) == (tokens, cost)
    assert (row.largest_prompt_tokens, row.first_overflow_message) == (largest, first_over)
    share = row.saved_vs_inclusive
    assert (None if share is None else f"{share * 100:.1f}") == saved


@pytest.mark.parametrize(("strategy", "tokens"), [(_LIST, 239_840), (_CELL, 169_840)])
def test_what_stays_word_for_word_costs_tokens(strategy: str, tokens: int) -> None:
    policy = {"strategy": strategy, "cap": 11, "keepRecent": 4, "framing": False}
    assert _row(messages=[100], strategies=[policy]).total_tokens == tokens


@pytest.mark.parametrize("strategy", [_LIST, _CELL])
def test_the_marks_around_summaries_are_paid_for_once_in_each_prompt(strategy: str) -> None:
    policy = {"strategy": strategy, "cap": 10, "keepRecent": 2}
    framed = _row(messages=[30], strategies=[policy])
    bare = _row(messages=[30], strategies=[{**policy, "framing": False}])
    # The first summary is made after message 12: 18 prompts have one, or several.
    assert (framed.total_tokens or 0) - (bare.total_tokens or 0) == 18 * 22
    assert (framed.last_prompt_tokens or 0) - (bare.last_prompt_tokens or 0) == 22


@pytest.mark.parametrize(
    ("strategy", "caps"),
    [(_LIST, [11, 18, 51]), (_CELL, [4, 3, 3])],
)
def test_the_cheapest_caps_are_found(strategy: str, caps: list[int]) -> None:
    request = {"strategies": [{"strategy": strategy, "cap": 7}], "findBestCap": True}
    found = estimate(EstimateContextCostsRequest.model_validate(request)).rows
    best = [row.best_cap for row in found]
    assert [one and one.cap for one in best] == caps
    for row, one in zip(found, best, strict=True):
        assert one is not None
        again = _row(messages=[row.messages], strategies=[{"strategy": strategy, "cap": one.cap}])
        assert (again.cost, again.total_tokens) == (one.cost, one.total_tokens)
        assert one.cost < row.cost


def test_where_no_summary_pays_there_is_no_best_cap() -> None:
    request = {"messages": [3], "strategies": [{"strategy": _LIST}], "findBestCap": True}
    assert _row(**request).best_cap is None


@pytest.mark.parametrize(("refresh", "twin"), [("append", _LIST), ("whole", _CELL)])
def test_every_n_costs_what_its_twin_does(refresh: str, twin: str) -> None:
    own = _row(strategies=[{"strategy": "every_n", "every": 7, "refresh": refresh}])
    other = _row(strategies=[{"strategy": twin, "cap": 7}])
    assert own.billed_tokens == other.billed_tokens


def test_without_memory_each_prompt_has_the_system_prompt_and_its_message() -> None:
    assert _row(messages=[30], strategies=[{"strategy": "none"}]).total_tokens == 30 * 500


def _steps(course: Blocks, end: int) -> Iterator[tuple[int, SummaryPart]]:
    """Yield the prompt of each message, and what summaries have taken after it."""
    sizes, part = course.sizes, SummaryPart()
    held = shown = 0
    for _ in range(end):
        held += 1
        yield sizes.system + shown * sizes.summary + held * sizes.message, part
        if held == course.cap + course.keep:
            held -= course.cap
            read = course.cap * sizes.message
            if course.is_replaced:
                read += shown * sizes.summary
                shown = 0
            part = _and(part, read, sizes)
            shown += 1
        if course.most is not None and shown > course.most:
            shown -= 1
            part = _and(part, 2 * sizes.summary, sizes)


def _and(part: SummaryPart, read: int, sizes: Sizes) -> SummaryPart:
    came_in = part.tokens_in + read + sizes.overhead
    return SummaryPart(part.calls + 1, came_in, part.tokens_out + sizes.summary)


def _counted_out(course: Blocks, end: int, window: int) -> list[Totals]:
    """Count a session message by message; one more, so that each message's summary is seen."""
    steps = list(_steps(course, end + 1))
    found: list[Totals] = []
    largest = prompts = 0
    over: int | None = None
    for message in range(1, end + 1):
        prompt, after = steps[message - 1][0], steps[message][1]
        largest, prompts = max(largest, prompt), prompts + prompt
        if over is None and prompt > window:
            over = message
        found.append(Totals(prompt, largest, prompts, after, over))
    return found


@pytest.mark.parametrize("is_replaced", [False, True])
def test_the_closed_form_is_what_counting_message_by_message_gives(*, is_replaced: bool) -> None:
    """Sixty messages end a block in every way, and outgrow the window by some caps alone."""
    ends, window = range(1, 61), 2_048
    for cap in range(1, 61):
        course = Blocks(_SIZES, cap, is_replaced=is_replaced)
        assert course.totals(ends, window) == _counted_out(course, 60, window), cap


@pytest.mark.parametrize("keep", [0, 1, 4, 30])
@pytest.mark.parametrize("most", [None, 2, 4])
@pytest.mark.parametrize("is_replaced", [False, True])
def test_so_it_is_with_what_stays_and_with_merges(
    keep: int, most: int | None, *, is_replaced: bool
) -> None:
    if is_replaced and most is not None:
        return
    ends = range(1, 81)
    for cap in (1, 2, 3, 7, 10, 29, 80, 100):
        course = Blocks(_SIZES, cap, keep, most, is_replaced)
        for window in (500, 900, 1_500, _WINDOW):
            assert course.totals(ends, window) == _counted_out(course, 80, window), (cap, window)


@pytest.mark.parametrize("kept", [None, 0, 100, 250, 1_000, 1_040])
def test_so_it_is_without_summaries(kept: int | None) -> None:
    course = Blocks.without_summaries(_SIZES, kept)
    largest = prompts = 0
    over: int | None = None
    for message in range(1, 81):
        before = (message - 1) * 100
        prompt = 400 + 100 + (before if kept is None else min(before, kept))
        largest, prompts = max(largest, prompt), prompts + prompt
        over = message if over is None and prompt > 1_200 else over
        counted = Totals(prompt, largest, prompts, SummaryPart(), over)
        assert course.totals([message], 1_200) == [counted]


def test_one_summary_is_read_again_by_each_later_call() -> None:
    course = Blocks(_SIZES, cap=10, is_replaced=True)
    assert course.summary_part(30) == SummaryPart(3, 3 * 1_030 + 2 * 250, 3 * 250)


def test_a_hundred_thousand_messages_are_counted() -> None:
    row = _row(messages=[100_000], strategies=[{"strategy": _ISM}])
    assert row.total_tokens == 100_000 * 400 + 100 * 100_000 * 100_001 // 2
    assert row.wire()["cost"] == "1000090"
