"""The screens, one module each: what a page asks of the API, and how it is rendered."""

from app.surfaces.console.pages import (
    context,
    deleted,
    deletion,
    engines,
    memories,
    memory,
    operations,
    removal,
    revisions,
    rollback,
    session,
    sessions,
    signing,
    tasks,
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
    *sessions.ROUTES,
    *session.ROUTES,
    *context.ROUTES,
    *tasks.ROUTES,
)
