"""The screens, one module each, with the API calls and the rendering of their pages."""

from app.surfaces.console.pages import (
    deleted,
    deletion,
    edit,
    engines,
    keys,
    memories,
    memory,
    operations,
    revisions,
    search,
    server,
    session,
    settings,
    signing,
    streams,
    tasks,
    undo,
    usage,
)
from app.surfaces.console.visits import Route

ROUTES: tuple[Route, ...] = (
    *signing.ROUTES,
    *engines.ROUTES,
    *memories.ROUTES,
    *memory.ROUTES,
    *edit.ROUTES,
    *revisions.ROUTES,
    *operations.ROUTES,
    *undo.ROUTES,
    *deletion.ROUTES,
    *deleted.ROUTES,
    *session.ROUTES,
    *tasks.ROUTES,
    *search.ROUTES,
    *keys.ROUTES,
    *settings.ROUTES,
    *streams.ROUTES,
    *usage.ROUTES,
    *server.ROUTES,
)
