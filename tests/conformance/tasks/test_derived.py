"""T6, T13: results that are kept off the prompt as well. Source: design of task memory, 1.4."""

from app.kernel.errors import Reason
from tests.support.bank import ok
from tests.support.errors import BAD_FIELD, refusal
from tests.support.task_desk import (
    AGENT,
    QUESTION,
    READER,
    Desk,
    Models,
    shown,
    summarize,
)

SUMMARY = {"summary": "Fruit and its prices."}


def test_t6_results_are_saved_without_anybody_seeing_them(
    desk: Desk, models: Models, fact: str, canary: str
) -> None:
    told_answer = f"It is {canary}, said the reader."
    models.reader.will({"answer": told_answer, "citations": [1]})
    with desk.holding(*AGENT) as agent:
        stored = desk.process({"kind": "text", "text": fact}, agent, offPrompt=True)
        place = desk.namespace(ok(stored)["reference"]["namespace"])
        body = {"query": QUESTION, "model": READER, "offPrompt": True}
        queried = agent.post(f"{place}:query", json=body)
        made = desk.namespace(ok(queried)["reference"]["namespace"])
        exported = agent.post(f"{made}:export", json={"sink": "files"})
        (file,) = ok(exported)["files"]
        for answer in (stored, queried, exported):
            assert canary not in shown(answer)
            assert "said the reader" not in shown(answer)
        assert (desk.service.sink / file["path"]).read_text() == told_answer
        assert int(file["sizeBytes"]) == len(told_answer)
        before = _files(desk)
        for directory in ("..", "../out", "a/../../b", "/etc", "a/..", "a//b", "."):
            body = {"sink": "files", "directory": directory}
            assert refusal(agent.post(f"{made}:export", json=body)) == BAD_FIELD
        assert refusal(agent.post(f"{made}:export", json={"sink": "../files"})) == BAD_FIELD
        assert _files(desk) == before


def _files(desk: Desk) -> set[str]:
    """Return all that is in the sink and beside it."""
    return {str(one) for one in desk.service.sink.parent.rglob("*")}


def test_t13_the_same_again_is_answered_with_what_there_is(desk: Desk, models: Models) -> None:
    models.reader.always(SUMMARY)
    place = desk.stored("Apples cost four crowns. " * 10)
    first = ok(summarize(desk, place, offPrompt=True))
    again = ok(summarize(desk, place, offPrompt=True))
    assert "reused" not in first
    assert again["reused"] is True
    assert again["reference"] == first["reference"]
    assert len(models.reader.seen) == 1
    other = ok(summarize(desk, place, offPrompt=True, maxTokens=100))
    assert other["reference"]["namespace"] != first["reference"]["namespace"]
    assert len(models.reader.seen) == 2


def test_t13_the_fourth_level_is_refused(desk: Desk, models: Models) -> None:
    models.reader.always(SUMMARY)
    place = desk.stored("Apples cost four crowns. " * 10)
    for depth in (1, 2, 3):
        before = place.rpartition("/")[2]
        made = ok(summarize(desk, place, offPrompt=True))["reference"]
        place = desk.namespace(made["namespace"])
        assert [one["namespace"] for one in made["derivedFrom"]] == [before]
        (artifact,) = ok(desk.http.get(f"{place}/artifacts"))["artifacts"]
        assert artifact["depth"] == depth
    rows = desk.rows()
    refused = summarize(desk, place, offPrompt=True)
    assert refusal(refused) == (409, "ABORTED", Reason.DERIVATION_TOO_DEEP)
    assert len(models.reader.seen) == 3
    assert desk.rows() == rows
    assert ok(summarize(desk, place))["summary"] == SUMMARY["summary"]


def test_t13_what_was_derived_says_that_its_source_is_gone(desk: Desk, models: Models) -> None:
    models.reader.always(SUMMARY)
    place = desk.stored("Apples cost four crowns. " * 10)
    made = desk.namespace(ok(summarize(desk, place, offPrompt=True))["reference"]["namespace"])
    (before,) = ok(desk.http.get(f"{made}/artifacts"))["artifacts"]
    ok(desk.http.delete(place))
    (after,) = ok(desk.http.get(f"{made}/artifacts"))["artifacts"]
    assert "sourceDeleted" not in before
    assert after["sourceDeleted"] is True
