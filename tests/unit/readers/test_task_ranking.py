"""Pieces in the order of what they have to do with a question."""

from app.artifacts.readers.logic import best_first, pack, passage_tokens
from app.language.chunking import Piece, chunks
from tests.support.task_texts import TOKENS, long_text

FACT = "The warranty of the Nordwind pump ends on 14 March 2031."


def pieces(*texts: str) -> list[Piece]:
    return [Piece(f"t{n}", n, chunk) for n, text in enumerate(texts) for chunk in chunks([text])]


def test_a_fact_of_a_long_page_is_in_the_first_piece() -> None:
    text = long_text(TOKENS, FACT)
    found = pieces(text)
    ranked = best_first("When does the warranty of the Nordwind pump end?", found, len(found))
    assert FACT in ranked[0].chunk.text
    place = text.index(FACT)
    (shown, *_) = pack(ranked[:1], 1_000, passage_tokens).shown
    assert shown.start <= place < shown.end


def test_rare_words_tell_more_than_common_ones() -> None:
    found = pieces("Tea and tea.", "Milk is white.", "Tea is green.", "Saffron tea.", "Tea again.")
    ranked = best_first("saffron milk tea", found, 5)
    assert {one.artifact for one in ranked[:2]} == {"t1", "t3"}
    assert ranked[0].artifact == "t3"


def test_what_shares_no_word_is_left_out_and_equals_stay_in_order() -> None:
    found = pieces("Tea one.", "Nothing.", "Tea two.")
    assert [one.artifact for one in best_first("tea", found, 3)] == ["t0", "t2"]
    assert best_first("?", found, 3) == []
    assert best_first("tea", [], 0) == []
