"""Which pieces a reader is given: what fits, once, in the order of the texts."""

from hypothesis import given
from hypothesis import strategies as st

from app.artifacts.readers.logic import ShownChunk, pack, passage_tokens, question, room_of
from app.artifacts.readers.services.queries import cited
from app.language.chunking import Cutting, Piece, chunks
from app.language.tokens import estimate_tokens
from tests.support.task_texts import long_text

CUTTING = Cutting(max_tokens=50, overlap_tokens=10)


def pieces(text: str, artifact: str = "page", ordinal: int = 1) -> list[Piece]:
    return [Piece(artifact, ordinal, chunk) for chunk in chunks([text], CUTTING)]


PAGE, NOTE = pieces(long_text(1_000)), pieces(long_text(300), "note", 2)


@given(st.permutations(PAGE + NOTE), st.integers(0, 1_500))
def test_what_is_given_fits_and_says_nothing_twice(ranked: list[Piece], room: int) -> None:
    found = pack(ranked, room, passage_tokens)
    assert sum(passage_tokens(one.artifact, one.text) for one in found.shown) <= room
    assert found.truncated == (found.chunks_used < len(ranked) or room < 1_000)
    places = [(one.ordinal, one.start) for one in found.shown]
    assert places == sorted(places)
    for before, after in zip(found.shown, found.shown[1:], strict=False):
        if before.ordinal == after.ordinal and before.chunk + 1 == after.chunk:
            assert before.end == after.start
    texts = {"page": long_text(1_000), "note": long_text(300)}
    for one in found.shown:
        assert one.text == texts[one.artifact][one.start : one.end]


def test_all_is_given_where_there_is_room_for_it() -> None:
    found = pack(PAGE, 5_000)
    assert not found.truncated
    assert found.chunks_used == len(PAGE)
    assert "".join(one.text for one in found.shown) == long_text(1_000)


def test_the_best_are_given_first() -> None:
    ranked = [PAGE[9], PAGE[2], PAGE[5]]
    found = pack(ranked, estimate_tokens(PAGE[9].chunk.text) + estimate_tokens(PAGE[2].chunk.text))
    assert [one.chunk for one in found.shown] == [2, 9]
    assert found.truncated


def test_one_that_does_not_fit_does_not_keep_others_out() -> None:
    short = pieces("Short.", "short", 3)
    found = pack([PAGE[0], PAGE[4], *short], estimate_tokens(PAGE[0].chunk.text) + 2)
    assert [one.artifact for one in found.shown] == ["page", "short"]


def test_of_the_best_the_beginning_is_given_if_no_more_fits() -> None:
    found = pack(PAGE[3:5], 30, passage_tokens)
    (one,) = found.shown
    assert PAGE[3].chunk.text.startswith(one.text)
    assert one.end == one.start + len(one.text)
    assert 20 < passage_tokens(one.artifact, one.text) <= 30
    assert found.truncated
    assert pack(PAGE[3:5], 19).shown == []
    assert pack([], 100).shown == []


def test_a_question_fits_in_the_window_of_its_reader() -> None:
    query = "Which word comes after the first?"
    for window in (1_000, 2_000, 8_192):
        room = room_of(window, 400, question(query, [], 400).tokens)
        shown = pack(PAGE * 1, room, passage_tokens).shown
        assert question(query, shown, 400).tokens + 400 <= window
    assert room_of(500, 400, 200) == 0


def test_citations_are_places_and_those_made_up_are_dropped() -> None:
    shown = pack([PAGE[2], PAGE[3], NOTE[0]], 5_000).shown
    found = cited([3, 1, 3, 0, -1, 99, 10**30], shown)
    assert [(one.artifact, one.chunk, one.start, one.end) for one in found] == [
        ("page", 2, PAGE[2].chunk.start, PAGE[2].chunk.end),
        ("note", 0, 0, NOTE[0].chunk.end),
    ]
    # Of a piece whose beginning stands in the one before, what is shown is cited.
    (second,) = cited([2], shown)
    assert second.start == PAGE[2].chunk.end
    assert cited([], shown) == []
    assert (
        len(cited(range(1, 500), [ShownChunk("a", 1, n, n, n + 1, "x") for n in range(300)])) == 100
    )
