"""Finds the route of a request at once, where the framework would try one router after another.

Routes are looked up by their method and the number of their segments; the few that are left are
tried in the order in which they were declared, as the framework does. What matches none of them
(the documentation's files, unknown paths, methods that a path does not have) is left to it.
"""

from collections import defaultdict
from collections.abc import Iterable

from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Receive, Scope, Send


class Dispatch:
    """ASGI application: the routes, before a router that has them and others."""

    def __init__(self, routes: Iterable[APIRoute], rest: ASGIApp) -> None:
        self._rest = rest
        self._routes: dict[tuple[str, int], list[APIRoute]] = defaultdict(list)
        for route in routes:
            for method in route.methods or ():
                self._routes[method, route.path.count("/")].append(route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request to its route."""
        if scope["type"] == "http":
            path = scope["path"]
            for route in self._routes.get((scope["method"], path.count("/")), ()):
                found = route.path_regex.fullmatch(path)
                if found is not None:
                    scope["route"] = route
                    scope["endpoint"] = route.endpoint
                    scope["path_params"] = found.groupdict()
                    await route.handle(scope, receive, send)
                    return
        await self._rest(scope, receive, send)
