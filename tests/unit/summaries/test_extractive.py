"""Summaries without a model: which sentences, in which order, how long."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.conversation.summaries.logic import Utterance, extract
from app.language.sentences import cut_off

TALK = [
    Utterance("Human", "Hello there! I moved to Lisbon on 3 May 2025. How are you?"),
    Utterance("AI", "I am fine, thanks."),
    Utterance("Human", "My sister Anna is allergic to peanuts. Okay."),
]


def test_what_fits_stays_as_it_is() -> None:
    found = extract(TALK, 10_000)
    assert found.splitlines()[0] == "Human: Hello there!"
    assert len(found.splitlines()) == 6


def test_the_weightiest_sentences_stay_in_their_order() -> None:
    found = extract(TALK, 90)
    assert found.splitlines() == [
        "Human: I moved to Lisbon on 3 May 2025.",
        "Human: My sister Anna is allergic to peanuts.",
    ]


def test_it_is_the_same_each_time() -> None:
    assert {extract(TALK, 60) for _ in range(5)} == {extract(TALK, 60)}


def test_the_summary_before_is_taken_up_line_by_line() -> None:
    before = extract(TALK[:1], 60)
    found = extract([Utterance("", before, is_summary=True), TALK[2]], 120)
    assert before.splitlines()[0] in found.splitlines()
    assert "Human: My sister Anna is allergic to peanuts." in found.splitlines()


def test_what_is_said_twice_is_told_once() -> None:
    twice = [
        Utterance("Human", "I like tea."),
        Utterance("AI", "Noted."),
        Utterance("Human", "I like tea."),
    ]
    assert extract(twice, 1_000).splitlines() == ["AI: Noted.", "Human: I like tea."]


def test_nothing_comes_of_nothing() -> None:
    assert extract([], 100) == ""
    assert extract([Utterance("Human", "  \n ")], 100) == ""


def test_where_no_sentence_fits_the_weightiest_is_cut_off() -> None:
    found = extract([Utterance("Human", "I moved to Lisbon " + "and on " * 100)], 40)
    assert found.startswith("Human: I moved to Lisbon")
    assert found.endswith("\u2026")
    assert len(found) <= 40


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "Human"]), st.text(max_size=200), st.booleans()), max_size=8
    ),
    st.integers(1, 300),
)
def test_it_is_never_longer_than_it_may_be(said: list[tuple[str, str, bool]], chars: int) -> None:
    assert len(extract([Utterance(*one) for one in said], chars)) <= chars


def test_a_very_long_text_is_bounded() -> None:
    words = random.Random(1).choices(["tea", "Oslo", "Anna", "in 1999"], k=200_000)
    text = ". ".join(" ".join(words[at : at + 5]) for at in range(0, len(words), 5))
    assert 0 < len(extract([Utterance("Human", text)] * 3, 1_000)) <= 1_000


def test_only_the_beginning_of_an_endless_text_is_read() -> None:
    text = "and " * 100_000 + "on. My sister Anna moved to Lisbon in 2025."
    assert "Anna" not in extract([Utterance("Human", text)], 10_000)


def test_what_is_said_without_a_label_is_told_by_its_sentences() -> None:
    found = extract([Utterance("", "My sister Anna lives in Oslo. " + "So it is. " * 20)], 60)
    assert found.splitlines() == ["My sister Anna lives in Oslo.", "So it is."]


def test_a_line_of_a_summary_is_cut_off_as_a_sentence_is() -> None:
    found = extract([Utterance("", "word " * 1_000, is_summary=True)], 10_000)
    assert len(found) == 2_000


@pytest.mark.parametrize(
    ("text", "chars", "kept"),
    [
        ("One. Two. Three.", 20, "One. Two. Three."),
        ("One. Two. Three.", 10, "One. Two."),
        ("One. Two. Three.", 9, "One. Two."),
        ("One. Two. Three.", 8, "One."),
        ("A sentence without an end", 16, "A sentence\u2026"),
        ("Word" * 10, 10, "WordWordW\u2026"),
        ("- a point\n- another point\n- a third", 30, "- a point\n- another point"),
        ("abc", 1, "\u2026"),
    ],
)
def test_a_text_is_cut_after_a_sentence_else_after_a_word(text: str, chars: int, kept: str) -> None:
    assert cut_off(text, chars) == kept
