"""Every request that was recorded on the wire is answered as its client expects.

Source: the recorded requests of the wire specification, `tests/data/wire/recorded.jsonl`.
"""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx

from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.cases import in_one_test
from tests.support.recorded import PARENT, Recorded, Replay, recorded

REQUESTS = recorded()
Json = dict[str, Any]


def _operation(kind: str, response: str) -> Callable[[Json], None]:
    """Make the check of an operation by the types of its metadata and of its response."""

    def check(answer: Json) -> None:
        assert answer["name"].startswith(f"{PARENT}/reasoningEngines/")
        assert "/operations/" in answer["name"]
        assert answer["metadata"]["@type"].endswith(f".{kind}OperationMetadata")
        assert answer["done"] is True
        assert answer["response"]["@type"].endswith(f".{response}")

    return check


def _list(key: str) -> Callable[[Json], None]:
    """Make the check of a list that is not empty."""

    def check(answer: Json) -> None:
        assert answer[key]
        assert answer.keys() <= {key, "nextPageToken"}

    return check


def _resource(collection: str) -> Callable[[Json], None]:
    """Make the check of a resource."""

    def check(answer: Json) -> None:
        assert answer["name"].startswith(f"{PARENT}/reasoningEngines/")
        assert f"/{collection}/" in answer["name"]
        assert answer["createTime"].endswith("Z")

    return check


def _started(answer: Json) -> None:
    """Check an operation that a worker is still to run."""
    assert answer["metadata"]["@type"].endswith("OperationMetadata")
    assert answer["metadata"]["genericMetadata"]["createTime"].endswith("Z")


def _retrieval(answer: Json) -> None:
    assert answer["retrievedMemories"] is not None
    assert answer.keys() <= {"retrievedMemories", "nextPageToken"}


def _nothing(answer: Json) -> None:
    assert answer == {}


SERVED: dict[str, Callable[[Json], None]] = {
    "POST /reasoningEngines": _operation("CreateReasoningEngine", "ReasoningEngine"),
    "GET /reasoningEngines": _list("reasoningEngines"),
    "GET E": _resource("reasoningEngines"),
    "PATCH E": _operation("UpdateReasoningEngine", "ReasoningEngine"),
    "DELETE E": _started,
    "POST E/memories": _operation("CreateMemory", "Memory"),
    "GET E/memories": _list("memories"),
    "GET E/memories/M": _resource("memories"),
    "PATCH E/memories/M": _operation("UpdateMemory", "Memory"),
    "DELETE E/memories/M": _operation("DeleteMemory", "Empty"),
    "POST E/memories/M:rollback": _operation("RollbackMemory", "Memory"),
    "POST E/memories:generate": _started,
    "POST E/memories:ingestEvents": _started,
    "POST E/memories:retrieve": _retrieval,
    "POST E/memories:retrieveProfiles": _nothing,
    "POST E/memories:purge": _operation("PurgeMemories", "PurgeMemoriesResponse"),
    "GET E/memories/M/revisions": _list("memoryRevisions"),
    "GET E/memories/M/revisions/R": _resource("revisions"),
    "GET E/operations/O": _operation("CreateMemory", "Memory"),
    "POST E/sessions": _operation("CreateSession", "Session"),
    "GET E/sessions": _list("sessions"),
    "GET E/sessions/S": _resource("sessions"),
    "PATCH E/sessions/S": _resource("sessions"),
    "DELETE E/sessions/S": _operation("Delete", "Empty"),
    "POST E/sessions/S:appendEvent": _nothing,
    "GET E/sessions/S/events": _list("sessionEvents"),
    "GET E/sessions/S/operations/O": _operation("CreateMemory", "Memory"),
}
"""What the answer to each method that this version serves has to be."""


def _status(request: Recorded) -> int:
    """Return the status that the answer to a request has to have."""
    # A memory was deleted before it was read, and a session was never made.
    is_missing = "(404)" in request.call or "(missing)" in request.call
    return 404 if is_missing else 200


@in_one_test("request_", REQUESTS, ids=[one.label for one in REQUESTS])
async def test_a_recorded_request_is_answered(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, request_: Recorded
) -> None:
    answer = await Replay(client, request_).send()
    assert answer.status_code == _status(request_), answer.text
    if answer.status_code != 200:
        assert answer.json()["error"]["code"] == answer.status_code
        return
    SERVED[request_.route](answer.json())
    if "name" in answer.json() and SERVED[request_.route] is _started:
        # The rule of ingested events may have them wait, but no longer.
        clock.advance(timedelta(days=1))
        await runner.run_pending()
        name = answer.json()["name"]
        ended = (await client.get(f"http://test/v1beta1/{name}")).json()
        assert "error" not in ended
        assert ended["done"] is True


def test_every_recorded_request_is_replayed() -> None:
    counted = Counter(_status(request) for request in REQUESTS)
    assert counted == {200: 175, 404: 3}
    assert {one.route for one in REQUESTS} == SERVED.keys()
