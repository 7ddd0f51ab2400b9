"""Times that a text names."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.language.dates import days_between, days_of, in_year_of, named, relative, words_of

WEDNESDAY = date(2026, 3, 4)


@pytest.mark.parametrize(
    ("text", "moments"),
    [
        ("on 7 May 2023", ["2023-05-07"]),
        ("on the 7th of May, 2023", ["2023-05-07"]),
        ("on May 7, 2023", ["2023-05-07"]),
        ("on May 7th", ["--05-07"]),
        ("on 1 Feb", ["--02-01"]),
        ("December 1,2023", ["2023-12-01"]),
        ("in May", ["--05"]),
        ("since March", ["--03"]),
        ("May 2023 and June of 2022", ["2023-05", "2022-06"]),
        ("in 2019", ["2019"]),
        ("2023-05-07", ["2023-05-07"]),
        ("2023-05", ["2023-05"]),
        ("am 3. März 2024", ["2024-03-03"]),
        ("seit Januar", ["--01"]),
        ("le 1er janvier 2024", ["2024-01-01"]),
        ("el 3 de mayo de 2024", ["2024-05-03"]),
        ("em 3 de maio de 2024", ["2024-05-03"]),
        ("I may go, and March on", []),
        ("May 5 pm", []),
        ("room 2150-12, 12023, 1500", []),
        ("on 45 May", []),
        ("", []),
    ],
)
def test_dates_are_read_as_exactly_as_they_are_written(text: str, moments: list[str]) -> None:
    assert named(text, words_of(text)) == moments


@pytest.mark.parametrize(
    ("text", "configuration", "moments"),
    [
        ("We met yesterday", "english", ["2026-03-03"]),
        ("We met last week", "english", ["2026-02-23/2026-03-01"]),
        ("gestern", "german", ["2026-03-03"]),
        ("ayer", "spanish", ["2026-03-03"]),
        ("hier", "french", ["2026-03-03"]),
        ("ieri", "italian", []),
        ("We met", "english", []),
    ],
)
def test_relative_times_are_counted_from_a_day(
    text: str, configuration: str, moments: list[str]
) -> None:
    assert relative(text, words_of(text), WEDNESDAY, configuration) == moments


@pytest.mark.parametrize(
    ("moment", "dated"),
    [
        ("--05", "2026-05"),
        ("--11-30", "2025-11-30"),
        ("--09", "2026-09"),
        ("2020-01", "2020-01"),
        ("2020", "2020"),
    ],
)
def test_a_month_without_a_year_is_the_nearest(moment: str, dated: str) -> None:
    assert in_year_of(moment, WEDNESDAY) == dated


@pytest.mark.parametrize(
    ("moment", "other", "days"),
    [
        ("2023-05-07", "2023-05-07", 0),
        ("2023-05-07", "2023-05-10", 3),
        ("2023-05", "2023-05-10", 0),
        ("2023", "2023-05", 0),
        ("2023-05-01/2023-05-07", "2023-05-03", 0),
        ("2023-05-01/2023-05-07", "2023-05-09", 2),
        ("2022", "2023-01-02", 2),
        ("2023-02-31", "2023-02-28", 0),
        ("--05", "2023-05-10", 0),
        ("2023-05-10", "--05", 0),
        ("--05", "2023-05-29/2023-06-04", 0),
        ("--05-07", "2023-05-07", 0),
        ("--05-07", "2023-05-08", None),
        ("--05", "2023", None),
        ("--05", "--05", 0),
        ("--05", "--06", None),
        ("0000-05", "2023", None),
        ("no", "2023", None),
    ],
)
def test_moments_are_so_many_days_apart(moment: str, other: str, days: int | None) -> None:
    assert days_between(moment, other) == days


@given(st.text(alphabet="0123456789 -/.,:May uneyesterdaylastweek", max_size=60), st.dates())
def test_whatever_a_text_says_its_moments_are_of_the_calendar_or_near_nothing(
    text: str, day: date
) -> None:
    words = words_of(text)
    for moment in [*named(text, words), *relative(text, words, day, "english")]:
        dated = in_year_of(moment, day)
        found = days_of(dated)
        assert found is None or found[0] <= found[1]
        assert days_between(dated, "2023") is None or found is not None
