"""Reports of checks: what is told, in what order, and how bad it makes the whole."""

from app.kernel.checks import CheckName, Level
from app.platform.checking.logic import MAX_NAMES, CheckFinding, CheckOutcome, CheckReport


def _outcome(*findings: CheckFinding, skipped: str | None = None) -> CheckOutcome:
    outcome = CheckOutcome(CheckName.VECTORS, skipped)
    outcome.add(findings)
    return outcome


def test_findings_of_batches_add_up_and_the_worst_comes_first() -> None:
    names = tuple(f"m{number}" for number in range(15))
    outcome = _outcome(
        CheckFinding(Level.NOTE, "is late", 1_200),
        CheckFinding(Level.FAILED, "has none", 15, names),
        CheckFinding(Level.FAILED, "has none", 15, names),
    )
    first, second = outcome.findings
    assert (first.count, len(first.names), second.count) == (30, MAX_NAMES, 1_200)
    assert str(first).startswith("30: has none: m0, m1, ")
    assert str(first).endswith(", and 10 more")
    assert list(outcome.lines()) == [
        f" 7  vectors          FAILED   {first}",
        f"{'':<28}  1,200: is late",
    ]


def test_a_warning_leaves_a_database_whole_and_a_check_not_made_does_not() -> None:
    warned = CheckReport([_outcome(CheckFinding(Level.WARNING, "is old", 2, ("a", "b")))])
    assert warned.is_whole
    assert list(warned.lines()) == [
        " 7  vectors          warning  2: is old: a, b",
        "The database is whole by 1 checks.",
    ]
    skipped = CheckReport([_outcome(skipped="what it reads is missing")])
    assert not skipped.is_whole
    assert skipped.to_json() == {
        "isWhole": False,
        "checks": [
            {
                "number": 7,
                "name": "vectors",
                "state": "SKIPPED",
                "skipped": "what it reads is missing",
                "findings": [],
            }
        ],
    }
