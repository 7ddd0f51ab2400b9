"""Calls of the API's routes within this process, on behalf of an authenticated caller.

The calls pass the same checks as a client's: permissions, reach, rates, quotas, audit and
idempotency. The caller is passed in the ASGI scope, which no client can write.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode

import httpx2

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
            waiting of a call; None: calls do not check.
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

        The path segments `.` and `..` are escaped, because they are ids here. The API refuses
        values that JSON or UTF-8 cannot hold, such as NaN or half a surrogate pair.
        """
        sent = {"host": self.host, "x-request-id": self.request_id, **(headers or {})}
        if body is not None:
            sent["content-type"] = "application/json"
        transport = httpx2.ASGITransport(self._handed_over, client=(self.address or "", 0))
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://in-process", trust_env=False
        ) as client:
            answer = await client.request(
                method,
                "/".join(_DOTS.get(part, part) for part in path.split("/")),
                params=list(query),
                content=None if body is None else json.dumps(body).encode(),
                headers=sent,
                timeout=None,
            )
        return InProcessAnswer(answer.status_code, answer.content)

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
        status, parts = 0, []

        async def send(message: _Message) -> None:
            nonlocal status
            status = message.get("status", status)
            parts.append(message.get("body", b""))

        headers = {"content-type": media_type, "transfer-encoding": "chunked"}
        await self._handed_over(self._scope("POST", path, query, headers), receive, send)
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
        """Return a `receive` that reports a disconnect, after the body, once the client is gone."""
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
