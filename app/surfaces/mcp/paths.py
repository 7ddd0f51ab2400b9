"""Paths of the MCP endpoint, and the middleware that prepares its requests."""

from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from app.kernel.errors import InvalidArgument, NotFound, Reason
from app.settings.settings import Settings
from app.surfaces.mcp import metadata
from app.surfaces.tools import scopes
from app.web.asgi import HttpMiddleware

PATH = "/mcp"
PAIRS = "mcp_scope"
"""Name of the scope's pairs from the URL in the state of a request."""
_CHALLENGE = "www-authenticate"
_BEARER = "Bearer "


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
                url = metadata.url_of(scope, self._settings)
                challenge += f', resource_metadata="{url}"'  # noqa: PLW2901 - its last part
            headers.append(_CHALLENGE, challenge)


def _is_of_mcp(path: str) -> bool:
    return path == PATH or path.startswith(f"{PATH}/")


def _take_pairs(scope: Scope) -> None:
    """Move the parameters `scope.KEY` from the query to the request's state.

    Raises:
        InvalidArgument: a key occurs twice.
    """
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
