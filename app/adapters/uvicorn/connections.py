"""Connections of the HTTP server, bounded in number, time and buffered bytes.

uvicorn only limits the idle time of a connection between two requests. Here a client is also cut
off if it

    sends no request, or its headers too slowly        408 if a request has begun
    sends headers, or trailers, without an end         431
    does not finish the body of a request that has been answered already
    does not take its answer

`app.web.body` limits the time of an awaited request body, because it can send an error answer. A
running request is never cut off, however long it takes or pauses within its answer. If too many
clients are connected, `room.py` closes another connection: active clients are served while others
hold connections open.

Source: RFC 9112, sections 3, 6, 7.1.2 and 9.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, ClassVar

from prometheus_client import Counter
from typing_extensions import override
from uvicorn import Config
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from app.adapters.uvicorn.room import RESERVED, Room, Rooms, Unsent, no_room
from app.kernel.errors import DeadlineExceeded, InvalidArgument, Reason, ServiceError

Headers = list[tuple[bytes, bytes]]
"""Names in lower case, and values."""
CLOSED = Counter(
    "memory_bank_connections_closed_total",
    "Connections closed because of the client's behaviour.",
    ["reason"],
)
_LINGER_SECONDS = 1.0
"""Time to read and discard input after a final answer; a reset instead could lose the answer."""
RESERVED_HEADER_SECONDS = 2.0
"""Time limit for a header on a reserved connection; short, because the reserve is small."""
_MAX_PIPELINED = 32
"""Most queued requests of a connection; each takes a hundred times its size in memory."""
_VERSIONS = frozenset({"1.0", "1.1"})
"""Accepted versions; the parser also accepts a request line without a version, as in HTTP/0.9."""
Rendered = tuple[int, Headers, bytes]
"""Status, headers and body of an answer."""


def has_one_host(version: str, url: bytes, given: Headers) -> bool:
    """Return True if a request has one `Host` (HTTP/1.0: or none), and no other in its target."""
    named = [value for name, value in given if name == b"host"]
    if len(named) != 1:
        return not named and version == "1.0"
    if url.startswith(b"/") or b"://" not in url:
        return True
    return url.partition(b"://")[2].partition(b"/")[0] == named[0]


def has_body(given: Headers) -> bool:
    """Return True if a request with these headers has a body."""
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and bool(value.strip(b"0")))
        for name, value in given
    )


class AnswerTransport:
    """Sends the head of an answer with the first part of its body, to save a system call."""

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


@dataclass(frozen=True)
class Bounds:
    """The limits for clients; times in seconds."""

    idle_seconds: float
    header_seconds: float
    body_seconds: float
    send_seconds: float
    max_header_bytes: int
    max_connections: int
    reserved_connections: int
    """The number of connections, out of `max_connections`, that are kept in reserve."""


class _Phase(Enum):
    """The message part to which the next bytes of a connection belong."""

    NOTHING = auto()
    HEAD = auto()
    BODY = auto()


_Awaited = tuple[_Phase, int]
"""A message part, and the number of the message."""


class Connection(HttpToolsProtocol):
    """One client connection; the event loop and, during `data_received`, the parser call it."""

    bounds: ClassVar[Bounds]
    rooms: ClassVar[Rooms["Connection"]]

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        # uvicorn types the option as whole seconds, but its code also accepts fractions.
        self.timeout_keep_alive = self.bounds.idle_seconds  # type: ignore[assignment]  # fractions
        self._room: Room[Connection] = self.rooms.general
        self._is_reserved = False
        self._header_seconds = self.bounds.header_seconds
        self._phase = _Phase.NOTHING
        self._messages = 0
        self._unread = 0
        """Bytes since the last head, body piece or message; at most `max_header_bytes`."""
        self._is_over = False
        """True once input is ignored."""
        self._running: RequestResponseCycle | None = None
        self._awaited: _Awaited | None = None
        self._read_timer: asyncio.TimerHandle | None = None

    @property
    def _is_answering(self) -> bool:
        before_the_first = self.cycle is None
        return not before_the_first and not self.cycle.response_complete

    # Start and end of a connection

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's is
        super().connection_made(transport)
        self._unsent = Unsent(transport, self.bounds.send_seconds, self._drop)
        self._answers = AnswerTransport(transport, self.end)
        room = self.rooms.enter(self, self.loop.time())
        if room is None:
            self._turn_away()
            return
        self._room = room
        self._is_reserved = room is self.rooms.reserve
        if self._is_reserved:
            self._header_seconds = min(self._header_seconds, RESERVED_HEADER_SECONDS)
        # Pending input is read first: many connections may arrive in one turn of the loop.
        self.loop.call_soon(self._wait)
        self._await((_Phase.HEAD, 0))

    def _wait(self) -> None:
        if not (self._is_over or self._is_answering):
            self._room.wait(self, self.loop.time())

    def make_room(self) -> None:
        """Close this connection in favour of another."""
        CLOSED.labels("made_room").inc()
        self.transport.abort()

    def _turn_away(self) -> None:
        self._is_over = True
        CLOSED.labels("too_many").inc()
        self._write(no_room())
        self.transport.close()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self.rooms.leave(self)
        self._answers.let_go()
        self._await(None)
        self._unsent.end()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)
        # uvicorn notifies the latest request, which may still be queued.
        self.pipeline.clear()
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()

    def _close(self) -> None:
        self._is_over = True
        self.transport.close()
        self._unsent.watch()

    # Input

    @override
    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        self._unread += len(data)
        super().data_received(data)
        if self._unread > self.bounds.max_header_bytes:
            self._refuse_head()
        self._await(self._next_part())

    def _next_part(self) -> _Awaited | None:
        if self._is_over:
            return None
        if self._phase is _Phase.BODY:
            return _Phase.BODY, self._messages
        return (_Phase.HEAD, self._messages) if self._has_begun else None

    @property
    def _has_begun(self) -> bool:
        # Line breaks may precede a request. After them the connection counts as active, although no
        # message has begun.
        return self._phase is _Phase.HEAD or self._unread > 0

    @override
    def on_message_begin(self) -> None:
        if len(self.pipeline) >= _MAX_PIPELINED or (self._is_reserved and self._messages):
            raise _RefusedError
        self._phase = _Phase.HEAD
        super().on_message_begin()

    @override
    def on_headers_complete(self) -> None:
        if self._unread > self.bounds.max_header_bytes and self._head_is_too_large():
            self._refuse_head()
            raise _RefusedError
        version = self.parser.get_http_version()
        if version not in _VERSIONS or not has_one_host(version, self.url, self.headers):
            raise _RefusedError
        is_other = self.parser.should_upgrade()
        if is_other and has_body(self.headers):
            # The parser treats the rest as another protocol, which this service does not support.
            raise _RefusedError
        if self._is_reserved:
            self.scope["state"][RESERVED] = True
        super().on_headers_complete()
        self.cycle.transport = self._answers  # type: ignore[assignment]  # it has the used methods
        if self._is_reserved:
            self.cycle.keep_alive = False
        self._phase = _Phase.BODY
        self._unread = 0
        self._room.ask(self)
        # Trailers are dropped: neither proxies nor the application have checked them.
        self.headers = []
        if is_other:
            self.cycle.keep_alive = False
            self._is_over = True

    def _head_is_too_large(self) -> bool:
        sizes = (len(name) + len(value) for name, value in self.headers)
        return len(self.url) + sum(sizes) > self.bounds.max_header_bytes

    @override
    def on_body(self, body: bytes) -> None:
        self._unread = 0
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        self._phase = _Phase.NOTHING
        self._unread = 0
        self._messages += 1
        super().on_message_complete()

    @override
    def _unsupported_upgrade_warning(self) -> None:
        """Suppress the warning, with which any client could fill the log."""

    @override
    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        self._answers.begin(cycle)
        super()._start_asgi_task(cycle, app)

    # Missing input

    def _await(self, part: _Awaited | None) -> None:
        if part == self._awaited:
            return
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None
        self._awaited = part
        if part is not None:
            self._start_reading_timer(part[0])

    def _start_reading_timer(self, phase: _Phase) -> None:
        is_head = phase is _Phase.HEAD
        seconds = self._header_seconds if is_head else self.bounds.body_seconds
        self._read_timer = self.loop.call_later(seconds, self._on_late, phase)

    def _on_late(self, phase: _Phase) -> None:
        if self._is_answering:
            # The service may cause the delay; an awaited body has its own limit.
            self._start_reading_timer(phase)
        elif phase is _Phase.HEAD and self._has_begun:
            message = f"The headers took longer than {self._header_seconds:g} seconds."
            error = DeadlineExceeded(message, Reason.REQUEST_TOO_SLOW, http=408)
            self._refuse("slow_headers", error)
        else:
            CLOSED.labels("silent" if phase is _Phase.HEAD else "slow_body").inc()
            self._close()

    # Refusals before a request is complete

    @override
    def send_400_response(self, msg: str) -> None:
        message = "Malformed or unsupported HTTP/1.1 request."
        self._refuse("not_http", InvalidArgument(message, Reason.REQUEST_NOT_HTTP))

    def _refuse_head(self) -> None:
        message = f"The headers are longer than {self.bounds.max_header_bytes} bytes."
        error = InvalidArgument(message, Reason.HEADERS_TOO_LARGE, http=431)
        self._refuse("large_headers", error)

    def _refuse(self, reason: str, error: ServiceError) -> None:
        if self._is_over:
            return
        self._is_over = True
        CLOSED.labels(reason).inc()
        if self._phase is _Phase.BODY:
            if not (self.cycle.response_started or self.pipeline):
                self._write(error)
            # The application may wait for the rest of the body; it sees a disconnected client.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        elif self._is_answering:
            return
        else:
            self._write(error)
        self._linger()

    def _linger(self) -> None:
        self._unset_keepalive_if_required()
        self.rooms.linger(self)
        self._answers.flush()
        self.transport.write_eof()
        self.loop.call_later(_LINGER_SECONDS, self._close)

    def render(self, error: ServiceError) -> Rendered:
        """Return the last answer of a connection."""
        raise NotImplementedError

    def _write(self, error: ServiceError) -> None:
        status, headers, body = self.render(error)
        headers = [*self.server_state.default_headers, *headers]
        lines = [b"%b: %b\r\n" % header for header in headers]
        self.transport.write(b"".join([STATUS_LINE[status], *lines, b"\r\n", body]))

    # Output

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self._unsent.watch()

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        self._unsent.stop()
        if self.transport.is_closing():
            self._unsent.watch()

    @override
    def on_response_complete(self) -> None:
        self._answers.flush()
        super().on_response_complete()
        if self.transport.is_closing():
            self._unsent.watch()
            return
        if self._is_over and not self._is_answering:
            self._linger()
            return
        if self.pipeline:
            # No more requests are read while some are queued.
            self.flow.pause_reading()
        self._wait()

    def end(self) -> None:
        """Close the connection after a final answer."""
        if self._phase is _Phase.BODY and self.cycle.response_complete:
            # More of the body may come: `on_response_complete`, called next, lingers.
            self._is_over = True
        else:
            self.transport.close()

    @override
    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def _drop(self) -> None:
        CLOSED.labels("answer_not_taken").inc()
        self.transport.abort()


class _RefusedError(ValueError):
    """Raised inside the parser to stop it, which then calls `send_400_response`."""
