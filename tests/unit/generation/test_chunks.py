"""Cutting a conversation into pieces loses nothing silently."""

from dataclasses import replace
from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from app.language.tokens import estimate_tokens_of_bytes
from app.memory.generation.logic.chunks import TranscriptLine, cut, halved

# Words, sentences without a blank, four-byte signs, signs that join: whatever people write.
_TEXT = st.text(
    st.sampled_from("aé我🌍 .!?\n\u200d\u0301z") | st.characters(exclude_categories=["Cs"]),
    min_size=1,
    max_size=300,
)
_LINES = st.lists(st.tuples(st.booleans(), _TEXT), max_size=20).map(
    lambda said: [
        TranscriptLine(turn, is_users, text) for turn, (is_users, text) in enumerate(said)
    ]
)
_TOKENS = st.integers(15, 200)
_MANY = 10_000


@given(_LINES, _TOKENS)
def test_nothing_that_users_said_is_lost(lines: list[TranscriptLine], max_tokens: int) -> None:
    pieces, omitted = cut(lines, max_tokens, _MANY)
    assert omitted == frozenset()
    for line in lines:
        parts = [one for piece in pieces for one in piece if one.turn == line.turn]
        if line.is_users:
            assert "".join(one.text for one in parts) == line.text
        assert {replace(one, text="") for one in parts} <= {replace(line, text="")}


@given(_LINES, _TOKENS, st.integers(1, 4))
def test_what_is_left_out_is_named(lines: list[TranscriptLine], max_tokens: int, most: int) -> None:
    pieces, omitted = cut(lines, max_tokens, most)
    whole, _ = cut(lines, max_tokens, _MANY)
    assert len(pieces) <= most
    # The last pieces, since what was said last counts.
    assert pieces == whole[max(len(whole) - most, 0) :]
    kept = [one for piece in pieces for one in piece]
    for line in lines:
        if line.is_users and line.turn not in omitted:
            said = "".join(one.text for one in kept if one.turn == line.turn)
            assert said == line.text


@given(_LINES, _TOKENS)
def test_pieces_fit_and_have_something_to_read(
    lines: list[TranscriptLine], max_tokens: int
) -> None:
    pieces, _ = cut(lines, max_tokens, _MANY)
    for piece in pieces:
        assert sum(line.tokens for line in piece) <= max_tokens
        assert any(line.is_users for line in piece)
        assert all(line.text for line in piece)


@given(_LINES, _TOKENS)
def test_the_order_stays(lines: list[TranscriptLine], max_tokens: int) -> None:
    pieces, _ = cut(lines, max_tokens, _MANY)
    turns = [line.turn for piece in pieces for line in piece]
    assert turns == sorted(turns)


def test_turns_stay_whole_where_they_fit() -> None:
    lines = [TranscriptLine(turn, is_users=True, text="x" * 60) for turn in range(4)]
    pieces, _ = cut(lines, 2 * lines[0].tokens, _MANY)
    assert [[line.turn for line in piece] for piece in pieces] == [[0, 1], [2, 3]]


def test_a_long_turn_is_cut_between_sentences_else_between_words() -> None:
    spoken = "I like tea from Ceylon. I have two cats and a dog. I live in Oslo near the sea. "
    pieces, _ = cut([TranscriptLine(0, is_users=True, text=spoken * 5)], 60, _MANY)
    assert len(pieces) > 2
    assert all(line.text.rstrip().endswith(".") for piece in pieces for line in piece)
    words = "word " * 200
    pieces, _ = cut([TranscriptLine(0, is_users=True, text=words)], 60, _MANY)
    for piece in pieces:
        assert piece[0].text.split() == ["word"] * len(piece[0].text.split())


def test_pieces_of_the_model_alone_cost_no_call_and_no_place() -> None:
    user = TranscriptLine(0, is_users=True, text="u" * 60)
    others = [TranscriptLine(turn, is_users=False, text="m" * 60) for turn in range(1, 6)]
    assert cut([user, *others], user.tokens, 1) == ([(user,)], frozenset())


def test_nothing_said_is_no_piece() -> None:
    assert cut([], 100, 10) == ([], frozenset())


def test_estimates_are_generous_for_every_script() -> None:
    assert estimate_tokens_of_bytes("") == 1
    assert estimate_tokens_of_bytes("我" * 10) >= 10


@given(_LINES)
def test_halves_are_the_piece_and_each_has_something_to_read(lines: list[TranscriptLine]) -> None:
    halves = halved(lines)
    whole = [(line.turn, line.text) for half in halves for line in half]
    assert "".join(text for _, text in whole) == "".join(line.text for line in lines)
    assert [turn for turn, _ in whole] == sorted(turn for turn, _ in whole)
    assert len(halves) == 1 or all(any(line.is_users for line in half) for half in halves)


def test_a_question_stays_with_its_answer() -> None:
    texts = ["Hi, I am Ida.", "A: Where do you live?", "In Graz.", "A: Any pets?", "A dog."]
    lines = [
        TranscriptLine(turn, not text.startswith("A:"), text) for turn, text in enumerate(texts)
    ]
    first, second = halved(lines)
    assert ([line.turn for line in first], [line.turn for line in second]) == ([0, 1, 2], [3, 4])


def test_halves_of_thousands_of_lines_take_little_time() -> None:
    lines = [TranscriptLine(turn, turn % 2 == 0, "ok yes") for turn in range(10_000)]
    began = process_time()

    first, second = halved(lines)

    assert abs(len(first) - len(second)) <= 2
    assert process_time() - began < 1
