"""Paths of the console and their pages."""

from collections.abc import Awaitable, Callable

from starlette.responses import Response
from starlette.routing import compile_path

from app.surfaces.console.visits import Visit

Page = Callable[[Visit], Awaitable[Response]]
ENGINE = "/console/e/{engine}"


class Route:
    """A path of the console; the access log records this template instead of ids."""

    def __init__(self, path: str, get: Page | None = None, post: Page | None = None) -> None:
        self.path = path
        self.regex = compile_path(path)[0]
        self.pages = {
            method: page
            for method, page in (("GET", get), ("HEAD", get), ("POST", post))
            if page is not None
        }
