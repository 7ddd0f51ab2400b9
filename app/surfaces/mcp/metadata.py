"""The metadata document with the issuer of tokens for MCP. Source: RFC 9728, section 2."""

import re

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app.kernel.errors import InvalidArgument, NotFound, Reason
from app.settings.settings import Settings
from app.web.headers import header

PATH = "/.well-known/oauth-protected-resource"
_MCP = "/mcp"
_NAME = "Open Memory Bank"
_HOST = re.compile(r"[A-Za-z0-9._:\[\]-]{1,255}")


class _Route:
    """Route object that gives the document its name in the access log."""

    path = f"{PATH}{_MCP}"


def document(settings: Settings) -> ASGIApp:
    """Return an ASGI application that serves the document without a key; 404 without an issuer."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        resource = scope["path"].removeprefix(PATH).removesuffix("/")
        is_of_mcp = resource == _MCP or (
            resource.startswith(f"{_MCP}/") and "/" not in resource.removeprefix(f"{_MCP}/")
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
            "resource_name": _NAME,
        }
        await JSONResponse(metadata)(scope, receive, send)

    return answer


def url_of(scope: Scope, settings: Settings) -> str:
    """Return the URL of the metadata document for the resource of a request."""
    return f"{_origin(scope, settings)}{PATH}{scope['path'].removesuffix('/')}"


def _origin(scope: Scope, settings: Settings) -> str:
    """Return the public address of the service from the settings or from the request."""
    if settings.public_url is not None:
        return settings.public_url
    host = (header(scope, b"host") or b"").decode("latin-1")
    # The result is written to a response header, so an invalid Host is not repeated.
    known = host if _HOST.fullmatch(host) else "localhost"
    return f"{scope['scheme']}://{known}"
