"""X9: what belongs to other tenants is not there. Source: design of task memory, 5.6."""

from collections.abc import Iterator

import httpx
import pytest

from tests.support.bank import Json, ok
from tests.support.errors import NOT_FOUND, refusal
from tests.support.task_desk import Desk, shown

EVENT: Json = {
    "author": "user",
    "invocationId": "i",
    "timestamp": "2026-01-15T12:00:00Z",
    "content": {"role": "user", "parts": [{"text": "hello"}]},
}
NAMESPACE: dict[str, Json | None] = {
    "GET ": None,
    "GET /artifacts": None,
    "GET /artifacts/a": None,
    "GET /artifacts/a/content": None,
    "PUT /artifacts/a": {"text": "tea"},
    "PUT /artifacts/b": {"text": "tea"},
    "POST :store": {"artifacts": [{"kind": "text", "text": "tea"}]},
    "POST :query": {"query": "What is it?", "model": "builtin"},
    "POST :summarize": {"model": "builtin"},
    "POST :extract": {
        "model": "builtin",
        "schema": {"type": "object", "properties": {"item": {}}},
    },
    "POST :export": {"sink": "files"},
    "PATCH ": {"sensitive": True},
    "DELETE /artifacts/a": None,
    "DELETE ": None,
}
SESSION: dict[str, Json | None] = {
    "GET ": None,
    "GET /events": None,
    "GET /summaries": None,
    "GET /usage": None,
    "POST :context": {},
    "POST :recall": {"query": "What is it?"},
    "POST :appendEvent": EVENT,
    "POST /events:batch": {"events": [EVENT]},
    "POST /exchanges": {"input": "tea", "output": "coffee"},
    "POST :clear": {},
    "PATCH ": {"displayName": "mine"},
    "DELETE ": None,
}
SUMMARY: dict[str, Json | None] = {"GET ": None, "POST :regenerate": {}}


@pytest.fixture
def places(desk: Desk, canary: str) -> dict[str, str]:
    """The paths of a namespace, a session and a summary of the user 42."""
    namespace = desk.namespace("n")
    text = {"kind": "text", "text": canary, "name": "a"}
    ok(desk.http.post(f"{namespace}:store", json={"artifacts": [text], "userId": "42"}))
    policy = {"strategy": "every_n", "every": 1, "summaryModel": "builtin"}
    body: Json = {"userId": "42", "memoryPolicy": policy}
    session = ok(desk.http.post(f"{desk.engine}/sessions", json=body))["response"]["name"]
    said = {"input": f"My code is {canary}.", "output": f"{canary}, then."}
    ok(desk.http.post(f"{session}/exchanges", json=said))
    wait = {"consistency": "wait", "waitTimeout": "20s"}
    ok(desk.http.post(f"{session}:context", json=wait))
    (summary,) = ok(desk.http.get(f"{session}/summaries"))["summaries"]
    return {"namespace": namespace, "session": session, "summary": summary["name"]}


@pytest.fixture(params=["of another engine", "of another user"])
def stranger(
    request: pytest.FixtureRequest, desk: Desk, places: dict[str, str]
) -> Iterator[httpx.Client]:
    del places
    bound: Json = {"scopeConditions": {"user_id": ["99"]}}
    if request.param == "of another engine":
        bound = {"engines": [Desk.of(desk.service, desk.http).engine.rpartition("/")[2]]}
    with desk.holding("artifacts.content", roles=["editor"], **bound) as client:
        yield client


def _asked(places: dict[str, str]) -> Iterator[tuple[str, str, Json | None]]:
    for place, requests in (("namespace", NAMESPACE), ("summary", SUMMARY), ("session", SESSION)):
        for request, body in requests.items():
            method, _, tail = request.partition(" ")
            yield method, places[place] + tail, body


def test_x9_all_that_others_have_is_not_there(
    desk: Desk, stranger: httpx.Client, places: dict[str, str], canary: str
) -> None:
    before = desk.rows()
    for method, path, body in _asked(places):
        answer = stranger.request(method, path, json=body)
        assert refusal(answer) == NOT_FOUND, (method, path, answer.text)
        assert canary not in shown(answer)
    assert desk.rows() == before
    for path in places.values():
        assert desk.http.get(path).status_code == 200


def test_x9_who_it_belongs_to_gets_all_of_it(desk: Desk, places: dict[str, str]) -> None:
    bound = {"scopeConditions": {"user_id": ["42"]}}
    with desk.holding("artifacts.content", roles=["editor"], **bound) as owner:
        for method, path, body in _asked(places):
            if method != "DELETE" and not path.endswith("/b"):
                headers = {"If-Match": "*"} if method == "PUT" else {}
                answer = owner.request(method, path, json=body, headers=headers)
                assert answer.status_code == 200, (method, path, answer.text)
