"""Opening of a namespace for a reader, its readable texts, and calls of the reader's model.

During a model call the namespace may be deleted and its name reused, it may become sensitive, or
its allowed models may change. So each read, model call, store and response checks the namespace in
its own transaction.

If the indexing of a text was given up, the artifact counts as having no text.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any

from app.adapters.concurrency import SingleFlight
from app.adapters.db.session import Session
from app.adapters.documents.extracting import is_readable
from app.adapters.llm.models import ReaderHandle
from app.adapters.llm.ports import IMAGE_TOKENS, Attachment, Meter, OutputT, Prompt
from app.adapters.resources import Resources
from app.artifacts.readers import store
from app.artifacts.readers.logic import (
    MAX_IMAGES,
    MAX_IMAGES_BYTES,
    ReaderQuery,
    ShownChunk,
    image_passages,
    images_taken,
)
from app.artifacts.readers.schemas import (
    Citation,
    ReaderUsage,
    ReadFields,
    ReadingCoverage,
    UnreadableArtifact,
)
from app.artifacts.readers.store import Readable, Texts, Unreadable
from app.artifacts.tasks.logic import (
    BUILTIN_NAMES,
    IMAGE_TYPES,
    MAX_IMAGE_BYTES,
    Allowed,
    Reader,
    check_reader,
)
from app.artifacts.tasks.store import repository
from app.artifacts.tasks.store.contents import read_whole
from app.artifacts.tasks.store.indexing import failures, give_up, list_given_up
from app.artifacts.tasks.store.tables import ContentPlace, NamespaceRow
from app.kernel.auth import Caller
from app.kernel.errors import Aborted, Cancelled, InvalidArgument, PermissionDenied, Reason
from app.kernel.media_types import BYTES
from app.kernel.names import NamespaceName, TaskMemoryName
from app.kernel.permissions import Permission
from app.kernel.wire.memory_policy import BUILTIN
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import name_of
from app.platform.operations.services.operations import GivenUp
from app.platform.usage.logic import QUERY
from app.platform.usage.service import UsageService, recorded

_EXPLAINED = 100
"""Maximum artifacts without text for which the indexing failure is looked up."""
_LISTED = 20
_TOO_LONG = f"It is longer than the longest image that is read: {MAX_IMAGE_BYTES:,} bytes."
_TOO_MANY = (
    f"It is beyond the images of a request: at most {MAX_IMAGES}, of {MAX_IMAGES_BYTES:,} bytes in"
    f" all, in half of the reader's max_input_tokens, at {IMAGE_TOKENS:,} each."
)


@dataclass(frozen=True)
class ExplainedArtifact:
    """An artifact that is not read, and the error of its indexing, if known, or of its image."""

    artifact: Unreadable
    failure: str | None
    is_for_images: bool

    @property
    def reason(self) -> str:
        """Reason as a sentence."""
        if self.failure is not None:
            return self.failure
        declared, looks_like = self.artifact.media_type, self.artifact.sniffed_type or BYTES
        if self.is_for_images and looks_like in IMAGE_TYPES:
            return _TOO_MANY if self.artifact.is_image else _TOO_LONG
        if not is_readable(declared, looks_like):
            kind = declared if looks_like == BYTES else looks_like
            return f"Nothing is read from files of type {kind}."
        return "No text was found in it, or its indexing was given up."


@dataclass(frozen=True)
class OpenNamespace:
    """A namespace that may be read.

    Attributes:
        reader: the chosen reader; None: the built-in one.
        artifacts: artifacts with text, in order. Artifacts that arrive later are not read.
        images: images for the reader, in order.
        unreadable: number of artifacts without text, of which `unread` has the newest.
    """

    name: NamespaceName
    row: NamespaceRow
    reader: ReaderHandle | None
    artifacts: Sequence[Readable]
    unreadable: int
    unread: Sequence[ExplainedArtifact]
    may_show: bool
    images: Sequence[Unreadable]

    @property
    def sources(self) -> Sequence[Readable | Unreadable]:
        """All artifacts that are read."""
        return [*self.artifacts, *self.images]

    @property
    def image_passages(self) -> Sequence[ShownChunk]:
        """Passages that stand for the images in a prompt."""
        return image_passages([image.name for image in self.images])

    @property
    def chunks(self) -> int:
        """Number of chunks in the texts."""
        return sum(artifact.chunks for artifact in self.artifacts)

    @property
    def depth(self) -> int:
        """Number of derivations between a result of these texts and the tool's output."""
        return max(artifact.depth for artifact in self.sources) + 1

    def coverage(self, chunks_used: int, *, truncated: bool) -> ReadingCoverage:
        """Return the coverage of the texts.

        Numbers that depend on the content are only for callers who may see it: over many questions,
        they would reveal the content.
        """
        return ReadingCoverage(
            chunks_total=self.chunks if self.may_show else None,
            chunks_used=chunks_used if self.may_show else None,
            truncated=truncated if self.may_show else None,
            artifacts_total=len(self.sources) + self.unreadable,
            artifacts_unreadable=self.unreadable,
            unreadable=self._listed_unread() if self.may_show and self.unread else None,
        )

    def _listed_unread(self) -> list[UnreadableArtifact]:
        return [
            UnreadableArtifact(artifact=unread.artifact.name, reason=unread.reason)
            for unread in self.unread[:_LISTED]
        ]


