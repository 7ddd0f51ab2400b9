"""Worker jobs that cut long texts into chunks and embed the chunks of a namespace."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import accumulate, islice

from app.adapters.batches import SweepBatches
from app.adapters.concurrency import ReadInThread, in_time
from app.adapters.db.session import Session
from app.adapters.documents.extracting import extracted, format_read
from app.adapters.documents.pdf_text import pages_of
from app.adapters.llm.ports import Vectors
from app.adapters.resources import Resources
from app.artifacts.tasks.logic import ArtifactState
from app.artifacts.tasks.services.preparing import (
    columns_of,
    cutting_of,
    embedder_of,
    language_of,
    parts_of,
)
from app.artifacts.tasks.store import contents, erasure, indexing, repository
from app.artifacts.tasks.store.contents import Pages
from app.artifacts.tasks.store.indexing import (
    BEGINNING,
    Key,
    QueuedEmbedding,
    QueuedIndexing,
    embed_later,
)
from app.artifacts.tasks.store.tables import ArtifactRow, ContentPlace
from app.kernel.errors import InvalidArgument, NotFound, Reason
from app.kernel.media_types import BYTES, TextFormat
from app.kernel.names import EngineName, NamespaceName, TaskMemoryName
from app.kernel.wire.privacy_config import Place
from app.language.chunking import Chunk, chunks
from app.language.tokens import tokens_of_length
from app.memory.memories.services.embedding import AWAY, EngineEmbedding
from app.platform.engines.store import repository as engines
from app.platform.operations.logic.states import EMPTY
from app.platform.operations.services.runner import Job, Postponed
from app.platform.privacy.logic import Guard
from app.platform.privacy.service import PrivacyService, count
from app.settings.settings import Settings

_AT_ONCE = 200
EMBEDDED_AT_ONCE = 64
"""Number of chunks embedded together and stored in one transaction."""
_PDFS_AT_ONCE = 2
"""Number of processes that read PDFs for this one; others wait, and leave their places to texts."""
_TURN_PAUSE = timedelta(seconds=2)
_REFUSED = "The text holds sensitive content that the engine's rules refuse."


class _Turns(asyncio.Semaphore):
    """Turns of this process's jobs to read a PDF."""


async def index(job: Job, resources: Resources) -> None:
    """Cut a text into chunks, with one transaction per batch, then mark the artifact ready.

    Chunks written by an aborted attempt are deleted first.

    Raises:
        DeadlineExceeded: the text takes too long.
        InvalidArgument: the file is a PDF that cannot be read.
        NotFound: the artifact is gone.
        Postponed: the file is a PDF, and others are being read.
        Unavailable: the reading of a PDF was interrupted.
    """
    request = QueuedIndexing.model_validate(job.claim.request)
    engine_id = job.claim.owned.engine_id
    place = ContentPlace(engine_id, request.memory, request.namespace, request.content_id)
    async with job.db.transaction() as session:
        row = await repository.lock_content(session, place.engine_id, place.content_id)
        if row is None:
            raise _gone()
        await contents.remove_chunks(session, place)
    seconds = resources.settings.tuning.task_index_seconds
    is_pdf = format_read(row.media_type, row.sniffed_type or BYTES) is TextFormat.PDF
    turns = resources.kept.setdefault(_Turns, _Turns(_PDFS_AT_ONCE))
    if is_pdf and turns.locked():
        raise Postponed(job.clock.now() + _TURN_PAUSE)
    turn, cut = (turns, _cut_pdf) if is_pdf else (nullcontext(), _cut_text)
    async with turn, in_time(seconds, f"The text took more than {seconds:g} s."):
        values = await cut(job, resources, place, row)
    await _end(job, resources.settings, place, values)


async def _cut_pdf(
    job: Job, resources: Resources, place: ContentPlace, row: ArtifactRow
) -> dict[str, object]:
    data = Pages(job.db, place).read(0, row.size_bytes)
    pages = await pages_of(data, resources.settings.tuning)
    engine = EngineName.parse(job.claim.engine_name)
    guard = await PrivacyService.of(resources).guard(engine, Place.ARTIFACTS)
    if not guard.is_idle:
        pages = await asyncio.to_thread(_masked, guard, pages)
    values = await _insert(job, resources.settings, place, pages)
    return {**values, "page_ends": [*accumulate(map(len, pages))]}


def _masked(guard: Guard, pages: Sequence[str]) -> list[str]:
    """Return the pages as the engine's rules want them; a value may span two pages."""
    texts = [page.rstrip() for page in pages]
    if replace(guard, masks=frozenset()).across(texts)[1]:
        raise InvalidArgument(_REFUSED, Reason.SENSITIVE_CONTENT)
    masked, counts = replace(guard, rejects=frozenset()).across(texts)
    count(Place.ARTIFACTS, counts)
    return [f"{text}\n\n" for text in masked]


async def _cut_text(
    job: Job, resources: Resources, place: ContentPlace, row: ArtifactRow
) -> dict[str, object]:
    async def read(page: int) -> bytes:
        await job.step()
        async with job.db.snapshot() as session:
            data = await contents.read_page(session, place, page)
        if data is None:
            raise _gone()
        return data

    with ReadInThread(read) as pages:
        text = extracted(
            pages.parts(contents.page_count(row.size_bytes)),
            row.media_type,
            row.sniffed_type or BYTES,
        )
        return await _insert(job, resources.settings, place, text)


