"""Texts whose shape once made a rule read them again and again: work is counted, not timed."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from app.language.extraction import Extraction, extract
from app.language.facts import Turn
from app.language.sentences import without_pasted

NOW = datetime(2026, 1, 15, tzinfo=UTC)


def _calls(text: str) -> int:
    """Return how many functions of the rules an extraction calls."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(counted)
    try:
        extract([Turn("user", text)], now=NOW)
    finally:
        sys.setprofile(None)
    return count


_SHAPES: dict[str, Callable[[int], str]] = {
    "takes back again and again": lambda n: "What is it about? " * n + "Forget this. " * n,
    "one fact after the other": lambda n: "".join(f"I like tea {k}. " for k in range(n)),
    "facts with what belongs to them": lambda n: "I have a dog. He is called Rex. " * n,
    "requests to remember": lambda n: "".join(f"Remember that I like tea{k}. " for k in range(n)),
    "many lines": lambda n: "I like tea\n" * n,
}


@pytest.mark.parametrize("shape", _SHAPES.values(), ids=_SHAPES.keys())
def test_twice_the_text_is_twice_the_work(shape: Callable[[int], str]) -> None:
    small, large = _calls(shape(200)), _calls(shape(400))
    assert large < 2.3 * small


def test_what_belongs_to_a_fact_rests_on_the_fact_right_before_it() -> None:
    text = "I have a dog. He is called Rex. " * 3
    (found,) = extract([Turn("user", text)], now=NOW)
    assert found.source == "I have a dog. He is called Rex."


def test_a_reading_has_a_step_for_each_sentence() -> None:
    turns = [Turn("user", "I like tea. I live in Oslo."), Turn("model", "Fine."), Turn("user", "")]
    steps = Extraction(turns, now=NOW).steps()
    assert sum(1 for _ in steps) == 2 * 2


@pytest.mark.parametrize(
    "text",
    [
        "Hi Tom, I live here.\n" * 8_000,
        "translate this: " + " 'a" * 200_000,
        "“translate this: „" * 40_000,
        "between us " + "," * 400_000,
    ],
    ids=["mails without an end", "single quotes", "double quotes", "a secret of marks"],
)
def test_a_text_of_one_sign_is_read_once(text: str) -> None:
    """With the square of the length as its time, each of these would take hours."""
    assert len(extract([Turn("user", text)], now=NOW)) <= 1
    assert len(without_pasted(text)) == len(text)


def test_words_that_ask_for_a_task_are_found_wherever_they_are() -> None:
    for blanks in range(65_500, 65_560):
        said = " " * blanks + "translate this: "
        assert without_pasted(said + "I live in Oslo.").rstrip() == said[:-2]
