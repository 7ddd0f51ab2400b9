"""The long-lived collaborators of a process, opened once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from pydantic import BaseModel

from app.adapters.concurrency import in_background
from app.adapters.db.clock import DatabaseClock, Skew
from app.adapters.db.distribution import is_distributed
from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database, Session
from app.adapters.db.subjects import Erasure, TextsOf
from app.adapters.llm.embedders import Embedders, ManagedEmbedder
from app.adapters.llm.factory import embedders_with, open_embedders, open_models, open_readers
from app.adapters.llm.models import Readers, TextModels
from app.kernel.clock import Clock, FixedClock, SystemClock
from app.kernel.permissions import Permission
from app.kernel.wire.archived import ArchivedRow
from app.settings.settings import Settings

ResponseReader = Callable[[Session, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Replace the names in a stored response with the current resources."""
EventListener = Callable[[Session, Any], Awaitable[None]]
"""Handle a change of a session's events, in the transaction that made it."""
RemoveOfEngine = Callable[[Session, int, int], Awaitable[int]]
"""Remove up to a number of an engine's rows in the caller's transaction; return the count.

The arguments are the session, the engine's id and the number.
"""
HoldsAnything = Callable[[Session, int, datetime], Awaitable[bool]]
"""Return True if the engine holds, at a given time, content that needs `force` for deletion."""
EndOfRestore = Callable[["Resources", Session, Any], Awaitable[None]]
"""Create, in the caller's transaction, the rows of a feature that archives do not contain.

The arguments are the process's resources, the session and the restored engine's row. Raises
`InvalidArgument` if the rows of the archive contradict each other.
"""
CountOfEngine = Callable[[Session, int, int], Awaitable[int]]
"""Count an engine's rows of a kind, up to a number.

The arguments are the session, the engine's id and the number.
"""


@dataclass(frozen=True)
class Sweep:
    """Periodic work that frees space or catches up.

    Attributes:
        name: the removed rows, as the log names them.
        run: does all pending work in its own transactions; returns the number of rows.
        order: smaller numbers run first. Long work comes last, because it would delay the others.
    """

    name: str
    run: "Callable[[Resources], Awaitable[int]]"
    order: int = 0


@dataclass(frozen=True)
class Retry:
    """The retry of failed operations of one kind.

    Attributes:
        permission: the permission that the kind's own method demands.
        renew: completes the new operation in the transaction that inserts it. The arguments are the
            caller's resources, the session, the failed operation's row and the `NewOperation`,
            which already has the row's request.
        preview: the kind of the operation that previews the retry; None: there are no previews.
    """

    permission: Permission
    renew: "Callable[[Resources, Session, Any, Any], Awaitable[Any]]"
    preview: str | None = None


@dataclass(frozen=True)
class Archived:
    """The part of archives that belongs to a feature.

    Attributes:
        rows: the columns of each kind of line, by its name.
        answers: the model of the stored response's fields that the service relies on, by kind.
        remove: removes up to a number of rows that a restore inserted.
    """

    rows: Mapping[str, type[ArchivedRow]] = field(default_factory=dict)
    answers: Mapping[str, type[BaseModel]] = field(default_factory=dict)
    remove: RemoveOfEngine | None = None


@dataclass(frozen=True)
class Check:
    """The result of a check of `/readyz`: its state in words, and True if it is passed."""

    state: str
    is_passed: bool


