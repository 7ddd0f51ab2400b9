"""Streaming uploads of any media type; memory use is one page, independent of the length.

Pages are written one by one, in short transactions, under a row in state `uploading`, which no
lookup finds. After all pages have arrived and been verified, one transaction commits the row under
its name. An upload that fails earlier deletes its row and pages; if the process dies first, a sweep
deletes them.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import structlog

from app.adapters.db.clock import database_now
from app.adapters.db.session import Session
from app.adapters.documents.extracting import HEAD_BYTES, charset_of
from app.artifacts.tasks.logic import ArtifactState, Kind
from app.artifacts.tasks.schemas import Artifact
from app.artifacts.tasks.services.namespace_writes import NamespaceDraft, check_content_etag
from app.artifacts.tasks.services.preparing import Prepared, check_storable, kind_of, prepare
from app.artifacts.tasks.services.tasks import TaskService
from app.artifacts.tasks.store import contents, erasure, repository
from app.artifacts.tasks.store.contents import PAGE_BYTES, Pages
from app.artifacts.tasks.store.indexing import embed_later, index_later
from app.artifacts.tasks.store.listing import list_indexing_failed
from app.artifacts.tasks.store.tables import ArtifactRow, ContentPlace, NamespaceRow
from app.kernel.auth import Caller
from app.kernel.errors import Aborted, InvalidArgument, Reason, ResourceExhausted, ServiceError
from app.kernel.media_types import MediaType
from app.kernel.names import ArtifactName
from app.kernel.permissions import Permission
from app.kernel.wire.privacy_config import Place
from app.kernel.wire.reading import MAX_DEPTH, MAX_VALUES, bound
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.engines.store.tables import name_of
from app.platform.privacy.logic import Guard
from app.platform.privacy.service import count

log = structlog.get_logger()

_withdrawals: set[asyncio.Task[None]] = set()
"""Withdrawals under way; the references prevent garbage collection of the tasks."""
_FIELD = "body"


@dataclass(frozen=True)
class Upload:
    """Parameters of an upload, known before its bytes; without an etag, the name must be free.

    `beginning` is already under the policy of its tool.
    """

    name: ArtifactName
    media_type: str
    size: int | None
    sha256: bytes | None
    etag: str | None
    beginning: NamespaceDraft


@dataclass
class _Received:
    """Size, digest and first bytes of the content received so far."""

    keep: int
    size: int = 0
    digest: Any = field(default_factory=hashlib.sha256)
    kept: bytearray = field(default_factory=bytearray)
    """The first bytes, or all of them unless the content is too long to be chunked at once."""

    def add(self, page: bytes) -> None:
        self.size += len(page)
        self.digest.update(page)
        self.kept += page[: max(0, self.keep + 1 - len(self.kept))]


async def put(
    tasks: TaskService, upload: Upload, pieces: AsyncIterator[bytes], caller: Caller
) -> Artifact:
    """Store an upload under the artifact's name; an upload of identical bytes has no effect.

    If the indexing of identical bytes was given up, their text is chunked again. If the caller may
    not know the stored bytes, identical bytes are treated like different ones.

    Raises:
        Aborted: other bytes are stored under the name, or the etag is stale.
        InvalidArgument: the bytes do not match the digest, or the body was truncated.
        NotFound: the engine does not exist, or the caller has no access to the user.
        ResourceExhausted: the upload is too long, or a quota is used up.
    """
    most = tasks.settings.task_max_artifact_bytes
    if upload.size is not None and upload.size > most:
        raise _too_large(most)
    check_storable(tasks.settings, kind_of(upload.media_type))
    upload, pieces = await _admitted(tasks, upload, pieces)
    async with _begun(tasks, upload) as place:
        received = await _receive(tasks, place, pieces)
        digest: bytes = received.digest.digest()
        check_digest(upload.sha256, digest)
        kept, kind = bytes(received.kept), kind_of(upload.media_type)
        prepared = await prepare(
            tasks.settings, kept, received.size, kind, upload.media_type, digest
        )
        return await _end(tasks, upload, place, prepared, caller)


async def _admitted(
    tasks: TaskService, upload: Upload, pieces: AsyncIterator[bytes]
) -> tuple[Upload, AsyncIterator[bytes]]:
    kind = kind_of(upload.media_type)
    engine, place = upload.name.namespace.memory.engine, Place.ARTIFACTS
    guard = await tasks.privacy.guard(engine, place)
    if guard.is_idle or kind is Kind.BLOB:
        return upload, pieces
    sent = await read_whole(pieces, tasks.settings.max_body_bytes)
    data, counts = await asyncio.to_thread(
        masked, guard, sent, kind, upload.media_type, upload.sha256
    )
    count(place, counts)
    return replace(upload, size=len(data), sha256=None), in_one_piece(data)


@asynccontextmanager
async def _begun(tasks: TaskService, upload: Upload) -> AsyncIterator[ContentPlace]:
    place: ContentPlace | None = None
    try:
        async with tasks.db.in_parts().transaction() as session:
            place = await _begin(tasks, session, upload)
        yield place
    except BaseException:
        if place is None:
            raise
        # A cancelled caller waits for the withdrawal, which is short. If it is cancelled again,
        # the withdrawal still finishes in the background.
        withdrawal = asyncio.create_task(_withdraw(tasks, upload, place))
        _withdrawals.add(withdrawal)
        withdrawal.add_done_callback(_withdrawals.discard)
        await asyncio.shield(withdrawal)
        raise


async def _begin(tasks: TaskService, session: Session, upload: Upload) -> ContentPlace:
    name, now = upload.name, tasks.clock.now()
    most = tasks.settings.task_max_artifact_bytes
    # An upload of unknown length reserves the maximum, since others must not use its room.
    length = most if upload.size is None else upload.size
    until = now + timedelta(seconds=tasks.settings.tuning.task_upload_seconds)
    engine = await engines.get(session, name.namespace.memory.engine, Lock.SHARED)
    namespace = await tasks.places.begin(session, name.namespace, upload.beginning, now, until)
    existing = await repository.find_artifact(session, name, now)
    check_content_etag(existing, upload.etag)
    # The upload replaces the existing artifact, or equals it.
    going = 0 if existing is None else existing.size_bytes
    added = 1 if existing is None else 0
    await tasks.places.check_room(session, namespace, length - going, added)
    artifact = {
        "name": name.artifact,
        "ordinal": 0,
        "kind": kind_of(upload.media_type),
        "media_type": upload.media_type,
        "size_bytes": length,
        "state": ArtifactState.UPLOADING,
        "version": 1,
        "create_time": now,
        "expire_time": until,
    }
    placed = await repository.insert_artifacts(session, namespace, now, [artifact])
    await tasks.places.check_engine(session, engine.engine_id, going)
    return placed[0]


async def _receive(
    tasks: TaskService, place: ContentPlace, pieces: AsyncIterator[bytes]
) -> _Received:
    settings = tasks.settings
    received = _Received(max(settings.tuning.task_index_at_once_bytes, HEAD_BYTES))
    pages = Pages(tasks.db.in_parts(), place)
    page, buffer = 0, bytearray()
    async for piece in pieces:
        buffer += piece
        if received.size + len(buffer) > settings.task_max_artifact_bytes:
            raise _too_large(settings.task_max_artifact_bytes)
        while len(buffer) >= PAGE_BYTES:
            data = bytes(buffer[:PAGE_BYTES])
            del buffer[:PAGE_BYTES]
            received.add(data)
            await pages.write(page, data, tasks.clock.now())
            page += 1
    if buffer:
        received.add(bytes(buffer))
        await pages.write(page, bytes(buffer), tasks.clock.now())
    return received


async def _end(
    tasks: TaskService, upload: Upload, place: ContentPlace, prepared: Prepared, caller: Caller
) -> Artifact:
    """Commit an upload under its name, in one transaction.

    For sensitive content the response does not reveal whether the bytes are identical, since a
    caller could find out the content by guessing.
    """
    service, name = tasks, upload.name.namespace
    async with service.db.transaction() as session:
        engine = await engines.get(session, name.memory.engine, Lock.SHARED)
        namespace = await repository.lock_for_upload(session, name)
        now = await database_now(session)
        row = await repository.lock_content(session, place.engine_id, place.content_id)
        if row is None or row.expire_time <= now:
            # A sweep may have freed some of its pages.
            raise repository.gone_meanwhile()
        named = await repository.find_names(session, name, [row.name])
        known = named.get(row.name)
        live = None if known is None or known.expire_time <= now else known
        check_content_etag(live, upload.etag)
        may_tell = _may_know_bytes(caller, namespace)
        is_same = live is not None and may_tell and _is_same(live, prepared, upload.media_type)
        if live is not None and is_same and not await _lacks_text(session, live, prepared):
            await erasure.remove_upload(session, place.engine_id, place.content_id)
            row = live
        else:
            if live is not None and upload.etag is None and not is_same:
                raise _name_taken(live)
            if known is not None:
                await erasure.remove_artifact(session, namespace, known)
                namespace = await service.places.uncount(session, namespace, known)
            row = await _put(tasks, session, namespace, row, prepared, upload, known, now)
            if prepared.is_indexed_later:
                await index_later(session, service.settings, engine, namespace, place, now)
            elif prepared.chunks:
                stored_in = name_of(engine)
                await embed_later(session, service.settings, stored_in, namespace, now)
    return service.shown(name_of(engine), namespace, row, caller)


async def _put(
    tasks: TaskService,
    session: Session,
    namespace: NamespaceRow,
    row: ArtifactRow,
    prepared: Prepared,
    upload: Upload,
    before: ArtifactRow | None,
    now: datetime,
) -> ArtifactRow:
    places = tasks.places
    await places.check_room(session, namespace, prepared.size, 1, row.content_id)
    until = places.expiry(upload.beginning.ttl, now)
    namespace = await places.count(session, namespace, [prepared.size], until)
    row = await repository.update_artifact(
        session,
        row,
        {
            **prepared.columns,
            "state": prepared.state,
            "ordinal": namespace.last_ordinal if before is None else before.ordinal,
            "version": 1 if before is None else before.version + 1,
            "create_time": now,
            "expire_time": until,
        },
    )
    await places.check_engine(session, row.engine_id)
    await contents.insert_chunks(session, ContentPlace.of(row), prepared.language, prepared.chunks)
    return row


async def _withdraw(tasks: TaskService, upload: Upload, place: ContentPlace) -> None:
    try:
        async with tasks.db.in_parts().transaction() as session:
            namespace = await repository.lock_for_upload(session, upload.name.namespace)
            await erasure.remove_upload(session, place.engine_id, place.content_id)
            await erasure.remove_if_empty(session, namespace)
    except Aborted:
        # It is already gone.
        return
    except ServiceError as error:
        log.warning("upload.not_withdrawn", reason=error.reason)


def _may_know_bytes(caller: Caller, namespace: NamespaceRow) -> bool:
    """Return True if a caller may learn that uploaded bytes equal the stored ones.

    Otherwise a caller could guess a short secret and get it confirmed.
    """
    if caller.may(Permission.ARTIFACTS_CONTENT):
        return True
    return not namespace.sensitive and caller.may(Permission.ARTIFACTS_DERIVE)


def _is_same(row: ArtifactRow, prepared: Prepared, media_type: str) -> bool:
    return (row.sha256, row.size_bytes, row.media_type) == (
        prepared.sha256,
        prepared.size,
        media_type,
    )


async def _lacks_text(session: Session, row: ArtifactRow, prepared: Prepared) -> bool:
    if row.chunks or not (prepared.chunks or prepared.is_indexed_later):
        return False
    return row.state == ArtifactState.READY or bool(await list_indexing_failed(session, [row]))


def _name_taken(row: ArtifactRow) -> Aborted:
    message = f"artifacts/{row.name} exists; to replace it, send its etag as If-Match, or *."
    return Aborted(message, Reason.ETAG_STALE)


def _too_large(most: int) -> ResourceExhausted:
    message = f"An artifact must have at most {most} bytes."
    return ResourceExhausted(message, Reason.ARTIFACT_TOO_LARGE, http=413)


async def read_whole(pieces: AsyncIterator[bytes], most: int) -> bytes:
    """Return all bytes of an upload, or raise ResourceExhausted after `most` bytes."""
    whole = bytearray()
    async for piece in pieces:
        whole += piece
        if len(whole) > most:
            raise ResourceExhausted(
                f"A text or JSON artifact must have at most {most} bytes where the engine has rules"
                " about sensitive values in artifacts.",
                Reason.ARTIFACT_TOO_LARGE,
                http=413,
            )
    return bytes(whole)


async def in_one_piece(data: bytes) -> AsyncIterator[bytes]:
    """Yield all bytes at once."""
    yield data


def check_digest(declared: bytes | None, digest: bytes) -> None:
    """Raise InvalidArgument unless an upload has the declared digest, if there is one."""
    if declared not in {None, digest}:
        message = "Content-Digest: must match the bytes; nothing was stored."
        raise InvalidArgument(message, Reason.DIGEST_MISMATCH)


def masked(
    guard: Guard, data: bytes, kind: Kind, media_type: str, digest: bytes | None
) -> tuple[bytes, Mapping[str, int]]:
    """Return the masked bytes of a text or JSON, and the number of masked values by kind.

    Raises:
        InvalidArgument: the engine's rules reject a value, or the declared digest does not match.
    """
    if digest is not None:
        check_digest(digest, hashlib.sha256(data).digest())
    value = _parsed(data) if kind is Kind.JSON else None
    if value is not None:
        admission = guard.admitted(value, _FIELD)
        text = json.dumps(admission.value, ensure_ascii=False, separators=(",", ":"))
        return text.encode(errors="surrogatepass") if admission.counts else data, admission.counts
    charset = charset_of(data, MediaType.parse(media_type).charset)
    admission = guard.admitted(data.decode(charset), _FIELD)
    return admission.value.encode(charset) if admission.counts else data, admission.counts


def _parsed(data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value, or None if it is invalid or too complex to be parsed quickly."""
    size = bound(data)
    if size.depth > MAX_DEPTH or size.values > MAX_VALUES:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
