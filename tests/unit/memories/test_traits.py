"""What is read from a memory when it is written."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.memory.memories.logic.search_hints import said, same, search_hints_of

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def cues(fact: str | None, event_time: datetime | None = None) -> set[str]:
    return set(search_hints_of({"fact": fact, "event_time": event_time}, None)["cues"])


def cues_of(kind: str, fact: str, event_time: datetime | None = None) -> set[str]:
    found = (cue.partition(":") for cue in cues(fact, event_time))
    return {value for begin, _, value in found if begin == kind}


@pytest.mark.parametrize(
    ("fact", "subjects"),
    [
        ("Caroline: I went to Paris.", {"caroline"}),
        ("Mary Ann: I went to Paris.", {"mary", "ann"}),
        ("José: Voy a París.", {"jose"}),
        ("Caroline went to Paris.", {"caroline"}),
        ("Caroline and her sister went to Paris.", {"caroline"}),
        ("Tim's dog barks.", {"tim"}),
        ("Jean-Luc likes tea.", {"jean", "luc"}),
        ("Anna wohnt in Berlin.", {"anna"}),
        ("Анна живёт в Москве.", {"анна"}),
        ("The user went to Paris.", set()),
        ("I went to Paris.", set()),
        ("Likes tea.", set()),
        ("Hiking in the Alps.", set()),
        ("Ich wohne in Berlin.", set()),
        ("likes: tea", set()),
        ("Caroline", set()),
        ("", set()),
    ],
)
def test_a_name_that_begins_a_fact_is_its_subject(fact: str, subjects: set[str]) -> None:
    assert cues_of("subject", fact) == subjects


@pytest.mark.parametrize(
    ("fact", "times"),
    [
        ("We met on 7 May 2023.", {"2023-05-07"}),
        ("We met in May 2021 and in 2019.", {"2021-05", "2019"}),
        ("We met yesterday.", {"2023-05-07"}),
        ("Wir trafen uns gestern.", {"2023-05-07"}),
        ("We met last week.", {"2023-05-01/2023-05-07"}),
        ("We meet in June.", {"2023-06"}),
        ("We met in December.", {"2022-12"}),
        ("We may meet.", set()),
    ],
)
def test_times_of_a_fact_are_told_as_dates(fact: str, times: set[str]) -> None:
    assert cues_of("time", fact, MONDAY) == times


def test_without_a_day_it_was_said_on_only_what_the_words_say_is_told() -> None:
    assert cues_of("time", "Yesterday, and in June, and on 7 May 2023.") == {"--06", "2023-05-07"}


@pytest.mark.parametrize("hidden", ["Green\u200b tea.", "green te\u2060a", "\u202dGREEN tea\u202c"])
def test_characters_that_nobody_sees_are_no_part_of_a_fact(hidden: str) -> None:
    assert same(hidden) == same("green tea")
    assert cues_of("same", hidden) == cues_of("same", "green tea")


def test_the_day_of_the_event_is_told() -> None:
    assert cues_of("said", "Hello.", MONDAY) == {"2023-05-08"}


def test_without_a_time_no_day_is_told() -> None:
    assert cues_of("said", "We met yesterday.") == set()


@pytest.mark.parametrize(
    ("fact", "cue"),
    [
        ("Anna: How have you been?", "is:question"),
        ("Anna: How have you been? 😊", "is:question"),
        ("你好吗\uff1f", "is:question"),
        ("It took 3 tries.", "has:number"),
        ("It took three tries.", "has:number"),
        ("It was last weekend.", "has:time"),
        ("It was on 7 May 2023.", "has:time"),
    ],
)
def test_what_a_fact_is_and_has_is_told(fact: str, cue: str) -> None:
    assert cue in cues(fact)


@pytest.mark.parametrize("cue", ["is:question", "has:number", "has:time"])
def test_what_a_fact_is_not_is_not_told(cue: str) -> None:
    assert cue not in cues("Anna: I like tea. You asked what I drink?! Tea it is.")


@pytest.mark.parametrize(
    "other", ["i like café", "I  like cafe.", "I LIKE CAFÉ!", " I like Cafe\u0301 "]
)
def test_facts_that_differ_in_spelling_only_share_a_cue(other: str) -> None:
    assert same(other) in cues("I like café.")
    assert same(other) not in cues("I like tea.")


def test_a_fact_is_known_by_what_was_said_without_the_name() -> None:
    assert said("i like tea") in cues("Anna: I like tea.")
    assert same("i like tea") not in cues("Anna: I like tea.")


def test_facts_of_signs_alone_differ() -> None:
    assert same("👍") != same("👎")


def test_a_memory_without_a_fact_has_no_cues() -> None:
    assert search_hints_of({"fact": None}, None) == {
        "language": "simple",
        "cues": [],
        "grams": None,
    }


def test_the_language_of_the_engine_counts_more_than_that_of_the_fact() -> None:
    assert search_hints_of({"fact": "I like tea."}, "german")["language"] == "german"
    assert search_hints_of({"fact": "Ich mag Tee."}, None)["language"] == "german"


@pytest.mark.parametrize("piece", ["Anna ", "? ", "2023-05-07 ", "1 May ", "a", "Anna: ", "\n"])
def test_a_very_long_fact_has_few_cues(piece: str) -> None:
    assert len(cues(piece * (100_000 // len(piece)), MONDAY)) <= 20


@given(st.text(max_size=200), st.booleans())
def test_any_text_has_short_cues_that_are_the_same_every_time(fact: str, is_dated: bool) -> None:  # noqa: FBT001 - hypothesis passes it
    found = search_hints_of({"fact": fact, "event_time": MONDAY if is_dated else None}, None)
    assert found == search_hints_of(
        {"fact": fact, "event_time": MONDAY if is_dated else None}, None
    )
    assert len(set(found["cues"])) == len(found["cues"]) <= 20
    assert all("\x00" not in cue and len(cue.encode()) <= 200 for cue in found["cues"])
