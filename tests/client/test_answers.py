"""What becomes of answers: streams, those that are not the service's, errors and their copies."""

import copy
import json
import pickle
from collections.abc import Callable, Iterator
from email.utils import formatdate
from time import time
from typing import Any

import httpx
import pytest
from typing_extensions import override

from open_memory_bank import (
    ApiError,
    Client,
    MemoryBankError,
    OperationFailed,
    Unreachable,
    WaitTimeout,
)
from open_memory_bank.errors import Unauthenticated, error_of

_TEXT = "One line\u2028of several\u2029ends,\x85all of one row."


def _answering(response: httpx.Response) -> Client:
    """Return a client of a service that always answers so."""
    return _asking(lambda _: response)


def _asking(handle: Callable[[httpx.Request], httpx.Response]) -> Client:
    return Client(http=httpx.Client(transport=httpx.MockTransport(handle)))


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"<html>Sign in</html>", "text/html"),
        (b"<html>Sign in</html>", "application/json"),
        (b"[]", "application/json"),
        (b"", "application/json"),
    ],
)
def test_an_answer_without_an_object_is_an_error(content: bytes, media_type: str) -> None:
    headers = {"Content-Type": media_type}
    bank = _answering(httpx.Response(200, headers=headers, content=content))
    for ask in (
        lambda: bank.memories.get("m"),
        lambda: bank.task_memory.upload("t", "n", "a", b""),
    ):
        with pytest.raises(ApiError, match="HTTP status 200 without JSON") as raised:
            ask()
        assert (raised.value.status, raised.value.http_status) == ("UNKNOWN", 200)


def test_a_row_ends_at_a_newline_alone() -> None:
    rows: list[Any] = [{"fact": _TEXT}, {"fact": "x"}]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    bank = _answering(httpx.Response(200, content=lines.encode()))
    assert list(bank.memories.revisions.export()) == rows
    assert list(bank.audit.export()) == rows


def test_a_row_that_breaks_off_is_no_row() -> None:
    bank = _answering(httpx.Response(200, content=b'{"fact": "a"}\n{"fact": 1'))
    rows: Iterator[Any] = bank.memories.revisions.export()
    assert next(rows) == {"fact": "a"}
    with pytest.raises(Unreachable, match="broke off"):
        next(rows)


class _Broken(httpx.SyncByteStream):
    def __init__(self) -> None:
        self.is_closed = False

    @override
    def __iter__(self) -> Iterator[bytes]:
        if not self.is_closed:
            raise httpx.ReadError("gone")
        yield b""

    @override
    def close(self) -> None:
        self.is_closed = True


def test_a_refusal_of_a_stream_that_breaks_off_is_closed() -> None:
    streams: list[_Broken] = []

    def handle(_: httpx.Request) -> httpx.Response:
        streams.append(_Broken())
        return httpx.Response(400, stream=streams[-1])

    with pytest.raises(Unreachable, match="gone"):
        next(_asking(handle).audit.export())
    assert [stream.is_closed for stream in streams] == [True] * 4


@pytest.mark.parametrize(
    ("failure", "times"), [(httpx.DecodingError, 4), (httpx.LocalProtocolError, 1)]
)
def test_other_failures_of_the_way(failure: type[httpx.RequestError], times: int) -> None:
    """What cannot be read may come whole the next time; what cannot be sent never can."""
    asked = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        raise failure("broken", request=request)

    with pytest.raises(Unreachable, match=r"^GET /v1beta1/.*/memories/m: broken"):
        _asking(handle).memories.get("m")
    assert len(asked) == times


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("7", 7, 7),
        ("0.5", 0.5, 0.5),
        ("-1", 0, 0),
        (formatdate(time() + 86_400, usegmt=True), 1, 86_400),
        (formatdate(0, usegmt=True), 0, 0),
    ],
    ids=["number", "part", "negative", "date", "past"],
)
def test_a_time_to_wait_is_a_number_or_a_date(header: str, least: float, most: float) -> None:
    seconds = _error(429, headers={"Retry-After": header}).retry_after
    assert seconds is not None
    assert least <= seconds <= most


def test_a_time_to_wait_that_is_neither_is_none() -> None:
    assert _error(429, headers={"Retry-After": "soon"}).retry_after is None


@pytest.mark.parametrize(
    "error",
    [
        None,
        "invalid_token",
        {"details": {"reason": "x"}},
        {"details": "x"},
        {"details": ["x", None]},
    ],
    ids=json.dumps,
)
def test_an_error_of_another_form_is_an_error_all_the_same(error: Any) -> None:
    found = _error(401, json={"error": error})
    assert (found.status, found.reason, list(found.details)) == ("UNKNOWN", "", [])
    assert str(found) == "/v1/keys: HTTP status 401 (UNKNOWN)"


def _error(status: int, **parts: Any) -> ApiError:
    request = httpx.Request("GET", "http://127.0.0.1/v1/keys?filter=x")
    return error_of(httpx.Response(status, request=request, **parts))


def _failed() -> OperationFailed:
    metadata = {"inputTokenCount": 7}
    error = {"code": 4, "message": "Too slow."}
    return OperationFailed({"name": "operations/o1", "error": error, "metadata": metadata})


@pytest.mark.parametrize(
    "error",
    [
        _error(401, json={"error": {"status": "UNAUTHENTICATED", "message": "No key."}}),
        _failed(),
        Unreachable("GET /healthz: gone"),
        WaitTimeout(None, "operations/o1", 60),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_to_another_process_whole(error: MemoryBankError) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert str(again) == str(error) != ""
        assert vars(again) == vars(error)


def test_an_error_is_of_its_code() -> None:
    assert type(_error(401, json={"error": {"status": "UNAUTHENTICATED"}})) is Unauthenticated


def test_a_wait_comes_to_another_process_without_its_connection() -> None:
    again = pickle.loads(pickle.dumps(WaitTimeout(_answering(httpx.Response(200)), "o1", 60)))
    assert str(again) == "o1 is not done after 60 s; it goes on."
    assert again.operation is None


def test_answers_of_models_may_take_longer() -> None:
    seen: list[float] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"]["read"])
        return httpx.Response(200, json={})

    bank = _asking(handle)
    bank.memories.get("m")
    bank.sessions.context("s")
    bank.sessions.context("s", consistency="wait")
    bank.memories.recall(scope={"user_id": "42"}, query="x")
    bank.sessions.recall("s", query="x")
    bank.sessions.recall_all(query="x")
    bank.memory_tools.call("remember", {})
    bank.task_memory.query("t", "n", query="x")
    bank.task_memory.summarize("t", "n")
    assert seen == [30, 30, 90, 90, 90, 90, 90, 150, 690]


def test_a_wait_that_ends_at_once_is_not_asked_for_again_at_once() -> None:
    """As by a service that is about to stop."""
    asked = []

    def handle(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"name": "operations/o1"})

    with pytest.raises(WaitTimeout):
        _asking(handle).memories.purge(filter="x", wait_seconds=0.6)
    assert 2 <= len(asked) <= 4
