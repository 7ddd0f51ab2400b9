"""Writes artifacts into folders of the operator's, so that nobody else has to see them.

Below a sink, each namespace has a folder of its own, by engine, memory and namespace: no user can
write over what another has exported. A file is there whole, or not at all.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import InvalidArgument, NotFound, Reason, Unavailable
from app.core.names import ArtifactName, NamespaceName
from app.core.once import Once
from app.db.pages import Slice
from app.engines import repository as engines
from app.engines.repository import Lock
from app.operations import repeats
from app.tasks import repository
from app.tasks.schemas import (
    ExportedFile,
    ExportNamespaceRequest,
    ExportNamespaceResponse,
)
from app.tasks.service import TaskService
from app.tasks.tables import ArtifactRow


@dataclass(frozen=True)
class ExportService:
    """Exports of namespaces."""

    tasks: TaskService

    async def export(
        self, name: NamespaceName, request: ExportNamespaceRequest, once: Once | None
    ) -> ExportNamespaceResponse:
        """Write the artifacts of a namespace, or some of them, into a sink of the settings.

        What is there of the same name, from an export before, is replaced.

        Raises:
            InvalidArgument: there is no such sink.
            NotFound: there is no such namespace, or one of the artifacts is not in it.
            Unavailable: the sink cannot be written to.
        """
        sink = self._sink(request.sink)
        rows = await self._chosen(name, request)
        parts = [str(name.memory.engine.engine), name.memory.memory, name.namespace]
        below = Path(*parts, *(request.directory or "").split("/"))
        files = []
        for row in rows:
            path = below / row.name
            try:
                await self._write(sink, path, row)
            except OSError:
                # What the system says of it may hold paths of this machine.
                raise Unavailable(
                    f"The sink {request.sink} cannot be written to.",
                    Reason.NOT_READY,
                    metadata={"sink": request.sink},
                ) from None
            files.append(
                ExportedFile(artifact=row.name, path=path.as_posix(), size_bytes=row.size_bytes)
            )
        await self._tell(name, once)
        total = sum(row.size_bytes for row in rows)
        return ExportNamespaceResponse(sink=request.sink, files=files, total_bytes=total)

    def _sink(self, name: str) -> Path:
        sinks = self.tasks.settings.task_export_sinks
        if name not in sinks:
            listed = ", ".join(sorted(sinks)) or "none"
            raise InvalidArgument.of_field("sink", f"must be one of the settings: {listed}.")
        return sinks[name]

    async def _chosen(
        self, name: NamespaceName, request: ExportNamespaceRequest
    ) -> Sequence[ArtifactRow]:
        settings, now = self.tasks.settings, self.tasks.clock.now()
        asked = Slice[tuple[int, str]](
            settings.task_max_namespace_artifacts, None, is_descending=False
        )
        async with self.tasks.db.snapshot() as session:
            await engines.get(session, name.memory.engine)
            await repository.get_namespace(session, name, now)
            rows = await repository.list_artifacts(session, name, now, asked)
        if request.artifacts is None:
            return rows
        known = {row.name: row for row in rows}
        for one in request.artifacts:
            if one not in known:
                raise NotFound.of(ArtifactName(name, one))
        return [known[one] for one in dict.fromkeys(request.artifacts)]

    async def _write(self, sink: Path, path: Path, row: ArtifactRow) -> None:
        """Write one artifact, a page at a time."""
        pages = self.tasks.read_content(row, 0, row.size_bytes)
        folder = await asyncio.to_thread(_made, sink, path.parent)
        partly = folder / f".{secrets.token_hex(8)}"
        try:
            await _fill(partly, pages)
            await asyncio.to_thread(os.replace, partly, folder / path.name)
        finally:
            with suppress(FileNotFoundError):
                await asyncio.to_thread(os.unlink, partly)

    async def _tell(self, name: NamespaceName, once: Once | None) -> None:
        """Let the audit log have it, and remember the request's id."""
        async with self.tasks.db.transaction() as session:
            engine = await engines.get(session, name.memory.engine, Lock.SHARED)
            now = self.tasks.clock.now()
            await repeats.is_repeated(session, engine.engine_id, once, now)


async def _fill(path: Path, pages: AsyncIterator[bytes]) -> None:
    file = await asyncio.to_thread(path.open, "xb")
    try:
        async for page in pages:
            await asyncio.to_thread(file.write, page)
    finally:
        await asyncio.to_thread(file.close)


def _made(sink: Path, below: Path) -> Path:
    """Make a folder below a sink, which must be there; no link leads out of it.

    Raises:
        OSError: it cannot be made.
    """
    folder = sink.resolve(strict=True)
    for part in below.parts:
        folder /= part
        if folder.is_symlink():
            raise OSError("leads out of the sink")
        folder.mkdir(exist_ok=True)
    return folder
