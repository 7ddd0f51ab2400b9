"""What is sent again and what is not, against a server that fails on command."""

import io
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from typing_extensions import override

from open_memory_bank import (
    Aborted,
    ApiError,
    AsyncClient,
    Client,
    Internal,
    NotFound,
    OperationFailed,
    PermissionDenied,
    ResourceExhausted,
    Unavailable,
    Unreachable,
    WaitTimeout,
)
from tests.client.faulty import Fault, Proxy, proxy

_JSON = {"Content-Type": "application/json"}
_AT_ONCE = {**_JSON, "Retry-After": "0"}
_MEMORY: Any = {"name": "m", "fact": "I like tea."}


@pytest.fixture(scope="module")
def _served() -> Iterator[Proxy]:
    with proxy() as made:
        yield made


@pytest.fixture
def server(_served: Proxy) -> Proxy:
    _served.seen.clear()
    _served.faults.clear()
    return _served


@pytest.fixture
def bank(server: Proxy) -> Iterator[Client]:
    with Client(server.url, key="secret-word") as made:
        yield made


def _answer(body: Any, status: int = 200, **headers: str) -> Fault:
    return Fault("answer", status, json.dumps(body).encode(), {**_AT_ONCE, **headers})


def _error(http_status: int, status: str, reason: str = "R", **headers: str) -> Fault:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}
    error = {"code": http_status, "message": "No.", "status": status, "details": [info]}
    return _answer({"error": error}, http_status, **{"x-request-id": "r1", **headers})


def _operation(**fields: Any) -> Fault:
    name = "projects/default/locations/local/reasoningEngines/1/operations/o1"
    return _answer({"name": name, "metadata": {"inputTokenCount": 7}, **fields})


@pytest.mark.parametrize(
    "fault",
    [
        Fault("before"),
        _error(429, "RESOURCE_EXHAUSTED"),
        _error(502, "UNAVAILABLE"),
        _error(503, "UNAVAILABLE"),
        _error(504, "DEADLINE_EXCEEDED"),
        _error(409, "ABORTED", "CONCURRENT_CHANGE"),
        Fault("answer", 502, b"<html>Bad gateway</html>", {"Retry-After": "0"}),
    ],
    ids=str,
)
def test_what_passes_is_sent_again(server: Proxy, bank: Client, fault: Fault) -> None:
    server.faults.extend([fault, _answer({}), _answer({}), fault, _answer({})])
    bank.sessions.clear("s")
    bank.memories.retrieve_profiles(scope={"user_id": "1"})
    bank.memories.get("m")
    ids = [seen.headers.get("Idempotency-Key") for seen in server.seen]
    assert [seen.method for seen in server.seen] == ["POST", "POST", "POST", "GET", "GET"]
    assert ids[0] == ids[1] is not None
    assert ids[2:] == [None] * 3


async def test_the_other_client_does_so_too(server: Proxy) -> None:
    answers = [_answer({"memories": [], "nextPageToken": "2"}), _answer({"memories": [_MEMORY]})]
    server.faults.extend([Fault("before"), answers[0], _error(503, "UNAVAILABLE"), answers[1]])
    async with AsyncClient(server.url) as bank:
        assert [memory async for memory in bank.memories.list()] == [_MEMORY]
    assert [seen.path.partition("?")[2] for seen in server.seen] == ["", "", *["pageToken=2"] * 2]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (_error(400, "INVALID_ARGUMENT"), ApiError),
        (_error(403, "PERMISSION_DENIED"), PermissionDenied),
        (_error(404, "NOT_FOUND"), NotFound),
        (_error(409, "ABORTED", "ETAG_STALE"), Aborted),
        (_error(429, "RESOURCE_EXHAUSTED", **{"Retry-After": "61"}), ResourceExhausted),
        (_error(500, "INTERNAL"), Internal),
        (Fault("answer", 307, b"", {"Location": "http://127.0.0.1:1/"}), ApiError),
    ],
    ids=str,
)
def test_what_does_not_pass_is_not_sent_again(
    server: Proxy, bank: Client, fault: Fault, kind: type[ApiError]
) -> None:
    server.faults.append(fault)
    with pytest.raises(kind) as raised:
        bank.sessions.clear("s")
    assert len(server.seen) == 1
    assert raised.value.http_status == fault.status


def test_it_is_sent_four_times_at_most(server: Proxy, bank: Client) -> None:
    server.faults.extend([_error(503, "UNAVAILABLE")] * 4)
    with pytest.raises(Unavailable):
        bank.memories.get("m")
    assert len(server.seen) == 4


def test_a_wait_that_is_asked_for_is_kept(server: Proxy, bank: Client) -> None:
    server.faults.extend([_error(429, "RESOURCE_EXHAUSTED", **{"Retry-After": "1"}), _answer({})])
    begin = time.monotonic()
    bank.memories.get("m")
    assert time.monotonic() - begin >= 1


