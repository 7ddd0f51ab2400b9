"""The order of candidates, and the distances that are told of them."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.memory.memories.logic.search_hints import search_hints_of
from app.memory.retrieval.logic.query import RetrievalQuery, read
from app.memory.retrieval.logic.ranking import (
    NO_NEIGHBOUR,
    SIGNALS,
    WEIGHTS,
    Ranked,
    RankingCandidate,
    Statistics,
    rank,
)

Around = dict[str, Any]
"""Attributes of a candidate's neighbour."""
ALL_TERMS = 0b111
FILLER = [
    RankingCandidate(f"other-{n}", 1.2 + n / 100, 0, 8 + n % 3, source=f"talk {n}")
    for n in range(8)
]
QUERY = "What does Anna drink?"


def asked(query: str = QUERY) -> RetrievalQuery:
    return read(query, date(2026, 3, 4))


def statistics(candidates: Sequence[RankingCandidate], terms: int = 3) -> Statistics:
    holding = [sum(one.matched >> n & 1 for one in candidates) for n in range(terms)]
    lengths = [one.length for one in candidates]
    return Statistics(len(lengths), holding, sum(lengths) / max(1, len(lengths)))


def ranked(candidates: Sequence[RankingCandidate], query: str = QUERY) -> list[Ranked]:
    return rank(asked(query), statistics(candidates), candidates)


def order(candidates: Sequence[RankingCandidate], query: str = QUERY) -> list[str]:
    return [one.candidate.memory_id for one in ranked(candidates, query)]


def cues(fact: str, day: str | None = None) -> list[str]:
    event_time = datetime.fromisoformat(f"{day}T10:00:00Z") if day else None
    found: list[str] = search_hints_of({"fact": fact, "event_time": event_time}, None)["cues"]
    return found


@pytest.mark.parametrize(
    ("better", "query"),
    [
        ({"distance": 0.9}, QUERY),
        ({"matched": 0b1}, QUERY),
        ({"length": 20}, QUERY),
        ({"cues": cues("Anna: I like tea.")}, QUERY),
        ({"cues": cues("Hello.", "2023-05-07")}, "What happened on 7 May 2023?"),
        ({"cues": cues("It was on 7 May 2023.")}, "What happened in May 2023?"),
        ({"cues": cues("It was in May.", "2023-05-07")}, "What happened last May?"),
        ({"cues": cues("It was last week.")}, "When was it?"),
        ({"cues": cues("It took three tries.")}, "How many tries?"),
    ],
)
def test_each_signal_puts_a_candidate_first(better: dict[str, object], query: str) -> None:
    plain = [RankingCandidate(f"{n}", 1.2, 0, 8) for n in range(6)]
    good = plain[3]._replace(**better)  # type: ignore[arg-type] # the parameters are well-typed
    best = RankingCandidate("9", 0.3, ALL_TERMS, 9, source="best")
    found = order([*plain[:3], good, *plain[4:], best], query)
    assert found.index("3") < min(found.index(name) for name in "01245")


def before(distance: float, matched: int, length: int, *, is_question: bool = False) -> Around:
    """Return the attributes of a candidate with this memory before it."""
    return {
        "before_distance": distance,
        "before_matched": matched,
        "before_length": length,
        "before_is_question": is_question,
    }


def after(distance: float, matched: int, length: int) -> Around:
    """Return the attributes of a candidate with this memory after it."""
    return {"after_distance": distance, "after_matched": matched, "after_length": length}


FAR_BEFORE = before(1.2, 0, 8)
FAR_AFTER = after(1.2, 0, 8)
FAR = FAR_BEFORE | FAR_AFTER


@pytest.mark.parametrize(
    "better",
    [
        before(1.2, 0b1, 8),
        after(1.2, 0b1, 8),
        after(0.8, 0, 8),
        {"source": "best"},
    ],
)
def test_what_is_around_puts_a_candidate_before_others_with_neighbours(
    better: dict[str, object],
) -> None:
    plain = [RankingCandidate(f"{n}", 1.2, 0, 8, **FAR) for n in range(6)]
    good = plain[3]._replace(**better)  # type: ignore[arg-type] # the parameters are well-typed
    best = RankingCandidate("9", 0.3, ALL_TERMS, 9, source="best", **FAR_AFTER)
    found = order([*plain[:3], good, *plain[4:], best])
    assert found.index("3") < min(found.index(name) for name in "01245")


AROUND = ("nearby_vector", "nearby_words", "source", "answers")


