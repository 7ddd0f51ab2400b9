"""Calls of the API's routes within this process, on behalf of an authenticated caller.

The calls pass the same checks as a client's. The caller is passed in the ASGI scope, which no
client can write.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode

from app.kernel.auth import Caller

CALLER = "memory_bank.caller"
"""The key of a request's caller in its ASGI scope."""
SURFACE = "memory_bank.surface"
"""The key of the interface through which a request came; absent: the API itself."""

TOOL_SURFACES = frozenset({"mcp", "tools"})
"""The interfaces through which agents call tools."""

_Scope = MutableMapping[str, Any]
_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
Application = Callable[[_Scope, _Receive, _Send], Awaitable[None]]
"""An ASGI application."""
_DOTS = {".": "%2E", "..": "%2E%2E"}


class InProcessAnswer(NamedTuple):
    """An answer of the API."""

    status: int
    body: bytes


@dataclass(frozen=True)
class InProcess:
    """Calls on behalf of one caller, within one request.

    Attributes:
        surface: the interface, as the audit log names it.
        host: the `Host` of the outer request.
        address: the IP address of the outer request's sender.
        request_id: the outer request's id, which the calls share.
        is_given_up: returns True if the outer request's client has disconnected, which ends the
            waiting of a call.
    """

    application: Application
    caller: Caller
    surface: str
    host: str
    address: str | None
    request_id: str
    is_given_up: Callable[[], Awaitable[bool]] | None = None

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> InProcessAnswer:
        """Send a request and return its answer, also for error statuses.

        The path segments `.` and `..` are escaped, because they are ids here.
        """
        sent, content = dict(headers or {}), b""
        if body is not None:
            content = json.dumps(body).encode()
            sent |= {"content-type": "application/json", "content-length": str(len(content))}
        # A second message never comes, as if the client stayed.
        messages: asyncio.Queue[_Message] = asyncio.Queue()
        messages.put_nowait({"type": "http.request", "body": content})
        path = "/".join(_DOTS.get(part, part) for part in path.split("/"))
        return await self._answered(self._scope(method, path, query, sent), messages.get)

    async def forward(
        self, path: str, query: Sequence[tuple[str, str]], receive: _Receive, send: _Send
    ) -> None:
        """Answer a client's GET with the API's answer, streamed without buffering."""
        await self._handed_over(self._scope("GET", path, query, {}), receive, send)

    async def upload(
        self, path: str, query: Sequence[tuple[str, str]], media_type: str, receive: _Receive
    ) -> InProcessAnswer:
        """POST a body as it arrives, without buffering, and return the answer.

        The API may cancel a wait for `receive`, so a cancelled call must lose nothing.
        """
        headers = {"content-type": media_type, "transfer-encoding": "chunked"}
        return await self._answered(self._scope("POST", path, query, headers), receive)

    async def _answered(self, scope: _Scope, receive: _Receive) -> InProcessAnswer:
        status, parts = 0, []

        async def send(message: _Message) -> None:
            nonlocal status
            status = message.get("status", status)
            parts.append(message.get("body", b""))

        await self._handed_over(scope, receive, send)
        return InProcessAnswer(status, b"".join(parts))

    def _scope(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str],
    ) -> _Scope:
        sent = {"host": self.host, "x-request-id": self.request_id, **headers}
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": urlencode(query).encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
            "client": (self.address or "", 0),
        }

    async def _handed_over(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        scope[CALLER] = self.caller
        scope[SURFACE] = self.surface
        await self.application(scope, self._watching(receive), send)

    def _watching(self, receive: _Receive) -> _Receive:
        if self.is_given_up is None:
            return receive
        is_given_up, has_body = self.is_given_up, False

        async def watching() -> _Message:
            nonlocal has_body
            if has_body and await is_given_up():
                return {"type": "http.disconnect"}
            message = await receive()
            has_body = not message.get("more_body")
            return message

        return watching
