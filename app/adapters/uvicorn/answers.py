"""The transport of a connection as its requests see it."""

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle


class AnswerTransport:
    """Sends the head of an answer together with the first part of its body.

    Each write is a call of the system and wakes the client, so a head whose answer declares a body
    waits for it.

    Args:
        transport: of the connection.
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
            # Its head; what was sent before it told the client to go on with the request.
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
        """Send a head that no body follows."""
        if self._head:
            self._transport.write(self._head)
            self._head = b""

    def close(self) -> None:
        """Close the connection after a final answer."""
        self.flush()
        self._end()

    def let_go(self) -> None:
        """Drop the reference to the connection, which is lost."""
        self._end = self._transport.close
