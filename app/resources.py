"""The long-lived collaborators of a process, opened once."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from app.core.clock import Clock, SystemClock
from app.db.engine import open_engine
from app.db.session import Database, Session
from app.llm.factory import open_embedder, open_models
from app.llm.managed import ManagedEmbedder
from app.llm.models import TextModels
from app.settings import Settings

ResponseReader = Callable[[Session, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Fills a stored response, which holds names only, with what they name at present."""


@dataclass(frozen=True)
class Resources:
    """What routes, services and jobs need from their process."""

    settings: Settings
    clock: Clock
    db: Database
    database_url: str
    embedder: ManagedEmbedder
    models: TextModels = field(default_factory=TextModels)
    """The text models; without any, the built-in rules write memories."""
    response_readers: dict[str, ResponseReader] = field(default_factory=dict)
    """By kind of operation; the features above the operations put theirs in at start."""


@asynccontextmanager
async def open_resources(
    settings: Settings, database_url: str, clock: Clock | None = None
) -> AsyncIterator[Resources]:
    """Open the collaborators for the length of the block; the database must be migrated.

    Raises:
        ModelSetupError: a model that the settings name cannot be opened.
    """
    models = open_models(settings)
    embedder = open_embedder(settings)
    db = Database(open_engine(database_url, settings))
    try:
        yield Resources(settings, clock or SystemClock(), db, database_url, embedder, models)
    finally:
        await models.close()
        await embedder.close()
        await db.close()