@dataclass(frozen=True)
class Reading:
    """Text that a reader made of a namespace.

    Attributes:
        truncated: whether some wanted chunks did not fit.
        is_cut: whether the end of the text is missing.
    """

    text: str
    chunks_used: int
    truncated: bool
    citations: Sequence[Citation] = ()
    is_cut: bool = False


async def unchanged(
    session: Session, opened: OpenNamespace, now: datetime, *, for_update: bool = False
) -> tuple[NamespaceRow, datetime]:
    """Check that an opened namespace and its texts still exist with the same rules.

    With `for_update`, the namespace stays locked until the transaction ends. Returns the namespace,
    and the earliest expiry of its texts.

    Raises:
        Aborted: the namespace was deleted or has changed.
    """
    row = await repository.find_namespace(session, opened.name, now, for_update=for_update)
    count, expire_time = await store.count_there(session, _texts(opened, now))
    is_same = row is not None and inherited(row) == inherited(opened.row)
    if row is None or expire_time is None or not is_same or count != len(opened.sources):
        raise changed(opened.name)
    return row, expire_time


def _texts(opened: OpenNamespace, now: datetime) -> Texts:
    return Texts(opened.name, [artifact.content_id for artifact in opened.sources], now)


@asynccontextmanager
async def reading(
    resources: Resources, opened: OpenNamespace
) -> AsyncIterator[tuple[Session, Texts]]:
    """Open a snapshot of the readable texts, or raise Aborted if the namespace has changed."""
    now = resources.clock.now()
    async with resources.db.snapshot() as session:
        await unchanged(session, opened, now)
        yield session, _texts(opened, now)


def changed(name: NamespaceName) -> Aborted:
    """Return the error for a namespace that changed while it was read."""
    message = f"namespaces/{name.namespace} was changed while it was read; send the request again."
    return Aborted(message, Reason.CONCURRENT_CHANGE)


def inherited(row: NamespaceRow) -> list[Any]:
    """Return the settings that results inherit from a namespace, as JSON."""
    models = row.allowed_models
    return [
        row.user_id,
        row.sensitive,
        row.local_only,
        None if models is None else sorted(models),
        row.embedding_model,
        # Absent unless set, so that results without it keep the digests of earlier releases.
        *([] if row.readers is None else [sorted(row.readers)]),
    ]


async def list_unread(
    session: Session, name: NamespaceName, rows: Sequence[Unreadable], *, is_for_images: bool
) -> list[ExplainedArtifact]:
    """Return artifacts that are not read, with reasons; those with failed indexing come first."""
    ids = [row.content_id for row in rows]
    failed = await failures(session, name.memory.engine.engine, ids)
    unread = [ExplainedArtifact(row, failed.get(row.content_id), is_for_images) for row in rows]
    return sorted(unread, key=lambda row: row.failure is None)


MAX_DEPTH = 3
"""Maximum number of derivations between a tool's output and a result."""
MAX_WAIT_SECONDS = 60.0
POLL_SECONDS, LONGEST_POLL_SECONDS, _LONGER = 0.2, 2.0, 1.5
"""Exponential backoff: first pause, longest pause, and growth factor."""


async def open_namespace(
    resources: Resources,
    name: NamespaceName,
    method: Reader,
    request: ReadFields,
    caller: Caller,
    is_given_up: GivenUp,
) -> OpenNamespace:
    """Return the texts that a request may read; wait for indexing if the request asks to.

    Raises:
        Aborted: a text is still being indexed, or the result would have too many derivations.
        Cancelled: the client no longer waits.
        InvalidArgument: no artifact in the namespace can be read, or not all that are named.
        PermissionDenied: the caller may not have the result in the prompt, or the model may not
            read the content.
    """
    deadline = _time() + MAX_WAIT_SECONDS
    while True:
        opened, indexing = await _read_namespace(resources, name, method, request, caller)
        if not indexing:
            return _checked(opened, request)
        if not await _give_up_stuck(resources, opened.name, indexing):
            if not request.wait:
                raise await not_ready(resources, opened.name, indexing)
            await _wait_until_indexed(resources, opened.name, indexing, is_given_up, deadline)
        if _time() >= deadline:
            raise await not_ready(resources, opened.name, indexing)


