"""Calls of the API's routes in this process, with the caller handed over.

Whoever stands on the API calls it as a client does: permission, reach, rates, quotas, audit and
idempotency stand around the routes. The caller is in the ASGI scope, which no client can write.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any
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


@dataclass(frozen=True)
class InProcessAnswer:
    """An answer of the API."""

    status: int
    body: bytes


@dataclass(frozen=True)
class InProcess:
    """Calls in the name of one caller, within one request.

    Attributes:
        application: the API's.
        caller: in whose name.
        surface: the interface, as the audit log names it.
        host: the `Host` of the request that is served.
        address: the IP address of its sender.
        request_id: its id, which the calls share.
        is_given_up: whether its client no longer waits, which ends what a call waits for; None: it
            does not matter.
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
        """Send a request and return its answer, whatever its status.

        The segments `.` and `..` of the path are ids like any other, and lead nowhere else. What
        JSON or UTF-8 cannot hold, such as NaN or half a surrogate pair, the API refuses.
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
        """Answer a client's GET with that of the API, as it is made; nothing of it is held."""
        headers = {"host": self.host, "x-request-id": self.request_id}
        scope: _Scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": urlencode(query).encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": (self.address or "", 0),
        }
        await self._handed_over(scope, receive, send)

    async def _handed_over(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        scope[CALLER] = self.caller
        scope[SURFACE] = self.surface
        await self.application(scope, self._watching(receive), send)

    def _watching(self, receive: _Receive) -> _Receive:
        """Return a `receive` that, after the body, ends when the client of the request is gone."""
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