def test_nothing_counts_twice_where_there_is_no_neighbour() -> None:
    alone = [*FILLER, RankingCandidate("near", 0.7, ALL_TERMS, 8, source="talk")]
    assert all(one.parts[name] == 0 for one in ranked(alone) for name in AROUND)
    beside = RankingCandidate("beside", 1.0, 0, 8, source="talk", **FAR)
    others = [one._replace(**after(1.3, 0, 8)) for one in FILLER]
    parts = {one.candidate.memory_id: one.parts for one in ranked([alone[-1], beside, *others])}
    assert all(parts["near"][name] == 0 for name in AROUND)
    assert parts["beside"]["nearby_vector"] > 0


def test_one_common_word_counts_by_its_share_and_no_more_than_the_cap() -> None:
    candidates = [
        *FILLER,
        RankingCandidate("all", 1.2, ALL_TERMS, 8),
        RankingCandidate("one", 1.2, 0b1, 8),
    ]
    found = rank(asked(), Statistics(1000, [900, 3, 3], 8.0), candidates)
    parts = {one.candidate.memory_id: one.parts["words"] for one in found}
    assert parts["all"] == pytest.approx(2.5 * WEIGHTS.words)
    assert abs(parts["one"]) < 0.1


def test_the_length_is_bounded_and_beyond_the_longest_quarter_adds_nothing() -> None:
    lengths = [1, 8, 8, 9, 9, 9, 10, 10, 12, 13, 40, 400]
    candidates = [RankingCandidate(f"{n:02}", 1.2, 0, length) for n, length in enumerate(lengths)]
    told = Statistics(12, [1, 1, 1], 9.0)
    found = rank(asked(), told, candidates, replace(WEIGHTS, length=5.0))
    parts = {one.candidate.memory_id: one.parts["length"] for one in found}
    assert parts["00"] == -0.3
    assert parts["11"] == parts["10"] == parts["09"] == 0.3


def test_a_question_that_also_says_something_is_no_mere_question() -> None:
    facts = ("What tea?", "I like green tea. Which do you like?", "Ich mag Tee, und du?")
    candidates = [RankingCandidate(fact, 1.0, 1, 8, cues(fact)) for fact in facts]
    parts = {one.candidate.memory_id: one.parts["question"] for one in ranked(candidates)}
    assert [parts[fact] for fact in facts] == [-0.3, 0, 0]


def test_of_long_messages_the_short_go_first_and_what_is_around_does_not_count() -> None:
    candidates = [
        RankingCandidate(f"{n}", 1.0, n % 2, 20 + 20 * n, source="s", **before(1.0, n, 9))
        for n in range(6)
    ]
    for average, is_short in ((15.0, True), (80.0, False)):
        found = rank(asked(), Statistics(6, [3, 3, 3], average), candidates)
        by_length = sorted(found, key=lambda one: one.candidate.length)
        lengths = [one.parts["length"] for one in by_length]
        assert lengths == sorted(lengths, reverse=not is_short)
        assert (lengths[0] < 0 < lengths[-1]) is is_short
        for one in found:
            assert any(one.parts[name] for name in AROUND) is is_short


def test_a_question_is_behind_a_statement() -> None:
    pair = [
        RankingCandidate("a", 1.0, 1, 8, cues("What tea?")),
        RankingCandidate("b", 1.0, 1, 8, cues("Tea.")),
    ]
    assert order([*FILLER, *pair])[:2] == ["b", "a"]


def test_what_follows_a_question_with_the_words_is_its_answer() -> None:
    told = RankingCandidate("a", 1.2, 0, 8, **before(1.2, ALL_TERMS, 8))
    asking = before(1.2, ALL_TERMS, 8, is_question=True)
    answer = RankingCandidate("b", 1.2, 0, 8, **asking)
    others = [one._replace(**FAR_BEFORE) for one in FILLER]
    assert order([*others, told, answer])[:2] == ["b", "a"]


def test_a_near_date_counts_less_than_the_same_and_more_than_a_far_one() -> None:
    days = ["2023-05-07", "2023-05-09", "2023-07-01"]
    dated = [RankingCandidate(day, 1.2, 0, 8, cues("Hello.", day)) for day in days]
    assert order(dated[::-1], "What happened on 7 May 2023?") == days


def test_the_exact_fact_is_first_and_at_distance_0() -> None:
    exact = RankingCandidate("z", 1.3, 0, 3, cues("Anna: Tea!"))
    better = RankingCandidate("a", 0.1, ALL_TERMS, 9, cues("Anna drinks tea."))
    found = ranked([better, *FILLER, exact], "anna  tea")
    assert found[0].candidate == exact
    assert found[0].distance == 0
    assert found[1].distance > 0