async def _wait_until_indexed(
    resources: Resources,
    name: NamespaceName,
    indexing: Sequence[str],
    is_given_up: GivenUp,
    deadline: float,
) -> None:
    """Wait until no worker is indexing any of the contents, or until the deadline.

    Many requests may wait for a long time, so each polls with one query and exponential backoff.
    """
    pause = POLL_SECONDS
    while (left := deadline - _time()) > 0:
        await check_awaited(is_given_up)
        await asyncio.sleep(min(pause, left))
        async with resources.db.snapshot() as session:
            ended = await list_given_up(session, name.memory.engine.engine, indexing)
        if len(ended) == len(indexing):
            return
        pause = min(pause * _LONGER, LONGEST_POLL_SECONDS)


def _time() -> float:
    return asyncio.get_running_loop().time()


async def not_ready(resources: Resources, name: NamespaceName, indexing: Sequence[str]) -> Aborted:
    """Return the error for texts of a namespace that are still being indexed."""
    async with resources.db.snapshot() as session:
        failed = await failures(session, name.memory.engine.engine, indexing)
    message = f"namespaces/{name.namespace} has texts that are still being indexed; try again."
    if failed:
        message += f" The last attempt failed: {next(iter(failed.values()))}"
    return Aborted(message, Reason.NOT_READY, retry_after_seconds=1)


async def _give_up_stuck(
    resources: Resources, name: NamespaceName, indexing: Sequence[str]
) -> bool:
    memory = name.memory
    async with resources.db.snapshot() as session:
        stuck = await list_given_up(session, memory.engine.engine, indexing)
    for content_id in stuck:
        place = ContentPlace(memory.engine.engine, memory.memory, name.namespace, content_id)
        async with resources.db.transaction() as session:
            await give_up(session, place)
    return bool(stuck)


async def _read_namespace(
    resources: Resources, name: NamespaceName, method: Reader, request: ReadFields, caller: Caller
) -> tuple[OpenNamespace, Sequence[str]]:
    now = resources.clock.now()
    async with resources.db.snapshot() as session:
        engine = name_of(await engines.get(session, name.memory.engine))
        row = await repository.get_namespace(session, name, now)
        check_reader(row.readers, method)
        only = request.artifacts
        unreadable, indexing = await store.measure(session, name, now, only)
        artifacts = await store.list_readable(session, name, now, only)
        rows = []
        if unreadable:
            rows = await store.list_unreadable(session, name, now, only, _EXPLAINED)
        may_show = not row.sensitive or caller.may(Permission.ARTIFACTS_CONTENT)
        if not request.off_prompt and not may_show:
            raise PermissionDenied(
                "offPrompt: must be true: the namespace is sensitive, and inline results need"
                " artifacts.content.",
                Reason.INLINE_DENIED,
                metadata={"permission": Permission.ARTIFACTS_CONTENT.value},
            )
        images = [one for one in rows if one.is_image]
        allowed, readers = Allowed(row.local_only, row.allowed_models), resources.readers.by_name
        is_of_images = bool(images) and not artifacts
        reader = choose(
            request.model, readers, allowed, is_sensitive=row.sensitive, is_of_images=is_of_images
        )
        most = 0 if reader is None or method is Reader.EXTRACT else reader.max_images
        taken = images_taken([image.size for image in images], most)
        rest = [*images[taken:], *rows[len(images) :]]
        unread = await list_unread(session, name, rest, is_for_images=most > 0) if rest else ()
    full = NamespaceName(TaskMemoryName(engine, name.memory.memory), name.namespace)
    left, images = unreadable - taken, images[:taken][::-1]
    opened = OpenNamespace(full, row, reader, artifacts, left, unread, may_show, images)
    return opened, indexing


def _checked(opened: OpenNamespace, request: ReadFields) -> OpenNamespace:
    if request.artifacts is not None and len(opened.sources) < len({*request.artifacts}):
        raise InvalidArgument.of_field(
            "artifacts", "must be names of artifacts in this namespace that the model can read."
        )
    if not opened.sources:
        raise _unreadable(opened)
    if request.off_prompt and opened.depth > MAX_DEPTH:
        raise Aborted(
            f"offPrompt: must be false: the content was already derived {MAX_DEPTH} times, the most"
            " that is stored.",
            Reason.DERIVATION_TOO_DEEP,
            metadata={"maxDepth": str(MAX_DEPTH)},
        )
    return opened


def _unreadable(opened: OpenNamespace) -> InvalidArgument:
    message = f"namespaces/{opened.name.namespace} has no readable text."
    if opened.may_show and opened.unread:
        first = opened.unread[0]
        failed = "" if first.failure is None else " The indexing of an artifact failed:"
        message += f"{failed} {first.reason}"
    metadata = {"artifacts": str(opened.unreadable)}
    return InvalidArgument(message, Reason.NO_READABLE_ARTIFACTS, metadata=metadata)


