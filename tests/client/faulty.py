"""A proxy on the loopback address that fails on command: before, in, and after an answer."""

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

import httpx
from typing_extensions import override

_NOT_COPIED = {"transfer-encoding", "content-length", "connection", "content-encoding", "host"}


@dataclass(frozen=True)
class Fault:
    """A thing that goes wrong with one request.

    `before`: nothing is forwarded. `in`: half of the answer comes. `after`: the service does what
    is asked, and its answer is lost. `answer`: the proxy itself answers.
    """

    kind: Literal["before", "in", "after", "answer"]
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """A request that has come."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Proxy:
    """The proxy; `behind` is the service's address, None where it answers everything itself."""

    def __init__(self, behind: str | None) -> None:
        self.behind = behind
        self.url = ""
        self.seen: list[Seen] = []
        self.faults: deque[Fault] = deque()
        self.http = httpx.Client(timeout=30)


@contextmanager
def proxy(behind: str | None = None) -> Iterator[Proxy]:
    """Serve beside the block."""
    made = Proxy(behind)

    class Handler(_Handler):
        proxy = made

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        made.http.close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self._body()
        self.proxy.seen.append(Seen(self.command, self.path, dict(self.headers), body))
        fault = self.proxy.faults.popleft() if self.proxy.faults else None
        if fault is not None and fault.kind == "before":
            self.close_connection = True
            return
        if fault is not None and fault.kind == "answer":
            self._send(fault.status, fault.headers, fault.body)
            return
        assert self.proxy.behind is not None
        headers = {
            name: value for name, value in self.headers.items() if name.lower() not in _NOT_COPIED
        }
        answer = self.proxy.http.request(
            self.command, self.proxy.behind + self.path, headers=headers, content=body
        )
        if fault is not None and fault.kind == "after":
            self.close_connection = True
            return
        is_cut = fault is not None
        self._send(answer.status_code, answer.headers, answer.content, is_cut=is_cut)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer  # noqa: N815 - the base asks for these

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _send(
        self, status: int, headers: Mapping[str, str], body: bytes, *, is_cut: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in _NOT_COPIED:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if is_cut else body)
        self.close_connection = is_cut

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