@dataclass
class Registry:
    """The hooks that features have registered.

    Attributes:
        response_readers: complete the responses of operations, by kind.
        event_listeners: called with each `sessions.services.changes.Appended` that completes an
            exchange.
        event_erasers: called with each `sessions.services.changes.Erased`.
        children: remove the rows of an engine; rows that refer to others come first.
        erasures: erase a scope from tables; rows that refer to others come first.
        texts: the texts, other than memories, that a scan for sensitive values rewrites in place.
        holders: decide whether the deletion of an engine needs `force`.
        unembedded: counts the memories of an engine that wait for their vectors.
        waiting_kinds: operations that wait for a time, and fail if their engine is deleted.
        restored: complete an engine at the end of its restore from an archive.
        archived: the features' parts of archives; rows that refer to others come first.
        answers: the response messages of operations, by `@type`.
        checks: the features' checks for `/readyz`, by name.
        is_working: decides `/healthz` of a process that runs operations.
        needs_right_clock: whether too large a clock skew makes the process unready.
    """

    response_readers: dict[str, ResponseReader] = field(default_factory=dict)
    retries: dict[str, Retry] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    event_listeners: list[EventListener] = field(default_factory=list)
    event_erasers: list[EventListener] = field(default_factory=list)
    sweeps: tuple[Sweep, ...] = ()
    children: tuple[RemoveOfEngine, ...] = ()
    erasures: tuple[Erasure, ...] = ()
    texts: tuple[TextsOf, ...] = ()
    holders: tuple[HoldsAnything, ...] = ()
    unembedded: CountOfEngine | None = None
    waiting_kinds: tuple[str, ...] = ()
    restored: tuple[EndOfRestore, ...] = ()
    archived: tuple[Archived, ...] = ()
    answers: Mapping[str, type[BaseModel]] = field(default_factory=dict)
    checks: dict[str, Callable[[], Awaitable[Check]]] = field(default_factory=dict)
    is_working: Callable[[], bool] = lambda: True
    needs_right_clock: bool = False


@dataclass(frozen=True, repr=False)  # asyncio prints the results of tasks: a text of all settings
class Resources:
    """The collaborators that routes, services and jobs share."""

    settings: Settings
    clock: Clock
    db: Database
    database_url: str
    embedder: ManagedEmbedder
    """The embedder of the settings, which serves engines without vectors."""
    models: TextModels = field(default_factory=TextModels)
    """The text models; if there are none, the built-in rules write memories."""
    readers: Readers = field(default_factory=Readers)
    """The models that read task memory; if there are none, the built-in reader does."""
    registry: Registry = field(default_factory=Registry)
    """The hooks of features, registered at the start of the process."""
    skew: Skew = field(default_factory=Skew)
    """The offset between the clocks of process and database; `clock` corrects it."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the process stops serving, before it waits for unfinished requests."""
    embedders: Embedders = field(default=cast("Embedders", None))
    """All open embedders, by model; only `embedder` by default."""
    kept: dict[type[Any], Any] = field(default_factory=dict)
    """Objects of features that live as long as the process, by class."""
    surface: str | None = None
    """The interface through which the current request came; None: the API itself."""

    def __post_init__(self) -> None:
        # None at first; outdated once `dataclasses.replace` has changed `embedder`.
        if getattr(self.embedders, "current", None) is not self.embedder:
            object.__setattr__(self, "embedders", embedders_with(self.embedder))


@asynccontextmanager
async def open_resources(
    settings: Settings, database_url: str, clock: Clock | None = None
) -> AsyncIterator[Resources]:
    """Open the collaborators for the duration of the block; the database must be migrated.

    A `FixedClock` replaces the clocks of the process and of the database.

    Raises:
        ModelSetupError: a model of the settings cannot be opened.
        Unavailable: the database cannot be reached.
    """
    # In a thread: provider clients take seconds to import, and an operator's own models take
    # seconds to load. On a busy machine the watchdog would treat the process as hung.
    models = await asyncio.to_thread(open_models, settings)
    readers = await asyncio.to_thread(open_readers, settings)
    embedders = await asyncio.to_thread(open_embedders, settings)
    db = Database(open_engine(database_url, settings))
    try:
        if isinstance(clock, FixedClock):
            db = db.at(clock)
        skew = Skew(timedelta(seconds=settings.clock_skew_max_seconds))
        forced = settings.tuning.treats_database_as_distributed
        async with db.translated_errors():
            db.is_distributed = forced or await is_distributed(db.engine)
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
    if isinstance(process, FixedClock):
        yield process
        return
    clock = DatabaseClock(process, skew)
    await clock.measure(db)
    async with in_background(clock.follow(db)):
        yield clock
