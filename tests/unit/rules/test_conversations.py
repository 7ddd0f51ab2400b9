"""The conversations that the demo shows."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.language.extraction import extract
from app.language.facts import Candidate, Turn

FOLDER = Path(__file__).parents[2] / "data" / "conversations"
NOW = datetime(2026, 4, 1, tzinfo=UTC)


def candidates(name: str) -> list[Candidate]:
    events = json.loads((FOLDER / name).read_text(encoding="utf-8"))["events"]
    turns = [
        Turn(
            event["content"]["role"],
            event["content"]["parts"][0]["text"],
            datetime.fromisoformat(event["event_time"]),
        )
        for event in events
    ]
    return extract(turns, now=NOW)


def test_there_are_enough_and_not_all_are_english() -> None:
    found = [json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")]
    assert len(found) >= 4
    assert all(len(one["events"]) >= 20 for one in found)
    assert {one["language"] for one in found} > {"en"}


@pytest.mark.parametrize(
    ("name", "expected", "forgotten"),
    [
        (
            "support.json",
            "We moved to Bristol last week (2026-01-12/2026-01-18).",
            "my order number",
        ),
        (
            "travel.json",
            "I now prefer aisle seats because Mei gets up all the time.",
            "I get sick on boats",
        ),
        ("health.json", "I swim at the Riverside pool on Tuesdays.", "my knee"),
        (
            "umzug.json",
            "Ich bin letzte Woche (2026-01-19/2026-01-25) nach Marburg gezogen.",
            "das Auto",
        ),
    ],
)
def test_facts_and_requests(name: str, expected: str, forgotten: str) -> None:
    found = candidates(name)
    assert expected in [one.fact for one in found]
    assert [one.fact for one in found if one.forget] == [forgotten]
    assert len(found) >= 10
