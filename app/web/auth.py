"""Authentication, before every route: no route can omit it.

A key or a token is accepted as `x-goog-api-key`, as `Authorization: Bearer`, and as the password of
`Authorization: Basic`, which lets a browser open the documentation. If both headers are sent,
`x-goog-api-key` wins: Google's clients send a token of their own in the other. Calls within the
process pass their caller in the scope, which takes precedence over the headers.
"""

import base64
import binascii
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Counter
from starlette.types import Receive, Scope, Send
from structlog.contextvars import bind_contextvars
from typing_extensions import override

from app.adapters.inprocess import CALLER
from app.adapters.uvicorn.room import is_reserved, no_room
from app.kernel.auth import Authenticator, Caller
from app.kernel.errors import Reason, ServiceError, Unauthenticated
from app.kernel.permissions import Permission
from app.web.errors import render
from app.web.headers import HttpMiddleware, headers

PUBLIC_PATHS = frozenset({"/", "/healthz", "/readyz"})
"""The only paths that require no key."""
METRICS_PATH = "/metrics"

_FAILURES = Counter(
    "memory_bank_authentication_failures_total",
    "Requests without a valid key or token.",
    ["reason"],
)
_MAX_BYTES = 16 * 1024
"""Maximum length of a credential; a longer one is not hashed."""


class Authentication(HttpMiddleware):
    """ASGI middleware that answers 401 to unknown callers."""

    @override
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in PUBLIC_PATHS:
            await self._app(scope, receive, send)
            return
        try:
            caller = scope.get(CALLER) or await _authenticated(scope)
        except ServiceError as error:
            await render(error)(scope, receive, send)
            return
        bind_contextvars(caller=caller.key_id)
        scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)


async def _authenticated(scope: Scope) -> Caller:
    authenticator: Authenticator = scope["app"].state.authenticator
    asks_for_metrics = scope["path"] == METRICS_PATH
    find = authenticator.authenticate_reader if asks_for_metrics else authenticator.authenticate
    with counted_failures():
        caller = await find(_secret(scope))
    if scope["path"] != METRICS_PATH:
        check_reserve(scope, caller)
    return caller


@contextmanager
def counted_failures() -> Iterator[None]:
    """Count a refused key or token in the block."""
    try:
        yield
    except Unauthenticated as error:
        _FAILURES.labels(error.reason).inc()
        raise


def check_reserve(scope: Scope, caller: Caller) -> None:
    """Keep the reserve of connections for operators of the service.

    Raises:
        Unavailable: the caller has to wait for a connection outside the reserve.
    """
    if is_reserved(scope) and not caller.may(Permission.KEYS_MANAGE):
        raise no_room()


def _secret(scope: Scope) -> str:
    keys = [key for key in headers(scope, b"x-goog-api-key") if key]
    secrets = keys or headers(scope, b"authorization")
    if len(secrets) > 1:
        # A proxy in front of this service may have checked another value.
        raise Unauthenticated("Send exactly one API key or token.", Reason.CREDENTIAL_INVALID)
    if secrets and len(secrets[0]) > _MAX_BYTES:
        raise Unauthenticated("The API key is not valid.", Reason.CREDENTIAL_INVALID)
    secret = secrets[0].decode("latin-1") if secrets else ""
    return secret if keys else _of_authorization(secret)


def _of_authorization(value: str) -> str:
    scheme, _, rest = value.partition(" ")
    if scheme.lower() == "bearer" and rest.strip():
        return rest.strip()
    if scheme.lower() == "basic":
        return _password(rest)
    raise Unauthenticated(
        "Send an API key as 'Authorization: Bearer KEY' or 'x-goog-api-key: KEY'.",
        Reason.CREDENTIAL_MISSING,
    )


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""
