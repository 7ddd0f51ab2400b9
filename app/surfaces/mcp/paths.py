"""Paths of the MCP endpoint: the middleware for its requests, and the metadata document.

Source of the document: RFC 9728, section 2.
"""

import re
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from app.kernel.errors import InvalidArgument, NotFound, Reason
from app.settings.settings import Settings
from app.surfaces.tools import scopes
from app.web.headers import HttpMiddleware, header

PATH = "/mcp"
PAIRS = "mcp_scope"
"""Name of the scope's pairs from the URL in the state of a request."""
_CHALLENGE = "www-authenticate"
_BEARER = "Bearer "
METADATA_PATH = "/.well-known/oauth-protected-resource"
_RESOURCE_NAME = "Open Memory Bank"
_HOST = re.compile(r"[A-Za-z0-9._:\[\]-]{1,255}")


class McpPaths(HttpMiddleware):
    """ASGI middleware for MCP; other requests pass unchanged.

    It moves the scope from the query to the request's state, because pairs may have any name.
    A 401 offers `Bearer` only: `Basic` would make browsers ask for a password.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        super().__init__(app)
        self._settings = settings

    @override
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_of_mcp(scope["path"]):
            await self._app(scope, receive, send)
            return
        if not self._settings.mcp:
            raise NotFound("No such path.", Reason.PATH_NOT_FOUND)
        _take_pairs(scope)

        async def send_challenge(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 401:
                self._challenge(scope, MutableHeaders(scope=message))
            await send(message)

        await self._app(scope, receive, send_challenge)

    def _challenge(self, scope: Scope, headers: MutableHeaders) -> None:
        """Keep only challenges for a bearer token. Source: RFC 9728, section 5.1."""
        bearer = [value for value in headers.getlist(_CHALLENGE) if value.startswith(_BEARER)]
        del headers[_CHALLENGE]
        for challenge in bearer:
            if self._settings.jwt_issuer:
                url = url_of(scope, self._settings)
                challenge += f', resource_metadata="{url}"'  # noqa: PLW2901 - its last part
            headers.append(_CHALLENGE, challenge)


def _is_of_mcp(path: str) -> bool:
    return path == PATH or path.startswith(f"{PATH}/")


def _take_pairs(scope: Scope) -> None:
    """Move the parameters `scope.KEY` from the query to the request's state."""
    query = parse_qsl(scope["query_string"].decode("utf-8", "replace"), keep_blank_values=True)
    pairs: dict[str, str] = {}
    for name, value in query:
        if not name.startswith(scopes.PREFIX):
            continue
        key = name.removeprefix(scopes.PREFIX)
        if key in pairs:
            raise InvalidArgument.of_field("scope", "has a key twice.")
        pairs[key] = value
    if pairs:
        rest = [pair for pair in query if not pair[0].startswith(scopes.PREFIX)]
        scope["query_string"] = urlencode(rest).encode()
    scope.setdefault("state", {})[PAIRS] = pairs


class _Route:
    """Route object that gives the document its name in the access log."""

    path = f"{METADATA_PATH}{PATH}"


def document(settings: Settings) -> ASGIApp:
    """Return an ASGI application that serves the document without a key; 404 without an issuer."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        resource = scope["path"].removeprefix(METADATA_PATH).removesuffix("/")
        is_of_mcp = resource == PATH or (
            resource.startswith(f"{PATH}/") and "/" not in resource.removeprefix(f"{PATH}/")
        )
        if not settings.jwt_issuer or not settings.mcp or not is_of_mcp:
            raise NotFound("No such path.", Reason.PATH_NOT_FOUND)
        scope["route"] = _Route
        if scope["method"] not in {"GET", "HEAD"}:
            message = f"{scope['method']} is not served on this path; use GET."
            raise InvalidArgument(message, Reason.METHOD_NOT_ALLOWED, http=405)
        metadata = {
            "resource": _origin(scope, settings) + resource,
            "authorization_servers": [settings.jwt_issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": _RESOURCE_NAME,
        }
        await JSONResponse(metadata)(scope, receive, send)

    return answer


def url_of(scope: Scope, settings: Settings) -> str:
    """Return the URL of the metadata document for the resource of a request."""
    return f"{_origin(scope, settings)}{METADATA_PATH}{scope['path'].removesuffix('/')}"


def _origin(scope: Scope, settings: Settings) -> str:
    """Return the public address of the service from the settings or from the request."""
    if settings.public_url is not None:
        return settings.public_url
    host = (header(scope, b"host") or b"").decode("latin-1")
    # The result is written to a response header, so an invalid Host is not repeated.
    known = host if _HOST.fullmatch(host) else "localhost"
    return f"{scope['scheme']}://{known}"
