"""Texts cut into pieces: how long these are, where they end, and that nothing is lost."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.language.chunking import Chunk, Cutting, chunks, text_of
from tests.support.task_texts import TOKENS, long_text

SMALL = Cutting(max_tokens=10, overlap_tokens=2)
TEXTS = st.text(st.sampled_from("ab .!?\n\t\u3002\u200d\U0001f600e\u0301"), max_size=400)


def cut(text: str, cutting: Cutting | None = None) -> list[Chunk]:
    return list(chunks([text], cutting))


@given(st.lists(TEXTS, max_size=5), st.integers(1, 12), st.integers(0, 12))
def test_what_pieces_bring_is_the_text(parts: list[str], most: int, overlap: int) -> None:
    text, cutting = "".join(parts), Cutting(most, overlap)
    found = list(chunks(parts, cutting))
    assert "".join(text_of(found)) == text
    assert [one.n for one in found] == list(range(len(found)))
    for one in found:
        assert one.text == text[one.start : one.end]
        assert 0 < len(one.text) <= cutting.max_chars
    for before, after in pairwise(found):
        # Each brings something, and repeats the end of the one before, at most.
        assert before.start < after.start <= before.end < after.end
        assert before.end - after.start <= cutting.overlap_chars


@given(TEXTS, st.lists(st.integers(0, 400)))
def test_how_the_text_comes_makes_no_difference(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(text)]
    parts = [text[a:b] for a, b in pairwise(places)]
    assert list(chunks(parts, SMALL)) == cut(text, SMALL)


def test_nothing_has_no_pieces() -> None:
    assert cut("") == []
    assert list(chunks([])) == []


def test_a_short_text_is_one_piece() -> None:
    assert cut("Short.") == [Chunk(0, 0, 6, "Short.")]
    assert len(cut("x" * 1_600)) == 1
    assert len(cut("x" * 1_601)) == 2


@pytest.mark.parametrize(
    "text",
    [
        long_text(),
        "x" * (4 * TOKENS),
        "\n" * (4 * TOKENS),
        " " * (4 * TOKENS),
        "A. " * (4 * TOKENS // 3),
        ("y" * 1_161 + "\n\n") * (4 * TOKENS // 1_163),
        "\U0001f468\u200d\U0001f469\u200d\U0001f467" * (4 * TOKENS // 5),
    ],
)
def test_a_long_page_has_so_many_pieces(text: str) -> None:
    found = cut(text)
    assert 211 <= len(found) < 260
    assert max(one.tokens for one in found) <= 400
    assert "".join(text_of(found)) == text


def test_pieces_end_after_paragraphs_before_sentences_before_words() -> None:
    def end(tail: str) -> str:
        # The last places at which the first piece may end are those from the 1,328th on.
        text = "z" * 1_330 + tail
        return cut(text + "z" * (2_000 - len(text)))[0].text[1_330:]

    assert end("aaa bbb. ccc\n\nddd. eee fff") == "aaa bbb. ccc\n\n"
    assert end("aaa bbb. ccc ddd") == "aaa bbb. "
    assert end("aaa\nbbb ccc") == "aaa\n"
    assert end("aaa bbb") == "aaa "
    assert end("\u4f60\u597d\u3002\u4f60 ") == "\u4f60\u597d\u3002"
    assert len(end("aaa")) == 270


def test_a_piece_begins_with_whole_words_of_the_one_before() -> None:
    text = "Many words are here. " * 200
    for before, after in pairwise(cut(text)):
        assert 100 < before.end - after.start <= 200
        assert after.text.startswith("Many")


def test_a_sign_of_several_is_not_taken_apart() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    for one in cut("a" + family * 900):
        assert not one.text.startswith("\u200d")
        assert not one.text.endswith("\u200d")


def test_of_a_piece_there_is_what_comes_after_a_place() -> None:
    chunk = Chunk(0, 10, 15, "abcde")
    assert [chunk.after(end) for end in (0, 10, 12, 15, 99)] == ["abcde", "abcde", "cde", "", ""]
