"""Relative dates."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from app.language.dates import day_in, resolve

WEDNESDAY = date(2026, 3, 4)


@pytest.mark.parametrize(
    ("tongue", "said", "dated"),
    [
        ("en", "I fly tomorrow.", "I fly tomorrow (2026-03-05)."),
        ("en", "I came yesterday morning.", "I came yesterday morning (2026-03-03)."),
        ("en", "I left last Friday", "I left last Friday (2026-02-27)"),
        ("en", "I leave next Wednesday", "I leave next Wednesday (2026-03-11)"),
        ("en", "I went on Monday", "I went on Monday (2026-03-02)"),
        ("en", "I will go on Monday", "I will go on Monday (2026-03-09)"),
        ("en", "I moved last month", "I moved last month (2026-02)"),
        ("en", "I moved two years ago", "I moved two years ago (2024)"),
        ("en", "I go in two weeks", "I go in two weeks (2026-03-18)"),
        ("en", "I ran last week", "I ran last week (2026-02-23/2026-03-01)"),
        ("en", "I run this weekend", "I run this weekend (2026-03-07/2026-03-08)"),
        (
            "en",
            "I ran a month ago, in 11 months I rest",
            "I ran a month ago (2026-02), in 11 months (2027-02) I rest",
        ),
        ("en", "I rest in 9999 days of fun", "I rest in 9999 days of fun"),
        ("en", "Every Friday I run on Sundays", "Every Friday I run on Sundays"),
        (
            "en",
            "It ends in 999 years; in 999 weeks",
            "It ends in 999 years (3025); in 999 weeks (2045-04-26)",
        ),
        ("en", "I fly tomorrow (2026-03-05)", "I fly tomorrow (2026-03-05)"),
        ("de", "Ich fliege morgen", "Ich fliege morgen (2026-03-05)"),
        ("de", "Ich laufe jeden Morgen", "Ich laufe jeden Morgen"),
        ("de", "Vor zwei Jahren kam ich", "Vor zwei Jahren (2024) kam ich"),
        ("de", "Am Freitag reise ich", "Am Freitag (2026-03-06) reise ich"),
        ("de", "nächste Woche", "nächste Woche (2026-03-09/2026-03-15)"),
        ("es", "Mañana viajo", "Mañana (2026-03-05) viajo"),
        ("es", "por la mañana corro", "por la mañana corro"),
        ("es", "el lunes que viene", "el lunes que viene (2026-03-09)"),
        ("es", "hace tres días", "hace tres días (2026-03-01)"),
        ("fr", "Demain je pars", "Demain (2026-03-05) je pars"),
        ("fr", "l\u2019année dernière", "l\u2019année dernière (2025)"),
        ("fr", "il y a trois jours", "il y a trois jours (2026-03-01)"),
        ("it", "domani", "domani"),
    ],
)
def test_the_date_follows_the_words(tongue: str, said: str, dated: str) -> None:
    assert resolve(said, WEDNESDAY, tongue) == dated


def test_dates_outside_the_calendar_are_left_out() -> None:
    assert resolve("I was born 999 years ago", date(500, 1, 1), "en") == "I was born 999 years ago"


@pytest.mark.parametrize(
    ("moment", "zone", "day"),
    [
        (datetime(2026, 3, 4, 23, tzinfo=UTC), "Europe/Berlin", date(2026, 3, 5)),
        (datetime(2026, 3, 4, 1, tzinfo=UTC), "America/New_York", date(2026, 3, 3)),
        (datetime.min.replace(tzinfo=UTC), "America/New_York", date.min),
        (datetime.min.replace(tzinfo=UTC), "Pacific/Kiritimati", date.min),
        (datetime.max.replace(tzinfo=UTC), "America/New_York", date.max),
        (datetime.max.replace(tzinfo=UTC), "Pacific/Kiritimati", date.max),
    ],
)
def test_the_day_of_a_moment_is_that_of_the_zone_or_the_last_there_is(
    moment: datetime, zone: str, day: date
) -> None:
    assert day_in(ZoneInfo(zone), moment) == day
