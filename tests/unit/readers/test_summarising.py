"""How long texts are summarised in parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.documents.chunking import Piece, chunks, tokens_of
from app.readers.prompts import Summarising, summary
from app.readers.summarising import LEAST_PART_TOKENS, Parts, calls_of, part_tokens
from tests.support.task_texts import TOKENS, long_text

WINDOW = 8_192


def pieces(text: str, artifact: str = "page", ordinal: int = 1) -> list[Piece]:
    return [Piece(artifact, ordinal, chunk) for chunk in chunks([text])]


def parts(found: list[Piece], most: int) -> list[str]:
    """Feed pieces a few at a time, as they are read."""
    joined = Parts(most)
    full = [one for n in range(0, len(found), 7) for one in joined.feed(found[n : n + 7])]
    return [*full, *joined.end()]


@pytest.mark.parametrize("text", [long_text(), "x" * (4 * TOKENS), "Yes.\n" * (4 * TOKENS // 5)])
def test_a_long_page_takes_so_many_calls(text: str) -> None:
    most = part_tokens(WINDOW, Summarising(800))
    assert most == 4_096
    found = parts(pieces(text), most)
    assert 19 <= len(found) <= 20
    assert all(tokens_of(one) <= 4_096 for one in found)
    assert "".join(found) == text
    assert calls_of(tokens_of(text), most) == 19


def test_each_call_fits_in_the_window() -> None:
    for window in (1_000, 4_096, WINDOW):
        for wish in (
            Summarising(100),
            Summarising(300, instructions="x" * 400),
            Summarising(200, template="y" * 900 + "{text}{previous_summary}"),
            Summarising(200, template="y" * 900 + "{text}"),
        ):
            most = part_tokens(window, wish)
            if most >= LEAST_PART_TOKENS:
                asked = summary("x" * 4 * most, "s" * wish.chars, wish)
                assert asked.tokens + wish.max_tokens <= window


def test_a_window_without_room_is_told_from_one_with() -> None:
    assert part_tokens(1_000, Summarising(2_000)) < LEAST_PART_TOKENS


def test_a_text_that_fits_takes_one_call() -> None:
    assert parts(pieces("Short."), 4_096) == ["Short."]
    assert parts([], 4_096) == []
    assert calls_of(0, 4_096) == 1


def test_several_artifacts_are_told_apart() -> None:
    both = [*pieces("One.", "first", 1), *pieces("Two.", "second", 2)]
    assert parts(both, 4_096) == ["One.\n\n[second]\nTwo."]


@given(
    st.lists(st.text("ab. \n", min_size=1, max_size=5_000), min_size=1, max_size=4),
    st.integers(100, 600),
)
def test_nothing_is_left_out_or_said_twice(texts: list[str], most: int) -> None:
    all_of_it = [one for n, text in enumerate(texts) for one in pieces(text, f"t{n}", n)]
    found = parts(all_of_it, most)
    assert all(tokens_of(one) <= most for one in found)
    heads = [f"\n\n[t{n}]\n" for n in range(1, len(texts))]
    assert "".join(found) == "".join(
        head + text for head, text in zip(["", *heads], texts, strict=True)
    )