def test_what_somebody_says_by_the_query_comes_after_the_query_itself() -> None:
    said = RankingCandidate("a", 0.1, ALL_TERMS, 9, cues("Anna: I drink tea."))
    exact = RankingCandidate("z", 0.2, 0, 3, cues("I drink tea"))
    found = ranked([said, *FILLER, exact], "I drink tea!")
    assert [one.candidate for one in found[:2]] == [exact, said]
    assert [one.distance for one in found[:2]] == [0, 0]


def test_without_vectors_the_words_decide() -> None:
    blind = [one._replace(distance=None) for one in FILLER]
    found = ranked([*blind, RankingCandidate("tea", None, 0b11, 8)])
    assert found[0].candidate.memory_id == "tea"
    assert all(one.parts["vector"] == one.parts["nearby_vector"] == 0 for one in found)


def test_a_memory_without_a_vector_among_others_is_taken_for_average() -> None:
    found = ranked(
        [*FILLER, RankingCandidate("new", None, 0, 8), RankingCandidate("near", 0.7, 0, 8)]
    )
    parts = {one.candidate.memory_id: one.parts["vector"] for one in found}
    assert parts["new"] == 0
    assert parts["near"] > 0


def test_without_terms_the_vectors_decide() -> None:
    candidates = [*FILLER, RankingCandidate("near", 0.7, 0, 8)]
    found = rank(asked("\U0001f44d"), Statistics(9, [], 8.0), candidates)
    assert found[0].candidate.memory_id == "near"


def test_of_nothing_nothing_is_made() -> None:
    assert rank(asked(), Statistics(0, [], 0.0), []) == []


def test_one_candidate_is_nearer_the_better_it_meets_the_query() -> None:
    good = RankingCandidate("a", 0.5, ALL_TERMS, 8)
    poor = RankingCandidate("a", 1.3, 0, 8)
    told = Statistics(1, [1, 1, 1], 8.0)
    (near,), (far,) = (rank(asked(), told, [one]) for one in (good, poor))
    assert 0 < near.distance < 0.5
    assert 1.5 < far.distance < 2


def test_distances_of_different_queries_compare() -> None:
    met = ranked([*FILLER, RankingCandidate("a", 0.7, ALL_TERMS, 8)])[0]
    missed = ranked([*FILLER, RankingCandidate("a", 1.15, 0b1, 8)])[0]
    assert met.candidate.memory_id == missed.candidate.memory_id == "a"
    assert met.distance < missed.distance


def test_the_parts_are_named_and_add_up_to_the_score() -> None:
    for one in ranked([*FILLER, RankingCandidate("a", 0.7, 0b1, 8, cues("Anna: Tea."))]):
        assert tuple(one.parts) == SIGNALS
        assert sum(one.parts.values()) == pytest.approx(one.score)


neighbours = st.just(NO_NEIGHBOUR) | st.tuples(
    st.none() | st.floats(0, 2), st.integers(0, 15), st.integers(0, 100), st.booleans()
)
candidates_of = st.lists(
    st.builds(
        lambda *own: RankingCandidate(*own[:-2]).between(*own[-2:]),
        st.uuids().map(str),
        st.none() | st.floats(0, 2),
        st.integers(0, 15),
        st.integers(0, 100),
        st.sampled_from(
            [cues("Anna: I like tea."), cues("I like tea."), cues("When?", "2023-05-07"), []]
        ),
        st.none() | st.sampled_from(["a", "b"]),
        st.none() | st.floats(0, 100),
        neighbours,
        neighbours,
    ),
    max_size=30,
    unique_by=lambda one: one.memory_id,
)
queries = st.sampled_from(["I like tea", "When did Anna go in May 2023?", "", "\U0001f44d"])


@given(candidates_of, queries, st.randoms(use_true_random=False))
def test_the_order_is_total_and_distances_ascend(
    candidates: list[RankingCandidate], query: str, chance: random.Random
) -> None:
    told = statistics(candidates, terms=4)
    found = rank(asked(query), told, candidates)
    shuffled = chance.sample(candidates, len(candidates))
    assert rank(asked(query), told, shuffled) == found
    assert rank(asked(query), told, shuffled, most=3) == found[:3]
    assert sorted(one.candidate.memory_id for one in found) == sorted(
        one.memory_id for one in candidates
    )
    distances = [one.distance for one in found]
    assert distances == sorted(distances)
    assert all(0 <= distance <= 2 for distance in distances)
    exact = [asked(query).same in (one.candidate.cues or ()) for one in found]
    assert exact == sorted(exact, reverse=True)
    for one in found:
        is_said = {asked(query).same, asked(query).said} & set(one.candidate.cues or ())
        assert (one.distance == 0) == bool(is_said)
