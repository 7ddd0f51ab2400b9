"""Compressed bodies: refused before they are read, and never decompressed."""

from starlette.types import ASGIApp, Receive, Scope, Send

from app.kernel.errors import InvalidArgument, Reason
from app.web.body import charged
from app.web.errors import render
from app.web.headers import headers

_PLAIN = frozenset({b"", b"identity"})


class PlainBody:
    """ASGI middleware that answers 415 to bodies declared as compressed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on if its body is uncompressed."""
        if scope["type"] != "http" or _is_plain(scope):
            await self._app(scope, receive, send)
            return
        error = InvalidArgument(
            "Content-Encoding: must be identity or absent; send the body uncompressed.",
            Reason.CONTENT_ENCODING_NOT_SERVED,
            http=415,
        )
        answer = render(await charged(scope, error))
        # The accepted encoding. Source: RFC 9110, section 15.5.16.
        answer.headers["Accept-Encoding"] = "identity"
        await answer(scope, receive, send)


def _is_plain(scope: Scope) -> bool:
    codings = b",".join(headers(scope, b"content-encoding")).lower().split(b",")
    return all(coding.strip() in _PLAIN for coding in codings)
