"""Writes artifacts into folders of the operator's, so that nobody else has to see them.

Below a sink, each namespace has a folder of its own, by engine, memory and namespace, so that one
does not write over what another has exported. One that begins anew under a name that was deleted,
or has expired, does, whosever it is now. A file is there whole, or not at all.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from app.adapters.db.pages import Slice
from app.artifacts.tasks.schemas import (
    ExportedFile,
    ExportNamespaceRequest,
    ExportNamespaceResponse,
)
from app.artifacts.tasks.services.tasks import TaskService
from app.artifacts.tasks.store import repository
from app.artifacts.tasks.store.tables import ArtifactRow
from app.kernel.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    Reason,
    ServiceError,
    Unavailable,
)
from app.kernel.once import Once
from app.kernel.task_names import ArtifactName, NamespaceName
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.operations.store import repeats
from app.settings.task_settings import MAX_NAMESPACE_ARTIFACTS

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
"""What was kept off prompts is not for every user of the machine."""


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
            AlreadyExists: a folder is where a file is to be, or the other way round; or the
                request's id was used with another request.
            InvalidArgument: there is no such sink.
            NotFound: there is no such namespace, or one of the artifacts is not in it.
            Unavailable: the sink cannot be written to.
        """
        sink, now = self._sink(request.sink), self.tasks.clock.now()
        # A repetition writes nothing: what was written may have been moved, or edited.
        first = await self._first_answer(name, once, now)
        answer = first or await self._write_all(sink, name, request)
        return await self._tell(name, answer, once, now)

    async def _write_all(
        self, sink: Path, name: NamespaceName, request: ExportNamespaceRequest
    ) -> ExportNamespaceResponse:
        rows = await self._chosen(name, request)
        parts = [str(name.memory.engine.engine), name.memory.memory, name.namespace]
        below = Path(*parts, *(request.directory or "").split("/"))
        files: list[ExportedFile] = []
        for row in rows:
            path = below / row.name
            try:
                await self._write(sink, path, row)
            except OSError as error:
                raise _not_written(error, request.sink, row.name, len(files)) from None
            files.append(
                ExportedFile(artifact=row.name, path=path.as_posix(), size_bytes=row.size_bytes)
            )
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
        now = self.tasks.clock.now()
        # There may be more than are taken as the service is set now.
        asked = Slice[tuple[int, str]](MAX_NAMESPACE_ARTIFACTS, None, is_descending=False)
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
            await asyncio.to_thread(_place, partly, folder / path.name)
        finally:
            with suppress(FileNotFoundError):
                await asyncio.to_thread(os.unlink, partly)

    async def _first_answer(
        self, name: NamespaceName, once: Once | None, now: datetime
    ) -> ExportNamespaceResponse | None:
        async with self.tasks.db.snapshot() as session:
            engine = await engines.get(session, name.memory.engine)
            found = await repeats.find_answer(session, engine.engine_id, once, now)
        return None if found is None else ExportNamespaceResponse.model_validate(found)

    async def _tell(
        self,
        name: NamespaceName,
        answer: ExportNamespaceResponse,
        once: Once | None,
        now: datetime,
    ) -> ExportNamespaceResponse:
        """Let the audit log have it, and remember how the request was answered."""
        async with self.tasks.db.transaction() as session:
            engine = await engines.get(session, name.memory.engine, Lock.SHARED)
            first = await repeats.answered_with(session, engine.engine_id, once, now)
            if first is not None:
                return ExportNamespaceResponse.model_validate(first)
            await repeats.keep_answer(session, engine.engine_id, once, answer.wire())
        return answer


def _not_written(error: OSError, sink: str, artifact: str, written: int) -> ServiceError:
    """Return what is told of a file that could not be written, after `written` others.

    Not what the system says of it, which may hold paths of this machine.
    """
    metadata = {"sink": sink, "filesWritten": str(written)}
    if isinstance(error, (IsADirectoryError, NotADirectoryError, FileExistsError)):
        return AlreadyExists(
            f"In the sink {sink}, a folder or a file of an export before is in the way of"
            f" artifacts/{artifact}; choose another directory.",
            Reason.ID_TAKEN,
            metadata=metadata,
        )
    message = f"The sink {sink} cannot be written to."
    return Unavailable(message, Reason.NOT_READY, metadata=metadata)


async def _fill(path: Path, pages: AsyncIterator[bytes]) -> None:
    """Write a file that nobody but the service's own user can read; it is on the disk then."""
    file = await asyncio.to_thread(_open, path)
    try:
        async for page in pages:
            await asyncio.to_thread(file.write, page)
        await asyncio.to_thread(_sync, file)
    finally:
        await asyncio.to_thread(file.close)


def _open(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE), "wb")


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _place(partly: Path, path: Path) -> None:
    """Give a file that is whole its name, whatever had that before; so it is after a power cut."""
    partly.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


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
        folder.mkdir(_FOLDER_MODE, exist_ok=True)
    return folder
