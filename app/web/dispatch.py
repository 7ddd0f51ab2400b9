"""Direct dispatch of requests to routes; the framework would try each router in turn.

Routes are looked up by method and number of segments. The few candidates are tried in the order of
declaration, as in the framework. The framework handles everything else: the documentation's files,
unknown paths and unsupported methods.
"""

from collections import defaultdict
from collections.abc import Iterable

from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Receive, Scope, Send


class Dispatch:
    """ASGI application that tries the routes before falling back to a full router."""

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