def choose(
    asked: str | None,
    readers: Mapping[str, ReaderHandle],
    allowed: Allowed,
    *,
    is_sensitive: bool = False,
    is_of_images: bool = False,
) -> ReaderHandle | None:
    """Return the requested reader, or the first permitted one; None means the built-in reader.

    Sensitive content goes to a remote reader only if the request names it, or if no local reader is
    permitted. Content `is_of_images` if only a reader that takes images can read it.

    Raises:
        PermissionDenied: the requested reader is unknown or not permitted, or none is permitted.
    """
    may = [
        name for name, reader in readers.items() if allowed.takes(name, is_local=reader.is_local)
    ]
    if allowed.takes(BUILTIN, is_local=True):
        may.append(BUILTIN)
    wanted = BUILTIN if asked in BUILTIN_NAMES else asked
    if wanted is None and may:
        local = [name for name in may if name == BUILTIN or readers[name].is_local]
        first = local if is_sensitive and local else may
        takers = [name for name in first if name != BUILTIN and readers[name].max_images]
        wanted = (takers if is_of_images and takers else first)[0]
    if wanted not in may:
        raise _not_allowed(may)
    return None if wanted == BUILTIN else readers[wanted]


def _not_allowed(may: Sequence[str]) -> PermissionDenied:
    listed = f"only {', '.join(may)}" if may else "no model of the settings"
    return PermissionDenied(
        f"model: {listed} may read this namespace.",
        Reason.MODEL_NOT_ALLOWED,
        metadata={"allowedModels": ",".join(may)},
    )


@dataclass
class Asking:
    """Model calls of one reader for one request. No transaction may be open during a call."""

    resources: Resources
    opened: OpenNamespace
    reader: ReaderHandle
    is_given_up: GivenUp
    meter: Meter = field(default_factory=Meter)

    async def ask(self, asked: ReaderQuery, output: type[OutputT]) -> OutputT:
        """Return the model's reply; record its usage even if the call fails.

        Concurrent requests with the same prompt for the same namespace share one call. This reveals
        no content, since each caller may read the texts in the prompt. The usage is counted once.

        Raises:
            Aborted: the namespace has changed since it was opened, and may no longer be read.
            Cancelled: the client no longer waits.
            ResourceExhausted: the engine's token budget for today is used up.
            ServiceError: the model fails; see `TextModel.ask`.
        """
        flights: SingleFlight[OutputT] = self.resources.kept.setdefault(_Asked, SingleFlight())
        return await flights.result(
            _key(self.opened, self.reader, asked, output), lambda: self._ask(asked, output)
        )

    async def _ask(self, asked: ReaderQuery, output: type[OutputT]) -> OutputT:
        await check_awaited(self.is_given_up)
        resources, engine = self.resources, self.opened.name.memory.engine
        images = self.opened.images if asked.image_tokens else ()
        kinds = [image.sniffed_type or BYTES for image in images]
        async with reading(resources, self.opened) as (session, texts):
            await UsageService.of(resources).check_budget(session, engine.engine)
            contents = [await read_whole(session, texts.name, one.content_id) for one in images]
        files = tuple(map(Attachment, kinds, contents))
        spent = Meter()
        async with recorded(resources, engine, spent, QUERY):
            prompt = Prompt(asked.instructions, asked.text, files)
            answer = await self.reader.model.ask(prompt, output, spent)
        for model, used in spent.by_model.items():
            self.meter.add(model, used)
        return answer


class _Asked:
    """Key for the readers' calls under way in this process."""


def _key(
    opened: OpenNamespace, reader: ReaderHandle, asked: ReaderQuery, output: type[object]
) -> bytes:
    by = (str(opened.name), reader.name, reader.model.model_id, output.__name__)
    images = [image.content_id for image in opened.images]
    whole = repr((*by, asked.instructions, asked.text, images))
    return blake2b(whole.encode("utf-8", "backslashreplace"), digest_size=16).digest()


async def check_awaited(is_given_up: GivenUp) -> None:
    """Raise Cancelled if the client no longer waits for the response."""
    if await is_given_up():
        raise Cancelled("The request was given up.", Reason.REQUEST_ABANDONED)


def usage_of(meter: Meter, *, may_show: bool) -> ReaderUsage:
    """Return the usage of a request's calls, empty if the caller may not see the result."""
    if not may_show:
        # Even their number tells of the content: an extraction calls no more once it is full.
        return ReaderUsage()
    total = meter.total
    return ReaderUsage(
        calls=total.calls,
        input_token_count=total.input_tokens,
        output_token_count=total.output_tokens,
    )
