"""Which passages of a session answer a query."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.conversation.recall.logic import (
    MAX_CHARS,
    MAX_FOUND,
    PassageReader,
    RecallHit,
    SentenceSpan,
    choose,
)
from app.language.bm25 import MAX_TERMS
from app.language.terms import Terms
from app.language.tokens import estimate_tokens
from app.platform.sessions.logic.event_text import EventText, speaker_of, text_of

TALK = (
    ("user", "Can you book a hotel in Lisbon for May?"),
    ("agent", "I booked the Hotel Aurora. It is near the river. Breakfast costs extra."),
    ("user", "What is the door code of the flat?"),
    ("agent", "It is 4711."),
    ("user", "My sister Ada lives in Graz. She works as a vet."),
    ("agent", "What is your shoe size?"),
    ("user", "44, wide."),
    ("user", "Wie heißt mein Zahnarzt?"),
    ("agent", "Dr. Kirbach, Tel. 555 123."),
    ("user", "我的车牌号是沪A12345。"),
    ("agent", "Noted. Shopping list:\n- oats\n- pears"),
)


def said(seq: int, author: str, text: str) -> EventText:
    content = {"role": "model" if author == "agent" else "user", "parts": [{"text": text}]}
    return EventText(
        seq, f"e{seq}", 1, speaker_of(author, content), content, text_of(content), None
    )


EVENTS = [said(seq, author, text) for seq, (author, text) in enumerate(TALK, start=1)]


def found(query: str, events: Sequence[EventText] = EVENTS, page: int = 100) -> list[RecallHit]:
    """Search the events, read in pages from the newest on."""
    reader = PassageReader(Terms(query))
    for end in range(len(events), 0, -page):
        reader.add(events[max(end - page, 0) : end])
    return reader.best()


def spans(
    query: str, events: Sequence[EventText] = EVENTS, top_k: int = 5, max_tokens: int = 300
) -> list[SentenceSpan]:
    return choose(found(query, events), top_k, max_tokens, estimate_tokens)


def best(query: str, events: Sequence[EventText] = EVENTS) -> str:
    return spans(query, events)[0].text


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Which hotel in Lisbon did you book?", "I booked the Hotel Aurora. It is near the river."),
        ("door codes", "It is 4711."),
        ("Where is Ada's home?", "My sister Ada lives in Graz. She works as a vet."),
        ("Which size of shoes do I wear?", "44, wide."),
        ("Nummer vom Zahnarzt", "Dr. Kirbach, Tel. 555 123."),
        ("车牌号是什么", "我的车牌号是沪A12345。"),
    ],
    ids=["own words", "the question's words", "of like meaning", "the agent asked", "de", "signs"],
)
def test_the_passage_that_answers_comes_first(query: str, answer: str) -> None:
    assert best(query) == answer


def test_what_announces_comes_with_what_it_announces() -> None:
    assert best("shopping list") == "Shopping list:\n- oats"


@pytest.mark.parametrize("query", ["quantum physics", "what is it?", "?!", "\u200b"])
def test_without_a_word_in_common_nothing_is_found(query: str) -> None:
    assert spans(query) == []


def test_a_question_counts_less_than_what_is_stated() -> None:
    events = [said(1, "agent", "The key is under the mat."), said(2, "user", "Is the key there?")]
    assert [one.said.seq for one in spans("key", events)] == [1, 2]


def test_of_two_that_say_as_much_the_later_comes_first_and_of_equal_ones_alone() -> None:
    events = [
        said(1, "user", "The plan is red."),
        said(2, "user", "The plan is blue."),
        said(3, "user", "The plan is red."),
    ]
    assert [(one.said.seq, one.text) for one in spans("plan", events)] == [
        (3, "The plan is red."),
        (2, "The plan is blue."),
    ]


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    events = [said(n, "user", f"The trip to town {n} was long.") for n in range(1, 20)]
    events.append(said(20, "user", "The walk to Oslo was short."))
    assert best("trip to Oslo", events) == "The walk to Oslo was short."


@pytest.mark.parametrize("page", [1, 2, 3, 4, 100])
@pytest.mark.parametrize("query", ["door code", "shoe size", "hotel Lisbon river", "Ada"])
def test_pages_make_no_difference(query: str, page: int) -> None:
    ranked = found(query, page=page)
    whole = found(query)
    assert [(one.event.said.seq, one.place, one.score) for one in ranked] == [
        (one.event.said.seq, one.place, one.score) for one in whole
    ]


def test_there_are_no_more_than_asked_for() -> None:
    events = [said(n, "user", f"Pear {n} is sweet.") for n in range(1, 10)]
    assert len(spans("pear", events, top_k=3)) == 3


def test_the_best_is_shortened_where_it_does_not_fit_and_others_are_left_out() -> None:
    events = [
        said(1, "user", "The red tram to the museum leaves at nine."),
        said(2, "user", "Red tram."),
        said(3, "user", "Something else."),
    ]
    whole = spans("red tram to the museum", events, max_tokens=14)
    assert [one.text for one in whole] == [events[0].text, "Red tram."]
    short = spans("red tram to the museum", events, max_tokens=6)
    assert [one.text for one in short] == ["The red tram to the"]
    assert spans("red tram to the museum", events, max_tokens=1)[0].text == "The"


def test_a_long_text_without_sentences_is_found_in_pieces() -> None:
    text = " ".join(f"item{n}" for n in range(500)) + " zebra " + " ".join(["more"] * 500)
    (only,) = spans("zebra", [said(1, "tool", text)])
    assert "zebra" in only.text
    assert len(only.text) <= 400
    (unbroken,) = spans("zebra", [said(1, "tool", "zebra" + "x" * 5_000 + " zebra")], top_k=1)
    assert len(unbroken.text) <= 400


def test_a_long_query_is_read_to_its_first_words() -> None:
    assert len(Terms(" ".join(f"word{n}" for n in range(1_000)))) == MAX_TERMS


def test_words_with_other_endings_are_found_among_many_terms() -> None:
    query = " ".join(f"wall{n}x" for n in range(MAX_TERMS - 3)) + " hotels universities 4711"
    terms = Terms(query)
    assert len(terms) == MAX_TERMS
    for word in ("hotel", "university", "4711", "wall7x"):
        assert terms.read(word)[0].bit_count() == 1, word
    assert terms.read("universal hot 4712 wall")[0] == 0


def test_the_beginning_of_a_very_long_text_is_looked_at() -> None:
    early, late = "The zebra is old. ", "The giraffe is old."
    events = [said(1, "user", early + "Well. " * (MAX_CHARS // 6) + late)]
    assert best("zebra", events) == early.strip()
    assert spans("giraffe", events) == []


def test_of_very_many_sentences_the_best_are_kept() -> None:
    events = [said(n, "user", "A zebra. " * 400) for n in range(1, 4)]
    ranked = found("zebra", events)
    assert len(ranked) == MAX_FOUND
    assert {one.event.said.seq for one in ranked} == {2, 3}


def test_what_is_not_known_to_be_asked_does_not_wait_without_end() -> None:
    reader = PassageReader(Terms("zebra"))
    for seq in range(9, 0, -1):
        reader.add([said(seq, "agent", f"Zebra {seq} is old. " + "Well. " * 10_000)])
    assert reader.sentences >= 5 * 10_000
    ranked = reader.best()
    assert sorted({one.event.said.seq for one in ranked}) == list(range(1, 10))


WORDS = st.sampled_from(
    ["pear", "Pears", "oats", "It", "is", "ripe", "?", ".", "\n", "号", "🍐", ":"]
)
TEXTS = st.lists(WORDS, max_size=30).map(" ".join)


@given(
    talk=st.lists(st.tuples(st.sampled_from(["user", "agent", "tool"]), TEXTS), max_size=8),
    top_k=st.integers(1, 5),
    max_tokens=st.integers(1, 40),
)
def test_passages_are_parts_of_their_events_and_fit(
    talk: list[tuple[str, str]], top_k: int, max_tokens: int
) -> None:
    events = [said(seq, *one) for seq, one in enumerate(talk, start=1)]
    chosen = spans("ripe pears 号", events, top_k, max_tokens)
    assert len(chosen) <= top_k
    assert sum(estimate_tokens(one.text) for one in chosen) <= max_tokens
    for one in chosen:
        assert one.text
        assert one.said.text[one.start : one.end] == one.text
    places = [(one.said.seq, n) for one in chosen for n in range(one.start, one.end)]
    assert len(places) == len(set(places))
