"""The terms of a query in other texts, and beginnings of texts."""

import pytest

from app.language.bm25 import MAX_TERMS
from app.language.sentences import cut_off
from app.language.terms import Terms, together


def shared(query: str, text: str) -> int:
    return Terms(query).read(text)[0].bit_count()


@pytest.mark.parametrize(
    ("query", "text", "count"),
    [
        ("Where are the pumps?", "A pump stands here.", 1),
        ("blue pumps of Bern", "Bern has BLUE ones, and a p\u00famp.", 3),
        ("Wo stehen die Pumpen?", "Eine Pumpe steht dort.", 2),
        ("L'eau de Berne", "De l'eau, \u00e0 Berne.", 2),
        ("\u4fdd\u4fee\u671f", "\u4fdd\u4fee\u671f\u5230\u4e94\u6708", 2),
        ("the of and", "the of and", 0),
        ("tea", "coffee", 0),
        ("", "tea", 0),
    ],
)
def test_terms_are_found_in_other_forms(query: str, text: str, count: int) -> None:
    assert shared(query, text) == count


def test_words_are_counted_and_bits_put_together() -> None:
    terms = Terms("red green")
    assert len(terms) == 2
    assert terms.read("red house")[1] == 2
    assert together(terms.read(text)[0] for text in ("red", "green", "blue")) == 0b11


def test_of_a_long_query_the_first_terms_count() -> None:
    assert len(Terms(" ".join(f"w{n}x" for n in range(500)))) == MAX_TERMS


@pytest.mark.parametrize(
    ("text", "chars", "expected"),
    [
        ("Short.", 6, "Short."),
        ("One. Two. Three", 10, "One. Two."),
        ("a line\nanother line", 8, "a line"),
        ("no end of a sentence", 10, "no end\u2026"),
        ("xxxxxxxxxx", 4, "xxx\u2026"),
        ("xxxxxxxxxx", 0, ""),
    ],
)
def test_a_text_is_cut_off_where_that_hurts_least(text: str, chars: int, expected: str) -> None:
    assert cut_off(text, chars) == expected
