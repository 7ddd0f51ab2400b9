"""Differences of texts: the parts make both texts again."""

from hypothesis import given
from hypothesis import strategies as st

from app.surfaces.console.pages.memory import MAX_WORDS, DiffKind, changes, compare

_TEXTS = st.text(max_size=200) | st.lists(st.sampled_from(["tea", " ", "\n", "é", "_", "42"])).map(
    "".join
)


@given(before=_TEXTS, after=_TEXTS)
def test_the_parts_make_both_texts(before: str, after: str) -> None:
    parts = compare(before, after)
    assert parts is not None
    assert "".join(part.text for part in parts if part.kind is not DiffKind.ADDED) == before
    assert "".join(part.text for part in parts if part.kind is not DiffKind.REMOVED) == after
    assert all(part.text for part in parts)


def test_whole_words_change() -> None:
    parts = compare("I like green tea.", "I like black tea.")
    assert parts is not None
    assert [(part.kind, part.text) for part in parts] == [
        (DiffKind.KEPT, "I like"),
        (DiffKind.REMOVED, " green"),
        (DiffKind.ADDED, " black"),
        (DiffKind.KEPT, " tea."),
    ]


def test_texts_of_too_many_words_are_not_compared() -> None:
    assert compare("a " * (MAX_WORDS + 1), "b") is None


def test_fields_are_compared_one_by_one() -> None:
    before, after = {"a": "x", "b": "y"}, {"a": "x", "b": ""}
    found = changes(before, after, {"a": "First", "b": "Second"})
    assert [(change.name, change.is_change) for change in found] == [
        ("First", False),
        ("Second", True),
    ]
