"""The screens, one module each: what a page asks of the API, and how it is rendered."""

from app.surfaces.console.pages import (
    deleted,
    deletion,
    engines,
    memories,
    memory,
    operations,
    removal,
    revisions,
    rollback,
    signing,
    undo,
)
from app.surfaces.console.routes import Route

ROUTES: tuple[Route, ...] = (
    *signing.ROUTES,
    *engines.ROUTES,
    *memories.ROUTES,
    *memory.ROUTES,
    *rollback.ROUTES,
    *revisions.ROUTES,
    *operations.ROUTES,
    *undo.ROUTES,
    *removal.ROUTES,
    *deletion.ROUTES,
    *deleted.ROUTES,
)
