"""Host check: requests for hosts that the settings do not list are refused.

An attacker's host name may resolve to this machine; its pages then send that name as `Host`.

Source: RFC 9110, sections 7.2 and 15.5.20.
"""

from collections.abc import Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from app.kernel.errors import InvalidArgument, Reason
from app.settings.connection_settings import ANY_HOST
from app.web.errors import render
from app.web.headers import authority, header

_PROBES = frozenset({"/healthz", "/readyz"})
"""Paths requested by a machine's address; their answers are the same for every host."""
_ANY_PORT = 80


class Hosts:
    """ASGI middleware that answers 421 to hosts not served here."""

    def __init__(self, app: ASGIApp, allowed: Sequence[str]) -> None:
        self._app = app
        self._is_any = ANY_HOST in allowed
        self._allowed = frozenset(host.encode() for host in allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on if its host is served."""
        if self._is_any or scope["type"] != "http" or self._is_served(scope):
            await self._app(scope, receive, send)
            return
        error = InvalidArgument(
            "This host is not served here; an operator can list it in MEMORY_BANK_ALLOWED_HOSTS.",
            Reason.HOST_NOT_SERVED,
            http=421,
        )
        await render(error)(scope, receive, send)

    def _is_served(self, scope: Scope) -> bool:
        host = authority(header(scope, b"host") or b"", _ANY_PORT)
        return scope["path"] in _PROBES or (host is not None and host[0] in self._allowed)
