"""Requests that are sent twice, and those that are too long. Source: design of task memory, 1.3."""

import httpx
import pytest

from app.kernel.errors import Reason
from tests.support.bank import Json, ok
from tests.support.errors import BAD_FIELD, refusal
from tests.support.task_desk import READER, Desk, Models
from tests.support.tasks import NOTHING

MIB = 1024**2
REUSED = (409, "ALREADY_EXISTS", Reason.REQUEST_ID_REUSED)
OUTPUT: Json = {"tool": "web", "activity": "fetch", "output": {"kind": "text", "text": "tea"}}


def _posted(desk: Desk, path: str, body: Json) -> httpx.Response:
    return desk.http.post(path, json=body, headers={"Idempotency-Key": f"once-{desk.engine}"})


def _replayed(desk: Desk, path: str, body: Json) -> Json:
    """Send a request twice, and another with its id; return the answer, the same both times."""
    first, again = _posted(desk, path, body), _posted(desk, path, body)
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert ok(again) == ok(first)
    assert refusal(_posted(desk, path, {**body, **_other(path)})) == REUSED
    return ok(first)


_OTHERS: dict[str, Json] = {
    "processOutput": {"activity": "other"},
    "store": {"tool": "other"},
    "query": {"query": "What else?"},
    "summarize": {"maxTokens": 20},
    "export": {"directory": "other"},
}


def _other(path: str) -> Json:
    """Return what makes another request of one."""
    return _OTHERS[path.rpartition(":")[2]]


@pytest.mark.parametrize("said", [{"offPrompt": True}, {"offPrompt": "auto"}, {}])
def test_an_output_is_handed_over_once(desk: Desk, said: Json) -> None:
    body = {**OUTPUT, **said}
    answer = _replayed(desk, f"{desk.memory}:processOutput", body)
    assert desk.rows()["task_artifacts"] == ("reference" in answer)


def test_artifacts_are_stored_once(desk: Desk) -> None:
    body = {"artifacts": [OUTPUT["output"]]}
    path = f"{desk.namespace('n')}:store"
    first = _replayed(desk, path, body)
    assert desk.rows()["task_artifacts"] == 1
    # The first answer it is, whatever has become of the namespace.
    ok(desk.http.post(path, json=body))
    assert ok(_posted(desk, path, body)) == first
    ok(desk.http.delete(desk.namespace("n")))
    assert ok(_posted(desk, path, body)) == first
    assert desk.rows() == NOTHING


@pytest.mark.parametrize(
    ("method", "answer"),
    [("query", {"answer": "x", "citations": []}), ("summarize", {"summary": "x"})],
)
def test_a_reader_is_asked_again_and_its_id_is_for_no_other_request(
    desk: Desk, models: Models, method: str, answer: Json
) -> None:
    """What is derived is not kept for repetitions: it would outlive what it was derived from."""
    models.reader.always(answer)
    path = f"{desk.stored('The kettle is green.')}:{method}"
    body: Json = {"model": READER} | ({"query": "Which?"} if method == "query" else {})
    assert ok(_posted(desk, path, body)) == ok(_posted(desk, path, body))
    assert refusal(_posted(desk, path, {**body, **_other(path)})) == REUSED
    assert len(models.reader.seen) == 2


def test_a_file_is_exported_once(desk: Desk) -> None:
    answer = _replayed(desk, f"{desk.stored('tea')}:export", {"sink": "files"})
    assert len(answer["files"]) == 1


def test_what_comes_in_json_is_no_longer_than_a_mebibyte(desk: Desk) -> None:
    at_most = {"kind": "text", "text": "t" * MIB}
    longer = {"kind": "text", "text": "t" * (MIB + 1)}
    refused = desk.process(longer, offPrompt=True)
    assert (refused.status_code, refusal(refused)[1]) == (413, "RESOURCE_EXHAUSTED")
    elements = {"kind": "list", "elements": [longer | {"text": "t" * (MIB // 2 + 1)}] * 2}
    assert desk.process(elements, offPrompt=True).status_code == 413
    assert desk.rows() == NOTHING
    assert ok(desk.process(at_most, offPrompt=True))["disposition"] == "stored"


def test_no_body_of_json_is_longer_than_eight(desk: Desk) -> None:
    answer = desk.process({"kind": "text", "text": "t" * 8 * MIB})
    assert refusal(answer) == (413, "RESOURCE_EXHAUSTED", Reason.BODY_TOO_LARGE)


def test_a_list_has_a_thousand_elements_at_most(desk: Desk) -> None:
    element = {"kind": "text", "text": "tea"}
    answer = desk.process({"kind": "list", "elements": [element] * 1_001}, offPrompt=True)
    assert refusal(answer) == BAD_FIELD
    assert desk.rows() == NOTHING
    stored = ok(desk.process({"kind": "list", "elements": [element] * 1_000}, offPrompt=True))
    assert stored["reference"]["count"] == 1_000
