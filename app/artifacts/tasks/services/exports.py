"""Export of artifacts to the operator's folders; responses reveal no content.

Below a sink, each namespace has its own folder, named after engine, memory and namespace. Only a
new namespace that reuses the name of a deleted or expired one overwrites its exports, even for
another user. Files are written atomically, and without the padding of readers' results, which hides
their lengths from callers who may not see content.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from app.adapters.db.lists import Slice, list_page
from app.artifacts.tasks.logic import Reader, check_reader
from app.artifacts.tasks.schemas import (
    ExportedFile,
    ExportNamespaceRequest,
    ExportNamespaceResponse,
)
from app.artifacts.tasks.services.preparing import PADDING
from app.artifacts.tasks.services.tasks import TaskService
from app.artifacts.tasks.store import repository
from app.artifacts.tasks.store.tables import ArtifactRow
from app.kernel.changes import IdempotencyKey
from app.kernel.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    Reason,
    ServiceError,
    Unavailable,
)
from app.kernel.names import ArtifactName, NamespaceName
from app.kernel.tuning import MAX_NAMESPACE_ARTIFACTS
from app.platform.engines.store import repository as engines
from app.platform.operations.services.mutation import write
from app.platform.operations.store import idempotency
from app.platform.operations.store.idempotency import Replayed

_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
"""Mode of folders; other users of the machine must not read content kept off prompts."""


async def export(
    tasks: TaskService,
    name: NamespaceName,
    request: ExportNamespaceRequest,
    once: IdempotencyKey | None,
) -> ExportNamespaceResponse:
    """Write all or some artifacts of a namespace to a configured sink.

    Raises:
        AlreadyExists: a file would replace a folder or a folder a file, or a file would replace
            another without `overwrite`, or the request id was used with another request.
        InvalidArgument: no sink has this name, or a file name is given for several artifacts.
        NotFound: the namespace does not exist, or one of the artifacts is not in it.
        PermissionDenied: the namespace must not be exported.
        Unavailable: writing to the sink failed.
    """
    sink = configured("sink", tasks.settings.task_export_sinks, request.sink)
    now = tasks.clock.now()
    # A retry must not write files: the first request's may have been moved or edited.
    first = await _first_answer(tasks, name, once)
    answer = first or await _write_all(tasks, sink, name, request)
    return await _record_response(tasks, name, answer, once, now)


async def _write_all(
    tasks: TaskService, sink: Path, name: NamespaceName, request: ExportNamespaceRequest
) -> ExportNamespaceResponse:
    rows = await _list_chosen(tasks, name, request)
    parts = [str(name.memory.engine.engine), name.memory.memory, name.namespace]
    below = Path(*parts, *(request.directory or "").split("/"))
    files: list[ExportedFile] = []
    for row in rows:
        path = below / (request.file_name or row.name)
        try:
            await _write(tasks, sink, path, row, overwrite=request.overwrite)
        except OSError as error:
            raise _not_written(error, request.sink, row.name, len(files)) from None
        files.append(
            ExportedFile(artifact=row.name, path=path.as_posix(), size_bytes=row.size_bytes)
        )
    total = sum(row.size_bytes for row in rows)
    return ExportNamespaceResponse(sink=request.sink, files=files, total_bytes=total)


def configured(field: str, folders: Mapping[str, Path], name: str) -> Path:
    """Return the folder of a configured sink or source; `field` names which in errors."""
    if name not in folders:
        listed = ", ".join(sorted(folders)) or "none"
        raise InvalidArgument.of_field(field, f"must be a configured {field}: {listed}.")
    return folders[name]


async def _list_chosen(
    tasks: TaskService, name: NamespaceName, request: ExportNamespaceRequest
) -> Sequence[ArtifactRow]:
    now = tasks.clock.now()
    # The namespace may have more artifacts than the current settings allow.
    asked = Slice(repository.ARTIFACTS.key, MAX_NAMESPACE_ARTIFACTS)
    async with tasks.db.snapshot() as session:
        await engines.get(session, name.memory.engine)
        namespace = await repository.get_namespace(session, name, now)
        check_reader(namespace.readers, Reader.EXPORT)
        statement = repository.select_artifacts(name, now)
        rows, _ = await list_page(session, statement, asked)
    known = {row.name: row for row in rows}
    chosen = [*dict.fromkeys(request.artifacts)] if request.artifacts is not None else [*known]
    for artifact in chosen:
        if artifact not in known:
            raise NotFound.of(ArtifactName(name, artifact))
    if request.file_name is not None and len(chosen) != 1:
        raise InvalidArgument.of_field(
            "fileName", f"names one file, and {len(chosen)} artifacts are chosen."
        )
    return [known[artifact] for artifact in chosen]


async def _write(
    tasks: TaskService, sink: Path, path: Path, row: ArtifactRow, *, overwrite: bool
) -> None:
    pages = tasks.read_content(row, 0, row.size_bytes)
    if row.depth:
        pages = without_padding(pages)
    folder = await asyncio.to_thread(_make_folder, sink, path.parent)
    partly = folder / f".{secrets.token_hex(8)}"
    try:
        await _fill(partly, pages)
        await asyncio.to_thread(_put_in_place, partly, folder / path.name, overwrite=overwrite)
    finally:
        with suppress(FileNotFoundError):
            await asyncio.to_thread(os.unlink, partly)


async def without_padding(pages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pages of a reader's result without its padding."""
    padding, held = PADDING.encode(), b""
    async for page in pages:
        data = held + page
        text = data.rstrip(padding)
        held = data[len(text) :]
        yield text


