"""The long-lived collaborators of a process, opened once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from app.adapters.db.clock import DatabaseClock, Skew
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database, Session
from app.adapters.llm.embedders import Embedders
from app.adapters.llm.factory import embedders_with, open_embedders, open_models, open_readers
from app.adapters.llm.managed import ManagedEmbedder
from app.adapters.llm.models import TextModels
from app.adapters.llm.readers import Readers
from app.kernel.clock import Clock, FixedClock, SystemClock
from app.settings.settings import Settings

ResponseReader = Callable[[Session, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Fill a stored response, which holds names only, with what they name at present."""
EventListener = Callable[[Session, Any], Awaitable[None]]
"""Take part in the transaction that has changed events of a session."""
RemoveBatch = Callable[[Session, int], Awaitable[int]]
"""Remove up to so many rows in the caller's transaction; return how many went."""
RemoveOfEngine = Callable[[Session, int, int], Awaitable[int]]
"""Remove up to a number of an engine's rows in the caller's transaction; return how many went.

The arguments are the session, the engine's id and the number.
"""
HoldsAnything = Callable[[Session, int, datetime], Awaitable[bool]]
"""Return True if an engine holds anything, at a time, for which its deletion needs `force`."""


@dataclass(frozen=True)
class Sweep:
    """Periodic work that frees space or catches up.

    Attributes:
        name: what goes, as the log names it.
        run: does all there is to do, in transactions of its own; returns how many rows that were.
    """

    name: str
    run: "Callable[[Resources], Awaitable[int]]"


@dataclass
class Registry:
    """What features have registered.

    Attributes:
        response_readers: by kind of operation, whose answers they complete.
        event_listeners: called with each `sessions.services.changes.Appended` that completes an
            exchange.
        event_erasers: called with each `sessions.services.changes.Erased`.
        sweeps: in the order in which they run.
        children: remove what an engine holds; what refers to others comes first.
        holders: decide whether the deletion of an engine needs `force`.
        waiting_kinds: kinds of operations that wait for a time, and fail when their engine goes.
    """

    response_readers: dict[str, ResponseReader] = field(default_factory=dict)
    event_listeners: list[EventListener] = field(default_factory=list)
    event_erasers: list[EventListener] = field(default_factory=list)
    sweeps: tuple[Sweep, ...] = ()
    children: tuple[RemoveOfEngine, ...] = ()
    holders: tuple[HoldsAnything, ...] = ()
    waiting_kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Resources:
    """What routes, services and jobs need from their process."""

    settings: Settings
    clock: Clock
    db: Database
    database_url: str
    embedder: ManagedEmbedder
    """That of the settings, which serves engines without vectors so far."""
    models: TextModels = field(default_factory=TextModels)
    """The text models; without any, the built-in rules write memories."""
    readers: Readers = field(default_factory=Readers)
    """The models that read what is kept off prompts; without any, the built-in one does."""
    registry: Registry = field(default_factory=Registry)
    """Hooks of features, which the process registers at its start."""
    skew: Skew = field(default_factory=Skew)
    """The difference between the clocks of process and database, which `clock` corrects."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the process stops to serve, before the requests under way are waited for."""
    embedders: Embedders = field(default=cast("Embedders", None))
    """All that are open, by model; left out, it is `embedder` alone."""
    kept: dict[type[Any], Any] = field(default_factory=dict)
    """What features keep for the life of the process, by its class."""

    def __post_init__(self) -> None:
        # None, or those of before where `replace` has put another one in its place.
        if getattr(self.embedders, "current", None) is not self.embedder:
            object.__setattr__(self, "embedders", embedders_with(self.embedder))


@asynccontextmanager
async def open_resources(
    settings: Settings, database_url: str, clock: Clock | None = None
) -> AsyncIterator[Resources]:
    """Open the collaborators for the length of the block; the database must be migrated.

    Args:
        settings: say what to open.
        database_url: the address of the database.
        clock: the process's own, which the database's sets right; a `FixedClock` stands for both.

    Raises:
        ModelSetupError: a model that the settings name cannot be opened.
    """
    models = open_models(settings)
    readers = open_readers(settings)
    # In a thread: an operator's own model takes seconds to load.
    embedders = await asyncio.to_thread(open_embedders, settings)
    db = Database(open_engine(database_url, settings))
    try:
        if isinstance(clock, FixedClock):
            db = db.at(clock)
        skew = Skew(timedelta(seconds=settings.clock_skew_max_seconds))
        async with _following(db, clock or SystemClock(), skew) as followed:
            yield Resources(
                settings,
                followed,
                db,
                database_url,
                embedders.current,
                models,
                readers,
                skew=skew,
                embedders=embedders,
            )
    finally:
        await models.close()
        await readers.close()
        await embedders.close()
        await db.close()


@asynccontextmanager
async def _following(db: Database, process: Clock, skew: Skew) -> AsyncIterator[Clock]:
    """Give the clock of the process, set right by the database's for the length of the block."""
    if isinstance(process, FixedClock):
        yield process
        return
    clock = DatabaseClock(process, skew)
    await clock.measure(db)
    following = asyncio.create_task(clock.follow(db))
    try:
        yield clock
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
