"""The screens, one module each: what a page asks of the API, and how it is rendered."""

from app.surfaces.console.pages import (
    engines,
    memories,
    memory,
    overview,
    rollback,
    server,
    signing,
    streams,
    usage,
)
from app.surfaces.console.routes import Route

ROUTES: tuple[Route, ...] = (
    *signing.ROUTES,
    *engines.ROUTES,
    *memories.ROUTES,
    *memory.ROUTES,
    *rollback.ROUTES,
    *overview.ROUTES,
    *streams.ROUTES,
    *usage.ROUTES,
    *server.ROUTES,
)
