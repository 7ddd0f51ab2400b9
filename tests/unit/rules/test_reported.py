"""What others say of a user is not what the user says: no fact, no value, no request."""

import time
from datetime import UTC, datetime

import pytest

from app.language.extraction import extract
from app.language.facts import Turn
from app.language.profiles import WantedField, fill
from app.language.slots import slots
from app.language.unmeant import without_reports

NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)
CITY = WantedField("p", "city", type="string")


def facts(text: str) -> list[str]:
    return [one.fact for one in extract([Turn("user", text)], now=NOW)]


@pytest.mark.parametrize(
    "said",
    [
        "Tom said I live in Rome.",
        "Tom says that I live in Rome.",
        "My sister still thinks I live in Rome.",
        "They claim I live in Rome.",
        "Tom said: I live in Rome.",
        'Tom said "I live in Rome."',
        "According to Tom, I live in Rome.",
        "I live in Rome, said Tom.",
        "I live in Rome, my sister says.",
        "Tom sagt, ich wohne in Rom.",
        "Tom meint, dass ich in Rom wohne.",
        "Tom hat gesagt, ich wohne in Rom.",
        "Laut Tom wohne ich in Rom.",
        "Tom dijo que vivo en Roma.",
        "Dicen que vivo en Roma.",
        "Según Tom, vivo en Roma.",
        "Tom dit que j'habite à Rome.",
        "Tom a dit que j'habite à Rome.",
        "Selon Tom, j'habite à Rome.",
    ],
)
def test_what_others_say_is_nobodys_fact(said: str) -> None:
    assert facts(said) == []
    assert fill([Turn("user", said)], [CITY]) == []
    assert slots(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "I live in Rome.",
        "I told Tom that I live in Rome.",
        "I always said I live in Rome.",
        "Tom knows that I live in Rome.",
        "Tom says hi and I live in Rome.",
        "My wife and I said we live in Rome.",
        "Tom and I say hello, and I live in Rome.",
        "Ich habe Tom gesagt, dass ich in Rom wohne.",
        "Le dije a Tom que vivo en Roma.",
        "Je dis que j'habite à Rome.",
        "J'ai dit à Tom que j'habite à Rome.",
    ],
)
def test_what_users_say_themselves_is_theirs(said: str) -> None:
    assert without_reports(said) == said
    assert facts(said)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Tom said I live in Rome, but I live in Paris.", ["I live in Paris."]),
        ("I like tea and Tom said I live in Rome.", ["I like tea."]),
        ("Tom sagt, ich wohne in Rom, aber ich wohne in Köln.", ["Ich wohne in Köln."]),
        ("Tom dijo que vivo en Roma, pero vivo en Madrid.", ["Vivo en Madrid."]),
        ("Tom dit que j'habite à Rome, mais j'habite à Lyon.", ["J'habite à Lyon."]),
    ],
)
def test_what_they_say_besides_is_kept(said: str, expected: list[str]) -> None:
    assert facts(said) == expected


@pytest.mark.parametrize(
    "said",
    [
        "My doctor said I have diabetes.",
        "Mein Arzt sagt, dass ich Diabetes habe.",
        "Mi médico dijo que tengo diabetes.",
        "Mon médecin dit que j'ai le diabète.",
        "The clinic told me my surgery is on Monday.",
    ],
)
def test_what_one_is_told_is_kept_as_it_was_said(said: str) -> None:
    (fact,) = facts(said)
    assert fact.startswith(said[:20])


def test_what_one_is_told_fills_nothing_by_itself() -> None:
    said = "The office told me I live in Rome."
    assert facts(said)
    assert fill([Turn("user", said)], [CITY]) == []
    assert slots(said) == []


def test_a_report_ends_with_its_sentence() -> None:
    said = "Tom said I live in Rome. I work at Acme! My name is Ann."
    assert facts(said) == ["I work at Acme.", "My name is Ann."]
    assert " ".join(without_reports(said).split()) == "I work at Acme! My name is Ann."


def test_long_text_is_read_in_little_time() -> None:
    began = time.process_time()
    for text in ("Tom said I live, " * 10_000, "Tom said I live. " * 10_000, ", says " * 20_000):
        without_reports(text)
    assert time.process_time() - began < 2


def test_what_is_cut_keeps_its_place() -> None:
    said = "Hello, Tom said I live in Rome, but I live in Paris."
    assert len(without_reports(said)) == len(said)
    assert without_reports(said).index("I live in Paris") == said.index("I live in Paris")
