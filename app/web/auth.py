"""Who is calling. Stands before every route, so that none can forget it.

A key is accepted as `Authorization: Bearer`, as `x-goog-api-key`, and as the password of
`Authorization: Basic`, with which a browser can open the documentation.
"""

import base64
import binascii

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from app.core.auth import Authenticator
from app.core.errors import Reason, ServiceError, Unauthenticated
from app.web.errors import render

PUBLIC_PATHS = frozenset({"/healthz", "/readyz"})
"""The only paths that need no key."""


class Authentication:
    """ASGI middleware: answers 401 unless the caller is known."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its caller."""
        if scope["type"] != "http" or scope["path"] in PUBLIC_PATHS:
            await self._app(scope, receive, send)
            return
        authenticator: Authenticator = scope["app"].state.authenticator
        try:
            caller = await authenticator.authenticate(_secret(Headers(scope=scope)))
        except ServiceError as error:
            await render(error)(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)


def _secret(headers: Headers) -> str:
    key = headers.get("x-goog-api-key")
    if key:
        return key
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and value.strip():
        return value.strip()
    if scheme.lower() == "basic":
        return _password(value)
    raise Unauthenticated(
        "Send an API key as 'Authorization: Bearer KEY' or 'x-goog-api-key: KEY'.",
        Reason.CREDENTIAL_MISSING,
    )


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""
