"""The transport that requests of a connection use."""

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle


class AnswerTransport:
    """Sends the head of an answer together with the first part of its body.

    Each write is a system call and wakes the client. So the head of an answer with a body waits for
    the body.

    Args:
        transport: the transport of the connection.
        end: closes the connection after a final answer.
    """

    def __init__(self, transport: asyncio.Transport, end: Callable[[], None]) -> None:
        self._transport = transport
        self._end = end
        self._cycle: RequestResponseCycle | None = None
        self._head = b""
        self.is_closing = transport.is_closing

    def begin(self, cycle: RequestResponseCycle) -> None:
        """Expect the answer of a request."""
        self._cycle = cycle

    def write(self, data: bytes) -> None:
        """Send a part of an answer."""
        cycle = self._cycle
        if cycle is not None and cycle.response_started:
            # The head of the answer; earlier writes were `100 Continue`.
            self._cycle = None
            if cycle.expected_content_length:
                self._head = data
                return
        if self._head:
            self._transport.writelines((self._head, data))
            self._head = b""
        else:
            self._transport.write(data)

    def flush(self) -> None:
        """Send a waiting head, if any."""
        if self._head:
            self._transport.write(self._head)
            self._head = b""

    def close(self) -> None:
        """Close the connection after a final answer."""
        self.flush()
        self._end()

    def let_go(self) -> None:
        """Drop the reference to the lost connection."""
        self._end = self._transport.close
