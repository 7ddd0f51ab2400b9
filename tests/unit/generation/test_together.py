"""The parts of one ingestion are told together."""

from app.memory.generation.logic.outcomes import together


def test_counts_reasons_and_requests_of_the_parts_are_joined() -> None:
    first = {
        "candidateCount": 2,
        "droppedFactCounts": {"NO_QUOTE": 1, "NOT_SAID": 2},
        "unmetForgetRequests": [{"request": "a"}],
        "revisionsDisabled": True,
        "author": "x",
    }
    second = {
        "candidateCount": 3,
        "droppedFactCounts": {"NOT_SAID": 1},
        "unmetForgetRequests": [{"request": "b"}],
        "revisionsDisabled": True,
        "author": "y",
    }
    told = together(second, first)
    assert {key: told[key] for key in second} == {
        "candidateCount": 5,
        "droppedFactCounts": {"NO_QUOTE": 1, "NOT_SAID": 3},
        "unmetForgetRequests": [{"request": "a"}, {"request": "b"}],
        "revisionsDisabled": True,
        "author": "y",
    }
