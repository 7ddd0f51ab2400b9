"""Export of an engine: streams an archive of its rows from one snapshot."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from app.adapters.db.session import Database
from app.adapters.db.urls import plain_url
from app.adapters.resources import Resources
from app.adapters.stepping import stepped
from app.kernel.clock import Clock
from app.kernel.errors import Cancelled, DeadlineExceeded, Reason, ServiceError
from app.kernel.names import EngineName
from app.memory.transfer.logic.format import ArchiveWriter
from app.memory.transfer.services.writing import EngineWriting, ExportOptions, compressed
from app.memory.transfer.store.snapshot import opened
from app.platform.engines.store import repository as engines
from app.platform.engines.store.rows import name_of
from app.platform.limits.services.refusals import too_many
from app.settings.settings import Settings

log = structlog.get_logger()

Ended = Callable[[ServiceError | None], Awaitable[None]]
"""Callback that records the end of an export, with the error if it failed."""


class ExportPlaces:
    """Counter of the exports that run in this process."""

    def __init__(self) -> None:
        self._taken = 0

    @contextmanager
    def occupied(self, most: int) -> Iterator[None]:
        """Count one export while the block runs.

        Raises:
            ResourceExhausted: the process already runs the maximum number of exports.
        """
        if self._taken >= most:
            raise too_many("process", most)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


@dataclass(frozen=True)
class EngineExports:
    """Exports of engines."""

    db: Database
    clock: Clock
    settings: Settings
    database_url: str
    places: ExportPlaces

    @classmethod
    def of(cls, resources: Resources) -> "EngineExports":
        """Build the service from the process's resources."""
        places = resources.kept.setdefault(ExportPlaces, ExportPlaces())
        return cls(
            resources.db, resources.clock, resources.settings, resources.database_url, places
        )

    async def find(self, name: EngineName) -> EngineName:
        """Return the full name of an engine.

        Raises:
            NotFound: the engine does not exist.
        """
        async with self.db.snapshot() as session:
            return name_of(await engines.get(session, name))

    async def export(
        self, name: EngineName, options: ExportOptions, ended: Ended, *, reads_sensitive: bool
    ) -> AsyncIterator[bytes]:
        """Yield an archive in parts; an incomplete archive has no trailer.

        Args:
            name: the full name of the engine.
            options: the contents of the archive.
            ended: called at the end or on failure, if any part was yielded.
            reads_sensitive: True includes the bytes of sensitive artifacts.

        Raises:
            NotFound: the engine does not exist.
            ResourceExhausted: the process already runs the maximum number of exports.
            DeadlineExceeded: the export takes longer than the settings allow.
            Unavailable: the database fails.
        """
        writer = ArchiveWriter()
        has_begun = False
        error: ServiceError | None = Cancelled(
            "The reader of the archive has gone.", Reason.REQUEST_ABANDONED
        )
        with self.places.occupied(self.settings.max_exports):
            try:
                async with self.db.translated_errors():
                    parts = self._parts(name, options, writer, reads_sensitive=reads_sensitive)
                    async for part in stepped(parts, "export"):
                        has_begun = True
                        yield part
                error = None
            except ServiceError as failure:
                error = failure
                raise
            finally:
                if has_begun:
                    reason = None if error is None else error.reason
                    log.info(
                        "engine.exported", engine=name.engine, counts=writer.counts, reason=reason
                    )
                    await ended(error)

    def _parts(
        self,
        name: EngineName,
        options: ExportOptions,
        writer: ArchiveWriter,
        *,
        reads_sensitive: bool,
    ) -> Generator[bytes, None, None]:
        """Yield an archive in parts; each step blocks its thread."""
        now = self.clock.now()
        seconds = self.settings.export_max_seconds
        ends = time.monotonic() + seconds
        with opened(
            self._url(), self.settings, name.engine, now, reads_sensitive=reads_sensitive
        ) as snapshot:
            writing = EngineWriting(snapshot, name, options, now, writer)
            for part in compressed(writing.lines()):
                if time.monotonic() > ends:
                    raise DeadlineExceeded(
                        f"The export takes longer than {seconds:g} seconds, the limit of"
                        " MEMORY_BANK_EXPORT_MAX_SECONDS.",
                        Reason.EXPORT_TOO_SLOW,
                    )
                yield part

    def _url(self) -> str:
        read_url = self.settings.read_url
        if read_url is not None and self.db.is_primary_away:
            return plain_url(read_url.get_secret_value())
        return self.database_url
