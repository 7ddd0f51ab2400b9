"""The screens, one module each: what a page asks of the API, and how it is rendered."""

from app.surfaces.console.pages import (
    audit,
    engines,
    keys,
    memories,
    memory,
    rollback,
    search,
    settings,
    signing,
    trial,
)
from app.surfaces.console.routes import Route

ROUTES: tuple[Route, ...] = (
    *signing.ROUTES,
    *engines.ROUTES,
    *memories.ROUTES,
    *memory.ROUTES,
    *rollback.ROUTES,
    *search.ROUTES,
    *keys.ROUTES,
    *audit.ROUTES,
    *settings.ROUTES,
    *trial.ROUTES,
)
