"""Pieces are embedded in parts, of which models read all."""

import pytest

from app.artifacts.tasks.services.preparing import parts_of


@pytest.mark.parametrize(("length", "parts"), [(1, 1), (1_000, 1), (1_001, 2), (1_600, 2)])
def test_parts_are_equal_and_no_longer_than_models_read(length: int, parts: int) -> None:
    found = parts_of("x" * length)
    assert len(found) == parts
    assert max(map(len, found)) <= 1_050


def test_parts_have_all_of_a_text_and_words_whole_in_one() -> None:
    text = " ".join(f"word-{number}" for number in range(400))
    found = parts_of(text)
    assert all(any(word in part.split() for part in found) for word in text.split())
    assert parts_of("") == [""]
