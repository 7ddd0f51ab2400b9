"""Loading of files from the operator's folders; each is stored like an upload.

Each part of a path is opened below the one before it, without following links, so no path leads out
of its source even if somebody renames folders meanwhile. Only regular files are read.
"""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from app.artifacts.tasks.logic import chosen_name
from app.artifacts.tasks.schemas import MAX_TO_LOAD, Artifact, LoadFilesRequest, LoadFilesResponse
from app.artifacts.tasks.services import uploads
from app.artifacts.tasks.services.exports import configured
from app.artifacts.tasks.services.namespace_writes import NamespaceDraft
from app.artifacts.tasks.services.preparing import check_choice, check_storable, kind_of
from app.artifacts.tasks.services.storing import StoringService, shown
from app.artifacts.tasks.services.tasks import TaskService
from app.artifacts.tasks.services.uploads import Upload
from app.artifacts.tasks.store import repository
from app.artifacts.tasks.store.contents import PAGE_BYTES
from app.kernel.auth import Caller
from app.kernel.errors import InvalidArgument, ServiceError
from app.kernel.media_types import type_of_name
from app.kernel.names import ArtifactName, NamespaceName, check_task_id, is_task_id
from app.platform.engines.store import repository as engines

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Flags that neither follow a link nor wait for the writer of a pipe."""
_MAX_ENTRIES = 10_000
_Parts = Sequence[str]
_Result = TypeVar("_Result")


async def load(
    tasks: TaskService,
    name: NamespaceName,
    request: LoadFilesRequest,
    etag: str | None,
    caller: Caller,
) -> LoadFilesResponse:
    """Store files of a source in a namespace, one after another.

    Raises:
        InvalidArgument: there is no such source, or no such file or folder in it, or the folder has
            too many files, or no artifact can have a name.
        ServiceError: as for an upload; `filesLoaded` in its metadata counts the stored files.
    """
    check_choice(tasks.embedders, request.embedding_model, caller)
    async with tasks.db.snapshot() as session:
        await engines.get(session, name.memory.engine)
    source = configured("source", tasks.settings.task_import_sources, request.source)
    beginning = await tasks.under_policy(name.memory, NamespaceDraft.of(request))
    request = await StoringService(tasks).named(name.memory.engine, request)
    beginning = replace(beginning, activity=request.activity)
    files, skipped = await _in_thread(_list_chosen, source, request)
    done: list[Artifact] = []
    for parts in files:
        media_type = type_of_name(parts[-1])
        chosen = parts[-1] if request.as_ is None else chosen_name(request.as_, media_type)
        upload = Upload(ArtifactName(name, chosen), media_type, None, None, etag, beginning)
        try:
            check_storable(tasks.settings, kind_of(media_type), "path")
            done.append(await _store(tasks, source, parts, upload, caller))
        except ServiceError as error:
            error.metadata["filesLoaded"] = str(len(done))
            raise
    now = tasks.clock.now()
    async with tasks.db.snapshot() as session:
        row = await repository.get_namespace(session, name, now)
        reference = await tasks.reference(session, row, now)
    return LoadFilesResponse(
        artifacts=done, skipped_count=skipped, **shown(reference, request, caller)
    )


async def _store(
    tasks: TaskService, source: Path, parts: _Parts, upload: Upload, caller: Caller
) -> Artifact:
    file = await _in_thread(_open_file, source, parts)
    try:
        size = os.fstat(file.fileno()).st_size
        return await uploads.put(tasks, replace(upload, size=size), _pages(file), caller)
    finally:
        await asyncio.to_thread(file.close)


async def _pages(file: BinaryIO) -> AsyncIterator[bytes]:
    while page := await _in_thread(file.read, PAGE_BYTES):
        yield page


async def _in_thread(call: Callable[..., _Result], *arguments: Any) -> _Result:  # noqa: ANN401 - as `call` takes them
    try:
        return await asyncio.to_thread(call, *arguments)
    except OSError:
        # The same for links, devices and missing files: callers must not explore the machine.
        raise InvalidArgument.of_field(
            "path", "must be a file or a folder in the source; links are not followed."
        ) from None


def _list_chosen(source: Path, request: LoadFilesRequest) -> tuple[Sequence[_Parts], int]:
    """Return the paths of the files to load, by name, and the number of those left out."""
    parts = [] if request.path is None else request.path.split("/")
    place = _open(source, parts)
    try:
        if stat.S_ISREG(os.fstat(place).st_mode):
            if request.pattern is not None:
                raise InvalidArgument.of_field("pattern", "needs a folder, and path is a file.")
            check_task_id("path" if request.as_ is None else "as", request.as_ or parts[-1])
            return [parts], 0
        if request.as_ is not None:
            raise InvalidArgument.of_field("as", "names one file, and path is a folder.")
        names, skipped = _list_folder(place, request.pattern or "*")
    finally:
        os.close(place)
    if not 0 < len(names) <= MAX_TO_LOAD:
        raise InvalidArgument.of_field(
            "path", f"must be a folder with 1 to {MAX_TO_LOAD} files to load; pattern chooses some."
        )
    return [[*parts, name] for name in sorted(names)], skipped


def _list_folder(place: int, pattern: str) -> tuple[Sequence[str], int]:
    names, skipped = [], 0
    with os.scandir(place) as entries:
        for number, entry in enumerate(entries):
            if number == _MAX_ENTRIES:
                raise InvalidArgument.of_field(
                    "path", f"must be a folder with at most {_MAX_ENTRIES} entries."
                )
            if not fnmatchcase(entry.name, pattern):
                continue
            is_shown = is_task_id(entry.name) and not entry.name.startswith(".")
            if is_shown and entry.is_file(follow_symlinks=False):
                names.append(entry.name)
            else:
                skipped += 1
    return names, skipped


def _open_file(source: Path, parts: _Parts) -> BinaryIO:
    return open(parts[-1], "rb", 0, opener=lambda *_: _open(source, parts))


def _open(source: Path, parts: _Parts) -> int:
    """Open a regular file or a folder below a source."""
    place = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in parts:
        try:
            mode = os.stat(part, dir_fd=place, follow_symlinks=False).st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                # To open a device may already change it.
                raise OSError("is neither a file nor a folder")
            below = os.open(part, _FLAGS, dir_fd=place)
        finally:
            os.close(place)
        place = below
    return place
