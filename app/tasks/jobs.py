"""What a worker runs to cut a long text into pieces."""

import asyncio
from collections.abc import Iterator
from itertools import islice

from app.core.errors import NotFound, Reason
from app.documents.chunking import Chunk, chunks, tokens_in
from app.documents.extracting import extracted
from app.documents.media_types import BYTES
from app.operations.runner import Job
from app.operations.schemas import EMPTY
from app.resources import Resources
from app.tasks import contents, repository
from app.tasks.contents import PAGE_BYTES, Place
from app.tasks.indexing import QueuedIndexing
from app.tasks.kinds import State
from app.tasks.preparing import columns_of, cutting_of, language_of
from app.tasks.tables import ArtifactRow

_AT_ONCE = 200
_READ_SECONDS = 60


async def index(job: Job, resources: Resources) -> None:
    """Cut a text into pieces, some in each transaction; the last makes the artifact ready.

    Of an attempt that was broken off, what it has written goes first.

    Raises:
        NotFound: the artifact is gone.
    """
    request = QueuedIndexing.model_validate(job.claim.request)
    engine_id = job.claim.owned.engine_id
    place = Place(engine_id, request.memory, request.namespace, request.content_id)
    async with job.db.transaction() as session:
        row = await repository.lock_content(session, place.engine_id, place.content_id)
        if row is None:
            raise _gone()
        await contents.remove_chunks(session, place)
    pages = _pages(job, place, row.size_bytes, asyncio.get_running_loop())
    text = extracted(pages, row.media_type, row.sniffed_type or BYTES)
    found = chunks(text, cutting_of(resources.settings))
    count, end, language = 0, 0, ""
    while batch := await asyncio.to_thread(_take, found):
        await job.step()
        language = language or language_of(batch)
        async with job.db.transaction() as session:
            await contents.lock_uploading(session, place)
            await contents.insert_chunks(session, place, language, [*map(columns_of, batch)])
        count, end = count + len(batch), batch[-1].end
    values = {"state": State.READY, "chunks": count, "token_estimate": tokens_in(end)}
    await _end(job, place, {**values, "language": language or None})


async def _end(job: Job, place: Place, values: dict[str, object]) -> None:
    """Make the artifact ready, with the end of the operation."""
    async with job.db.transaction() as session:
        row: ArtifactRow | None = await repository.lock_content(
            session, place.engine_id, place.content_id
        )
        if row is None:
            raise _gone()
        await repository.update_artifact(session, row, values)
        await job.finish(session, EMPTY, {})


def _take(found: Iterator[Chunk]) -> list[Chunk]:
    return list(islice(found, _AT_ONCE))


def _pages(job: Job, place: Place, size: int, loop: asyncio.AbstractEventLoop) -> Iterator[bytes]:
    """Yield the pages of a content, to a thread other than that of the loop."""

    async def read(page: int) -> bytes:
        async with job.db.snapshot() as session:
            data = await contents.read_page(session, place, page)
        if data is None:
            raise _gone()
        return data

    for page in range(-(-size // PAGE_BYTES)):
        yield asyncio.run_coroutine_threadsafe(read(page), loop).result(_READ_SECONDS)


def _gone() -> NotFound:
    return NotFound("The artifact was deleted before it was indexed.", Reason.RESOURCE_NOT_FOUND)
