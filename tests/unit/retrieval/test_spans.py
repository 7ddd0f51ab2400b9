"""The time that a question asks about."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.language.dates import days_of
from app.language.search_languages import configuration_of
from app.language.spans import UNTIMED, AskedTime, Order, TimeBound, asked_time

SUNDAY = date(2026, 11, 29)
_PAST, _FUTURE = "0001-01-01", "9999-12-31"


def _asked(question: str) -> AskedTime:
    return asked_time(question, SUNDAY, configuration_of(question))


@pytest.mark.parametrize(
    ("question", "span"),
    [
        ("What did I do last week?", "2026-11-16/2026-11-22"),
        ("What happened in the last month?", "2026-10-29/2026-11-29"),
        ("What did I cook over the past few days?", "2026-11-26/2026-11-29"),
        ("Who did I meet a couple of weeks ago?", "2026-11-12/2026-11-18"),
        ("Which film did I see on Tuesday?", "2026-11-24"),
        ("What have I told you recently?", "2026-10-29/2026-11-29"),
        ("What did I say the other day?", "2026-11-15/2026-11-29"),
        ("What was at the beginning of March?", "--03"),
        ("What have I read since March?", f"2026-03-01/{_FUTURE}"),
        ("What did I do before 10 June?", f"{_PAST}/2026-06-09"),
        ("What did I do between March and May?", "2026-03-01/2026-05-31"),
        ("What's next week?", "2026-11-30/2026-12-06"),
        ("Was habe ich vor zwei Wochen gemacht?", "2026-11-12/2026-11-18"),
        ("Was habe ich in den letzten drei Tagen gegessen?", "2026-11-26/2026-11-29"),
        ("¿Qué hice ayer?", "2026-11-28"),
        ("Qu'est-ce que j'ai fait il y a trois jours ?", "2026-11-26"),
    ],
)
def test_the_span_of_a_question_is_read(question: str, span: str) -> None:
    asked = _asked(question)
    assert [days_of(one) or one for one in asked.spans] == [days_of(span) or span]
    assert asked.order is None


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("my most recent run", Order.NEWEST),
        ("What is the latest on the flat?", Order.NEWEST),
        ("When did I last see the dentist?", Order.NEWEST),
        ("When did I first mention Priya?", Order.OLDEST),
        ("upcoming appointments", Order.NEXT),
        ("Mein letzter Besuch beim Arzt", Order.NEWEST),
        ("¿Cuál fue mi primer concierto?", Order.OLDEST),
        ("What is my last name?", None),
        ("What did I do last year?", None),
        ("What is Anna's first name?", None),
    ],
)
def test_the_order_of_a_question_is_read(question: str, order: Order | None) -> None:
    assert _asked(question).order == order


@pytest.mark.parametrize(
    ("question", "events"),
    [
        ("What did I do before my trip to Lisbon?", [TimeBound("my trip to Lisbon", "before")]),
        ("What happened after I changed jobs?", [TimeBound("I changed jobs", "after")]),
        ("What did I do in the week after Whitby?", [TimeBound("Whitby", "after", 7)]),
        (
            "What happened between giving notice and my first night?",
            [TimeBound("giving notice", "since"), TimeBound("my first night", "until")],
        ),
        ("What do I eat before bed?", []),
        ("What did we have before?", []),
    ],
)
def test_the_events_that_bound_a_question_are_read(question: str, events: list[TimeBound]) -> None:
    assert [*_asked(question).events] == events


def test_an_order_and_an_event_leave_a_month_of_any_year() -> None:
    assert _asked("my last run in March").spans == ("--03",)
    assert _asked("What did I do in March before my trip?").bounded(["2026-05-01"]) == ("--03",)


def test_a_text_has_two_events_at_most() -> None:
    asked = _asked("since tea, " * 1_000)
    assert len(asked.events) <= 2


def test_a_question_without_a_time_has_none() -> None:
    assert _asked("Does the user like peanuts?") == UNTIMED


def test_days_of_events_bound_the_spans() -> None:
    asked = _asked("What happened between giving notice and my first night?")
    assert asked.bounded(["2026-07-10", "2026-08-04"]) == ("2026-07-10/2026-08-04",)
    assert asked.bounded(["2026-07-10", None]) == (f"2026-07-10/{_FUTURE}",)
    assert asked.bounded([None, None]) == ()
    assert asked.bounded(["2026-08-04", "2026-07-10"]) == ()
    week = _asked("What did I do in the week after Whitby?")
    assert week.bounded(["2026-02-20"]) == ("2026-02-21/2026-02-28",)
    assert week.bounded([_FUTURE]) == (f"{_FUTURE}/{_FUTURE}",)


@given(
    words=st.lists(
        st.sampled_from(
            [
                *("what", "did I", "in", "the", "last", "999", "0", "two", "years", "weeks", "ago"),
                *("and", "since", "before", "after", "between", "March", "10 June", "yesterday"),
                *("on Monday", "most recent", "first", "upcoming", "vor", "Jahren", "hace"),
            ]
        ),
        max_size=12,
    ),
    today=st.dates(),
)
def test_any_question_is_read(words: list[str], today: date) -> None:
    asked = asked_time(" ".join(words), today, "english")
    bounded = asked.bounded(["2026-01-01"] * len(asked.events))
    assert all(days_of(span) for span in bounded if not span.startswith("--"))