def test_the_error_says_all_but_the_key_and_the_body(server: Proxy, bank: Client) -> None:
    server.faults.append(_error(403, "PERMISSION_DENIED", "PERMISSION_MISSING"))
    with pytest.raises(PermissionDenied) as raised:
        bank.memories.create(scope={"user_id": "1"}, fact="A private fact.")
    error = raised.value
    path = "/v1beta1/projects/default/locations/local/reasoningEngines/1/memories"
    assert str(error) == f"{path}: No. (PERMISSION_DENIED, PERMISSION_MISSING)"
    facts = [error.status, error.reason, error.message, error.request_id, error.retry_after]
    assert facts == ["PERMISSION_DENIED", "PERMISSION_MISSING", "No.", "r1", 0]
    assert error.details[0]["reason"] == "PERMISSION_MISSING"
    assert "secret-word" not in repr(vars(bank)) + repr(vars(error)) + repr(bank.memories.__dict__)


def test_a_service_that_is_not_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with (
            Client(url) as other,
            pytest.raises(Unreachable, match=r"^GET /v1beta1/.*/memories/m:"),
        ):
            other.memories.get("m")


@pytest.mark.parametrize("fault", [Fault("before"), _error(503, "UNAVAILABLE")], ids=str)
def test_a_change_without_an_id_is_not_sent_again(
    server: Proxy, bank: Client, fault: Fault
) -> None:
    server.faults.append(fault)
    with pytest.raises((Unreachable, Unavailable)):
        bank.keys.create(display_name="x", roles=["viewer"])
    assert len(server.seen) == 1


def test_bytes_are_sent_again_and_a_file_is_not(server: Proxy, bank: Client) -> None:
    refused = _error(503, "UNAVAILABLE")
    server.faults.extend([refused, _answer({}), refused])
    bank.task_memory.upload("t", "n", "a", b"word")
    with pytest.raises(Unavailable):
        bank.task_memory.upload("t", "n", "a", io.BytesIO(b"word"))
    assert [seen.body for seen in server.seen] == [b"word"] * 3


async def test_a_file_is_read_beside_the_event_loop(server: Proxy) -> None:
    threads = []

    class File(io.BytesIO):
        @override
        def read(self, size: int | None = -1, /) -> bytes:
            threads.append(threading.get_ident())
            return super().read(size)

    server.faults.append(_answer({}))
    async with AsyncClient(server.url) as bank:
        await bank.task_memory.upload("t", "n", "a", File(b"word"))
    assert [seen.body for seen in server.seen] == [b"word"]
    assert threads != []
    assert threading.get_ident() not in threads


def test_an_operation_is_waited_for(server: Proxy, bank: Client) -> None:
    done = {"@type": "t", "purgeCount": 3}
    server.faults.extend([_operation(), _operation(), _operation(done=True, response=done)])
    assert bank.memories.purge(filter="x", force=True) == done
    waits = [seen.path.partition("operations/")[2] for seen in server.seen[1:]]
    assert waits == ["o1:wait?timeout=20.000s"] * 2


def test_an_operation_that_fails_tells_its_cost(server: Proxy, bank: Client) -> None:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "MODEL_TIMEOUT"}
    error = {"code": 4, "message": "Too slow.", "details": [info]}
    server.faults.append(_operation(done=True, error=error))
    with pytest.raises(OperationFailed, match=r"operations/o1: Too slow\.$") as raised:
        bank.memories.generate(texts=["x"], scope={"user_id": "1"})
    failed = raised.value
    assert (failed.code, failed.reason) == (4, "MODEL_TIMEOUT")
    assert failed.metadata["inputTokenCount"] == 7


def test_an_operation_that_takes_longer_can_be_waited_for_again(
    server: Proxy, bank: Client
) -> None:
    server.faults.extend([_operation(), _operation(done=True, response={"purgeCount": 1})])
    with pytest.raises(WaitTimeout, match=r"operations/o1 is not done after 0 s") as raised:
        bank.memories.purge(filter="x", wait_seconds=0)
    assert raised.value.operation.wait() == {"purgeCount": 1}
    assert isinstance(raised.value, TimeoutError)


def test_nothing_is_asked_before_the_first_item(server: Proxy, bank: Client) -> None:
    listed = bank.memories.list(page_size=1)
    assert server.seen == []
    server.faults.extend(
        [_answer({"memories": [_MEMORY], "nextPageToken": "2"}), _answer({"memories": []})]
    )
    pages = list(listed.pages())
    assert [(page.items, page.next_page_token) for page in pages] == [([_MEMORY], "2"), ([], None)]
    assert [seen.path.partition("?")[2] for seen in server.seen] == [
        "pageSize=1",
        "pageSize=1&pageToken=2",
    ]


def test_a_client_of_ones_own_sends(server: Proxy) -> None:
    server.faults.append(_answer({}))
    with httpx.Client(headers={"X-Mine": "1"}, follow_redirects=True) as http:
        with Client(server.url, http=http) as bank:
            bank.at("7").memories.get("m")
        assert not http.is_closed
    (seen,) = server.seen
    assert seen.headers["X-Mine"] == "1"
    assert "Authorization" not in seen.headers
    assert "/reasoningEngines/7/memories/m" in seen.path