async def _insert(
    job: Job, settings: Settings, place: ContentPlace, text: Iterable[str]
) -> dict[str, object]:
    coming = chunks(text, cutting_of(settings))
    made, end, language = 0, 0, ""
    while batch := await asyncio.to_thread(_take, coming):
        await job.step()
        language = language or language_of(batch)
        async with job.db.transaction() as session:
            await contents.lock_uploading(session, place)
            await contents.insert_chunks(session, place, language, [*map(columns_of, batch)])
        made, end = made + len(batch), batch[-1].end
    tokens = tokens_of_length(end)
    values = {"state": ArtifactState.READY, "chunks": made, "token_estimate": tokens}
    return {**values, "language": language or None}


async def _end(
    job: Job, settings: Settings, place: ContentPlace, values: dict[str, object]
) -> None:
    name = _name_of(job, place.memory, place.namespace)
    async with job.db.transaction() as session:
        namespace = await repository.lock_namespace(session, name)
        row: ArtifactRow | None = await repository.lock_content(
            session, place.engine_id, place.content_id
        )
        if namespace is None or row is None:
            raise _gone()
        if namespace.sensitive and row.depth:
            # The estimate of the padded length does not reveal the text's own.
            del values["token_estimate"]
        await repository.update_artifact(session, row, values)
        engine = name.memory.engine
        await embed_later(session, settings, engine, namespace, job.clock.now())
        await job.finish(session, EMPTY, {})


def _take(source: Iterator[Chunk]) -> list[Chunk]:
    return list(islice(source, _AT_ONCE))


def _gone() -> NotFound:
    return NotFound("The artifact was deleted before it was indexed.", Reason.RESOURCE_NOT_FOUND)


def _name_of(job: Job, memory: str, namespace: str) -> NamespaceName:
    engine = EngineName.parse(job.claim.engine_name)
    return NamespaceName(TaskMemoryName(engine, memory), namespace)


async def embed(job: Job, resources: Resources) -> None:
    """Embed the chunks of a namespace with the model that it names.

    Chunks are embedded in batches, outside any transaction; a worker that takes over repeats at
    most one batch. The namespace is checked again before each batch is embedded and before it is
    stored.

    Raises:
        Postponed: the model is unavailable, or not configured in this process.
        ServiceError: the model rejects the request.
    """
    request = QueuedEmbedding.model_validate(job.claim.request)
    name = _name_of(job, request.memory, request.namespace)
    await _Embedding(job, resources, name).run()


@dataclass(frozen=True)
class _Embedding:
    job: Job
    resources: Resources
    name: NamespaceName

    async def run(self) -> None:
        while not await self._try_finish():
            after = BEGINNING
            while pieces := await self._embed_some(after):
                after = next(reversed(pieces))
                await self.job.step()

    async def _embed_some(self, after: Key) -> dict[Key, str]:
        async with self.job.db.snapshot() as session:
            model_id = await self._model(session, is_locked=False)
            if model_id is None:
                return {}
            pieces = await self._list_unembedded(session, after, EMBEDDED_AT_ONCE)
        if not pieces:
            return {}
        parts = {
            (*key, number): part
            for key, text in pieces.items()
            for number, part in enumerate(parts_of(text))
        }
        embeddings = await self._embed_texts(model_id, list(parts.values()))
        by_part = dict(zip(parts, embeddings, strict=True))
        async with self.job.db.transaction() as session:
            if await self._model(session, is_locked=True) == model_id:
                await engines.learn_model(session, model_id, embeddings.shape[1])
                await indexing.insert(session, self.name, model_id, by_part)
        return pieces

    async def _embed_texts(self, model_id: str, texts: Sequence[str]) -> Vectors:
        try:
            return await EngineEmbedding.of(self.resources).embedded(model_id, texts)
        except AWAY as error:
            pause = self.resources.settings.tuning.embedding_retry_seconds
            later = timedelta(seconds=max(pause, error.retry_after_seconds or 0))
            raise Postponed(self.job.clock.now() + later) from error

    async def _try_finish(self) -> bool:
        async with self.job.db.transaction() as session:
            model_id = await self._model(session, is_locked=True)
            if model_id is not None and await self._list_unembedded(session, BEGINNING, 1):
                return False
            await self.job.finish(session, EMPTY, {})
        return True

    async def _model(self, session: Session, *, is_locked: bool) -> str | None:
        now = self.job.clock.now()
        row = await repository.find_namespace(session, self.name, now, for_update=is_locked)
        if row is None or row.embedding_model is None:
            return None
        if self.resources.embedders.by_id.get(row.embedding_model) is None:
            # The model is not configured in this process, but may be in another worker.
            return row.embedding_model
        embedder = embedder_of(self.resources.embedders, row)
        return None if embedder is None else embedder.model_id

    async def _list_unembedded(self, session: Session, after: Key, limit: int) -> dict[Key, str]:
        now = self.job.clock.now()
        return await indexing.list_lacking(session, self.name, now, after, limit)


async def remove_expired(batches: SweepBatches) -> int:
    """Delete artifacts that can no longer be read; return the number of deleted rows."""
    grace = _grace(batches.resources.settings)
    find, remove = erasure.find_expired, erasure.remove_expired
    # Grouped by namespace, since a transaction locks the namespace before its artifacts.
    return await batches.spread(partial(find, grace), partial(remove, grace), shared=3)


async def remove_expired_namespaces(batches: SweepBatches) -> int:
    """Remove expired, empty namespaces; return the count."""
    grace = _grace(batches.resources.settings)
    find, remove = erasure.find_expired_namespaces, erasure.remove_expired_namespaces
    return await batches.spread(partial(find, grace), partial(remove, grace))


def _grace(settings: Settings) -> timedelta:
    return timedelta(seconds=settings.tuning.task_sweep_grace_seconds)
