"""What a query asks for."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.memory.memories.logic.search_hints import search_hints_of
from app.memory.retrieval.logic.query import read

TODAY = date(2026, 3, 4)


@pytest.mark.parametrize(
    ("query", "times"),
    [
        ("What did she do on October 13, 2023?", {"2023-10-13"}),
        ("What did she do in May 2023?", {"2023-05"}),
        ("Where did she go in May?", {"--05"}),
        ("What did she do in 2021?", {"2021"}),
        ("What did I do yesterday?", {"2026-03-03"}),
        ("Was habe ich gestern gemacht?", {"2026-03-03"}),
        ("What did she do?", set()),
    ],
)
def test_the_times_of_a_query_are_read(query: str, times: set[str]) -> None:
    assert set(read(query, TODAY).time.spans) == times


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("When did she move?", {"has:time"}),
        ("what year did she move", {"has:time"}),
        ("How many dogs has she?", {"has:number"}),
        ("How long has she lived here?", {"has:time", "has:number"}),
        ("Where does she live?", set()),
        ("Wann zog sie um?", {"has:time"}),
        ("Combien de chiens a-t-elle ?", {"has:number"}),
        ("\u00bfCu\u00e1ndo se mud\u00f3?", {"has:time"}),
        ("Does she like tea?", set()),
        ("Whenever she drinks tea", set()),
    ],
)
def test_the_kind_of_answer_is_read(query: str, wanted: set[str]) -> None:
    assert set(read(query, TODAY).wanted) == wanted


@pytest.mark.parametrize(
    "query",
    [
        "What does Zo\u00eb like?",
        "what does zoe like",
        "Zoe\u2019s tea",
        "What is ZOE'S favourite?",
    ],
)
def test_a_name_is_known_however_it_is_written(query: str) -> None:
    cues = search_hints_of({"fact": "Zo\u00eb: I like tea."}, None)["cues"]
    assert not read(query, TODAY).subjects.isdisjoint(cues)


def test_a_name_that_is_part_of_a_word_is_not_named() -> None:
    cues = search_hints_of({"fact": "Ann: I like tea."}, None)["cues"]
    assert read("What is the annual fee?", TODAY).subjects.isdisjoint(cues)


@pytest.mark.parametrize(
    "query", ["i like tea", "I like  TEA!", " I like te\u0301a. ".replace("\u0301", "")]
)
def test_a_query_that_is_a_fact_shares_its_cue(query: str) -> None:
    asked = read(query, TODAY)
    assert asked.same in search_hints_of({"fact": "I like tea."}, None)["cues"]
    said = search_hints_of({"fact": "Anna: I like tea."}, None)["cues"]
    assert asked.said in said
    assert asked.same not in said


def test_the_language_of_the_engine_counts_more_than_that_of_the_query() -> None:
    assert read("Wo wohne ich?", TODAY).language == "german"
    assert read("Wo wohne ich?", TODAY, "dutch").language == "dutch"


def test_a_query_without_words_asks_for_nothing() -> None:
    asked = read("\U0001f44d", TODAY)
    assert (asked.time.spans, asked.wanted, asked.subjects) == ((), (), frozenset())
    assert asked.language == "simple"


@given(st.text(max_size=300), st.dates())
def test_any_text_is_read_the_same_every_time(query: str, today: date) -> None:
    assert read(query, today) == read(query, today)
