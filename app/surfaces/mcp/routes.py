"""Routes of MCP: stateless streamable HTTP, handled by the official SDK.

The framework answers `GET` and `DELETE` with 405: the server never opens a stream of its own.
Source: Model Context Protocol, revisions 2024-11-05 to 2026-07-28.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from starlette.datastructures import MutableHeaders
from starlette.types import Message, Receive, Scope, Send
from typing_extensions import override

from app.adapters.concurrency import Shared
from app.surfaces.mcp.connections import CONNECTION, McpConnection
from app.surfaces.mcp.paths import PATH
from app.web.demands import Demand
from app.web.routing import Router

_INVALID_REQUEST = -32600
_NO_ID = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": _INVALID_REQUEST, "message": "id must be a string or an integer."},
}
_SERVER = "app.surfaces.mcp.server"
_Serve = Callable[[Scope, Receive, Send], Awaitable[None]]

router = Router(
    "mcp",
    demands={
        # The routes behind the tools check permissions, charge and audit the calls.
        "callMcp": Demand(None),
    },
    include_in_schema=False,
)


@router.post(PATH, operation_id="callMcp")
@router.post(PATH + "/{engine}", operation_id="callMcp")
async def call_mcp(request: Request) -> Response:
    """Answer a message of an MCP client."""
    connection = await McpConnection.of(request, request.path_params.get("engine"))
    setattr(request.state, CONNECTION, connection)
    if not _has_fitting_id(getattr(request.state, "json", {})):
        return JSONResponse(_NO_ID, 400)
    return _Answer(await request.body())


def _has_fitting_id(message: Mapping[str, Any]) -> bool:
    """Return True if a message's id is a string or an integer, or if it has no id.

    The SDK treats a message with any other id as a notification and sends no answer.
    """
    given = message.get("id", "")
    return isinstance(given, str | int) and not isinstance(given, bool)


class _Answer(Response):
    """A response written by the SDK."""

    def __init__(self, message: bytes) -> None:
        super().__init__()
        self._message = message

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        serve = await _server()
        # A missing header means any type (RFC 9110, section 12.5.1), but the SDK refuses it.
        MutableHeaders(scope=scope).setdefault("accept", "application/json")
        await serve(scope, _with_body(self._message, receive), send)


def _with_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first replays the body, which was already read."""
    left = [body]

    async def replayed() -> Message:
        if not left:
            return await receive()
        return {"type": "http.request", "body": left.pop(), "more_body": False}

    return replayed


_found: dict[str, _Serve] = {}


async def _import() -> _Serve:
    module = await asyncio.to_thread(import_module, _SERVER)
    serve: _Serve = module.serve
    _found[_SERVER] = serve
    return serve


_importing = Shared(_import)


async def _server() -> _Serve:
    """Return the function that serves MCP; the first call imports it in a thread."""
    return _found[_SERVER] if _found else await _importing.result()