async def _first_answer(
    tasks: TaskService, name: NamespaceName, once: IdempotencyKey | None
) -> ExportNamespaceResponse | None:
    async with tasks.db.snapshot() as session:
        engine = await engines.get(session, name.memory.engine)
        known = await idempotency.seen(session, once, engine.engine_id)
    return None if known is None else _response(known)


async def _record_response(
    tasks: TaskService,
    name: NamespaceName,
    answer: ExportNamespaceResponse,
    once: IdempotencyKey | None,
    now: datetime,
) -> ExportNamespaceResponse:
    async with write(tasks, engines.locked(name.memory.engine), once, now=now) as change:
        if change.replayed is not None:
            return _response(change.replayed)
        await change.answer(answer.wire())
    return answer


def _response(known: Replayed) -> ExportNamespaceResponse:
    return ExportNamespaceResponse.model_validate(known.answer)


def _not_written(error: OSError, sink: str, artifact: str, written: int) -> ServiceError:
    """Return the error for a file that could not be written, after `written` others.

    The operating system's message is left out, since it may contain paths of this machine.
    """
    metadata = {"sink": sink, "filesWritten": str(written)}
    if isinstance(error, (IsADirectoryError, NotADirectoryError, FileExistsError)):
        return AlreadyExists(
            f"artifacts/{artifact} conflicts with an existing file or folder in the sink {sink};"
            " choose another directory or file name.",
            Reason.ID_TAKEN,
            metadata=metadata,
        )
    message = f"Writing to the sink {sink} failed."
    return Unavailable(message, Reason.NOT_READY, metadata=metadata)


async def _fill(path: Path, pages: AsyncIterator[bytes]) -> None:
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


def _put_in_place(partly: Path, path: Path, *, overwrite: bool) -> None:
    """Give a complete file its name; a link of this name is replaced, not followed.

    Raises:
        FileExistsError: something has this name, and it must not be overwritten.
    """
    if overwrite:
        partly.replace(path)
    else:
        # A look before a rename would let two exports at once replace each other's file.
        os.link(partly, path, follow_symlinks=False)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _make_folder(sink: Path, below: Path) -> Path:
    """Create a folder below an existing sink; reject symbolic links in its path."""
    folder = sink.resolve(strict=True)
    for part in below.parts:
        folder /= part
        if folder.is_symlink():
            raise OSError("leads out of the sink")
        folder.mkdir(_FOLDER_MODE, exist_ok=True)
    return folder
