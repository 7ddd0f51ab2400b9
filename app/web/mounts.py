"""Paths of another application, behind the checks that all requests pass."""

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from app.kernel.errors import NotFound, Reason


class Mount:
    """ASGI middleware that hands a path and all paths below it to another application.

    The scope stays unchanged: the log shows the route, and `scope["app"]` is the API.
    """

    def __init__(self, app: ASGIApp, path: str, mounted: ASGIApp) -> None:
        self._app = app
        self._path = path
        self._mounted = mounted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on to the application of its path."""
        is_below = scope["type"] == "http" and (
            scope["path"] == self._path or scope["path"].startswith(f"{self._path}/")
        )
        await (self._mounted if is_below else self._app)(scope, receive, send)


class Late:
    """An application that is built at its first request, in a thread.

    Args:
        build: imports and builds it.
    """

    def __init__(self, build: Callable[[], ASGIApp]) -> None:
        self._build = build
        self._building = asyncio.Lock()
        self._built: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on to the application."""
        async with self._building:
            if self._built is None:
                self._built = await asyncio.to_thread(self._build)
        await self._built(scope, receive, send)


async def nowhere(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 - of ASGI
    """Stand in for an application that is not served.

    Raises:
        NotFound: always.
    """
    raise NotFound("No such path.", Reason.PATH_NOT_FOUND)
