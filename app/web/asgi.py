"""The base of our ASGI middlewares, and the choice of the application or route of a request."""

import asyncio
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable

from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from app.kernel.errors import NotFound, Reason


class HttpMiddleware(ABC):
    """ASGI middleware for requests; it passes anything else on, such as the lifespan."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        await (self.serve if scope["type"] == "http" else self._app)(scope, receive, send)

    @abstractmethod
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, usually by the inner application."""


class Dispatch:
    """ASGI application that tries the routes before falling back to a full router.

    The framework would try each router in turn. Routes are looked up by method and number of
    segments, and the few candidates tried in the order of declaration. The framework handles
    everything else: the documentation's files, unknown paths and unsupported methods.
    """

    def __init__(self, routes: Iterable[APIRoute], rest: ASGIApp) -> None:
        self._rest = rest
        self._routes: dict[tuple[str, int], list[APIRoute]] = defaultdict(list)
        for route in routes:
            for method in route.methods or ():
                self._routes[method, route.path.count("/")].append(route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to its route."""
        if scope["type"] == "http":
            path = scope["path"]
            for route in self._routes.get((scope["method"], path.count("/")), ()):
                match = route.path_regex.fullmatch(path)
                if match is not None:
                    scope["route"] = route
                    scope["endpoint"] = route.endpoint
                    scope["path_params"] = match.groupdict()
                    await route.handle(scope, receive, send)
                    return
        await self._rest(scope, receive, send)


class Mount(HttpMiddleware):
    """ASGI middleware that hands a path and all paths below it to another application.

    The scope stays unchanged: the log shows the route, and `scope["app"]` is the API.
    """

    def __init__(self, app: ASGIApp, path: str, mounted: ASGIApp) -> None:
        super().__init__(app)
        self._path = path
        self._mounted = mounted

    @override
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_below = scope["path"] == self._path or scope["path"].startswith(f"{self._path}/")
        await (self._mounted if is_below else self._app)(scope, receive, send)


class Late:
    """An application that is built at its first request, in a thread."""

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
    """Stand in for an application that is not served."""
    raise NotFound("No such path.", Reason.PATH_NOT_FOUND)
