"""The head of an answer is sent with the first part of its body, and never kept back."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from typing_extensions import override
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from app.adapters.uvicorn.connections import AnswerTransport


class _Transport(asyncio.Transport):
    """Keeps what each call sends."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[bytes] = []

    @override
    def write(self, data: Any) -> None:
        self.calls.append(bytes(data))

    @override
    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.calls.append(b"".join(list_of_data))

    @override
    def is_closing(self) -> bool:
        return False

    @override
    def close(self) -> None:
        self.calls.append(b"closed")


def _cycle(method: str, answers: AnswerTransport, transport: _Transport) -> RequestResponseCycle:
    unused: Any = None
    cycle = RequestResponseCycle(
        scope={"type": "http", "method": method, "http_version": "1.1"},  # type: ignore[typeddict-item]  # all that is read
        transport=answers,  # type: ignore[arg-type]  # what it uses of one
        flow=FlowControl(transport),
        logger=unused,
        access_logger=unused,
        access_log=False,
        default_headers=[],
        message_event=asyncio.Event(),
        expect_100_continue=True,
        keep_alive=True,
        on_response=answers.flush,
    )
    answers.begin(cycle)
    return cycle


_HEAD = b"HTTP/1.1 200 OK\r\n"
_LENGTH = (b"content-length", b"4")


@pytest.mark.parametrize(
    ("method", "headers", "parts", "sent"),
    [
        ("GET", [_LENGTH], [b"body"], [_HEAD + b"content-length: 4\r\n\r\nbody"]),
        ("GET", [_LENGTH], [b"bo", b"dy"], [_HEAD + b"content-length: 4\r\n\r\nbo", b"dy"]),
        ("HEAD", [_LENGTH], [b""], [_HEAD + b"content-length: 4\r\n\r\n"]),
        (
            "GET",
            [],
            [b"body"],
            [_HEAD + b"transfer-encoding: chunked\r\n\r\n", b"4\r\nbody\r\n0\r\n\r\n"],
        ),
    ],
)
async def test_a_head_is_sent_with_its_body(
    method: str, headers: list[tuple[bytes, bytes]], parts: list[bytes], sent: list[bytes]
) -> None:
    transport = _Transport()
    cycle = _cycle(method, AnswerTransport(transport, transport.close), transport)
    await cycle.send({"type": "http.response.start", "status": 200, "headers": headers})
    for part in parts:
        more = part is not parts[-1]
        await cycle.send({"type": "http.response.body", "body": part, "more_body": more})
    assert transport.calls == sent


async def test_what_comes_before_an_answer_and_an_answer_broken_off_are_sent_at_once() -> None:
    transport = _Transport()
    answers = AnswerTransport(transport, transport.close)
    cycle = _cycle("POST", answers, transport)
    cycle.message_event.set()
    await cycle.receive()
    assert transport.calls == [b"HTTP/1.1 100 Continue\r\n\r\n"]
    await cycle.send({"type": "http.response.start", "status": 200, "headers": [_LENGTH]})
    answers.close()
    assert transport.calls[1:] == [_HEAD + b"content-length: 4\r\n\r\n", b"closed"]
