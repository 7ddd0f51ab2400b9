"""Questions, summaries and extractions over content that task memory keeps off prompts.

Model calls run outside any transaction. Usage is recorded after each call.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from app.adapters.db.session import Session, note
from app.adapters.llm.ports import Meter
from app.adapters.resources import Resources
from app.artifacts.readers import store
from app.artifacts.readers.logic import SummaryOptions
from app.artifacts.readers.schemas import (
    ExtractNamespaceRequest,
    ExtractNamespaceResponse,
    QueryNamespaceRequest,
    QueryNamespaceResponse,
    ReadFields,
    ReadingCoverage,
    SummarizeNamespaceRequest,
    SummarizeNamespaceResponse,
)
from app.artifacts.readers.services import queries
from app.artifacts.readers.services.extraction import RowExtraction, extract, most_bytes
from app.artifacts.readers.services.extractive import MODEL_ID
from app.artifacts.readers.services.reading_session import (
    Asking,
    OpenNamespace,
    Reading,
    inherited,
    open_namespace,
    unchanged,
    usage_of,
)
from app.artifacts.tasks.logic import Reader as Method
from app.artifacts.tasks.logic import chosen_name
from app.artifacts.tasks.schemas import Reference
from app.artifacts.tasks.services.namespace_writes import NamespaceDraft
from app.artifacts.tasks.services.outputs import OutputItem
from app.artifacts.tasks.services.preparing import (
    PADDING,
    check_storable,
    embedder_of,
    kind_of,
    prepare,
)
from app.artifacts.tasks.services.storing import (
    ArtifactBatch,
    Derived,
    StoringService,
    new_namespace,
    taken,
)
from app.artifacts.tasks.services.tasks import TaskService
from app.artifacts.tasks.services.views import prompt_text
from app.artifacts.tasks.store.tables import NamespaceRow
from app.kernel.auth import Caller
from app.kernel.changes import IdempotencyKey, digest_of
from app.kernel.errors import InvalidArgument
from app.kernel.limits import Counted
from app.kernel.media_types import CSV, JSON, TEXT
from app.kernel.names import NamespaceName
from app.kernel.wire.row_schema import RowFormat
from app.language.tokens import CHARS_PER_TOKEN
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.limits.services.quotas import check_more
from app.platform.operations.services.mutation import write
from app.platform.operations.services.operations import GivenUp

_NAMES = {Method.QUERY: "answer", Method.SUMMARIZE: "summary", Method.EXTRACT: "rows"}
_MEDIA_TYPES = {RowFormat.JSON: JSON, RowFormat.CSV: CSV}
Make = Callable[[OpenNamespace, Asking | None], Awaitable[Reading]]
"""Function that makes the text; without model calls, the built-in reader makes it."""
_TOOL = "task_memory"
"""Tool name shown in prompts for a reader's result."""
_NOTHING = "Nothing was found."
"""Content stored for an empty result, which makes it readable like any other."""
_MOST_CHARACTER_BYTES = 4
"""Maximum size of a character in UTF-8, in bytes."""


@dataclass(frozen=True)
class DerivedRequest:
    """Parameters of a result to make and store.

    Attributes:
        name: name of the text in the response, and of the artifact unless another is `chosen`.
        most_bytes: maximum size of the result.
        input_hash: digest of all that determines the result, and of a chosen name.
    """

    activity: str
    name: str
    media_type: str
    most_bytes: int
    input_hash: bytes
    chosen: str | None

    @property
    def artifact(self) -> str:
        """Name of the artifact."""
        return self.chosen or self.name


@dataclass(frozen=True)
class DerivedResult:
    """Result stored off the prompt, possibly by another, equal request (`is_reused`)."""

    reference: Reference
    prompt_text: str
    is_reused: bool


@dataclass(frozen=True)
class DerivedStore:
    """Storage of readers' results, each as an artifact in its own namespace.

    A result inherits sensitivity, local-only rule, user and expiry from its sources. Results from
    sensitive content are padded with spaces to the maximum length, since the lengths of many
    results would reveal the content.
    """

    tasks: TaskService

    def check(self, media_type: str) -> None:
        """Raise InvalidArgument if this service is not configured to store such results."""
        check_storable(self.tasks.settings, kind_of(media_type), "offPrompt")

    async def check_room(self, opened: OpenNamespace) -> None:
        """Raise ResourceExhausted if the engine has no room, before paying a model for a result."""
        engine_id = opened.name.memory.engine.engine
        async with self.tasks.db.snapshot() as session:
            await check_more(session, self.tasks.settings, engine_id, Counted.ARTIFACT_BYTES)

    async def find(self, opened: OpenNamespace, wish: DerivedRequest) -> DerivedResult | None:
        """Return the stored result of an equal earlier request, or None.

        Raises:
            AlreadyExists: another result of the same namespace has the chosen name.
        """
        now = self.tasks.clock.now()
        async with self.tasks.db.snapshot() as session:
            row = await store.find_derived(session, opened.name.memory, wish.input_hash, now)
            if row is None:
                await _check_name(session, opened, wish, now)
                return None
            return await self._stored_result(session, row, wish, now, is_reused=True)

    async def keep(self, opened: OpenNamespace, wish: DerivedRequest, text: str) -> DerivedResult:
        """Store a result, or return the result that an equal request has stored meanwhile.

        Locks the source namespace, to prevent its deletion before the result is stored.

        Raises:
            Aborted: the source namespace was deleted or has changed.
            AlreadyExists: another result of the same namespace has the chosen name.
            ResourceExhausted: a quota is used up.
        """
        settings, now = self.tasks.settings, self.tasks.clock.now()
        text = text.rstrip(PADDING) or _NOTHING
        data = text.encode()
        kind, media_type = kind_of(wish.media_type), wish.media_type
        size = wish.most_bytes if opened.row.sensitive else len(data)
        prepared = await prepare(settings, data, size, kind, media_type)
        if opened.row.sensitive:
            data = data.ljust(wish.most_bytes, PADDING.encode())
            prepared = prepared.sized_as(data)
        item = OutputItem(kind, media_type, data, prepared.token_estimate, wish.artifact, 0)
        name = NamespaceName(opened.name.memory, new_namespace())
        sources = [artifact.name for artifact in opened.sources]
        derived = Derived(opened.name.namespace, sources, opened.depth, wish.input_hash)
        async with self.tasks.db.transaction() as session:
            engine = await engines.get(session, name.memory.engine, Lock.SHARED)
            source, expire_time = await unchanged(session, opened, now, for_update=True)
            row = await store.find_derived(session, name.memory, wish.input_hash, now)
            # A row exists if an equal, concurrent request stored its result first.
            is_reused = row is not None
            if row is None:
                await _check_name(session, opened, wish, now)
                beginning = self._beginning(source, wish, expire_time - now)
                batch = ArtifactBatch(name, beginning, [item], [prepared], derived)
                row = await StoringService(self.tasks).put(session, engine, batch, now)
            note(session, resource=str(NamespaceName(name.memory, row.namespace)))
            return await self._stored_result(session, row, wish, now, is_reused=is_reused)

    def _beginning(
        self, source: NamespaceRow, wish: DerivedRequest, left: timedelta
    ) -> NamespaceDraft:
        default = timedelta(seconds=self.tasks.settings.task_ttl_seconds)
        embedder = embedder_of(self.tasks.embedders, source)
        return NamespaceDraft(
            user_id=source.user_id,
            tool=_TOOL,
            activity=wish.activity,
            sensitive=source.sensitive,
            local_only=source.local_only,
            allowed_models=source.allowed_models,
            readers=source.readers,
            embedding_model=None if embedder is None else embedder.model_id,
            ttl=min(default, left),
        )

    async def _stored_result(
        self,
        session: Session,
        row: NamespaceRow,
        wish: DerivedRequest,
        now: datetime,
        *,
        is_reused: bool,
    ) -> DerivedResult:
        reference = await self.tasks.reference(session, row, now)
        # The caller may use the reference's readers, since it made this request.
        text = prompt_text(reference, _TOOL, wish.activity)
        return DerivedResult(reference, text, is_reused)


@dataclass(frozen=True)
class ReaderService:
    """One request to a reader of a namespace; `once` is the request's id, if it has one."""

    resources: Resources
    name: NamespaceName
    caller: Caller
    once: IdempotencyKey | None
    is_given_up: GivenUp

    async def query(self, body: QueryNamespaceRequest) -> QueryNamespaceResponse:
        """Answer a question.

        Raises:
            Aborted, InvalidArgument, NotFound, PermissionDenied: see `open_namespace`.
            AlreadyExists: another result of this namespace has the name that `as` chooses.
            ServiceError: see `Asking.ask`.
        """

        async def make(opened: OpenNamespace, asking: Asking | None) -> Reading:
            return await queries.answer(self._parts, opened, asking, body)

        parts = {"query": body.query, "topK": body.top_k, "answerTokens": body.answer_tokens}
        wish = _Wish(Method.QUERY, _bytes_of(body.answer_tokens), parts)
        fields, result = await self._read(body, wish, make)
        return QueryNamespaceResponse(**fields, citations=list(result.citations) if result else [])

    async def summarize(self, body: SummarizeNamespaceRequest) -> SummarizeNamespaceResponse:
        """Summarise a whole namespace; errors are as for `query`."""
        wish = SummaryOptions(body.max_tokens, body.instructions, body.template)

        async def make(opened: OpenNamespace, asking: Asking | None) -> Reading:
            return await queries.summarise(self._parts, opened, asking, wish)

        parts = {
            "instructions": body.instructions,
            "template": body.template,
            "maxTokens": body.max_tokens,
        }
        asked = _Wish(Method.SUMMARIZE, _bytes_of(body.max_tokens), parts)
        fields, result = await self._read(body, asked, make)
        return SummarizeNamespaceResponse(
            **fields, cut=(result is not None and result.is_cut) or None
        )

    async def extract(self, body: ExtractNamespaceRequest) -> ExtractNamespaceResponse:
        """Extract rows; errors are as for `query`."""
        found = await asyncio.to_thread(RowExtraction.of, body)

        async def make(opened: OpenNamespace, asking: Asking | None) -> Reading:
            return await extract(self._parts, opened, asking, found, self.is_given_up)

        parts = body.model_dump(mode="json", include={"schema_", "source", "format", "max_rows"})
        # The digest ignores the order of properties, in which the columns stand.
        parts["columns"] = found.rows.names
        media_type = _MEDIA_TYPES[body.format]
        wish = _Wish(Method.EXTRACT, most_bytes(body), parts, media_type)
        fields, result = await self._read(body, wish, make)
        text = fields.pop(_NAMES[Method.EXTRACT], None)
        rows = found.rows
        if text is not None:
            is_csv = body.format is RowFormat.CSV
            fields |= {"csv": text} if is_csv else {"rows": rows.listed}
        if result is not None:
            fields |= {
                "row_count": rows.count,
                "truncated": result.truncated,
                "rejected": rows.rejected or None,
                "rejected_count": rows.rejected_count,
            }
        return ExtractNamespaceResponse(**fields)

    async def _read(
        self, body: ReadFields, asked: "_Wish", make: Make
    ) -> tuple[dict[str, Any], Reading | None]:
        """Return the fields of a response, and what this request itself made and may show."""
        opened, meter = await self._open(body, asked), Meter()
        wish = _derived(opened, asked, body.as_)
        if kept := await self._kept_before(opened, wish, body):
            return _response_fields(opened, meter, kept), None
        reader = opened.reader
        asking = None
        if reader is not None:
            asking = Asking(self._parts, opened, reader, self.is_given_up, meter)
        result = await make(opened, asking)
        new = await self._end(opened, wish, body, result.text)
        read = opened.coverage(result.chunks_used, truncated=result.truncated)
        fields = _response_fields(opened, meter, new, read)
        fields[wish.name] = None if new else result.text
        is_its_own = opened.may_show and not (new and new.is_reused)
        return fields, result if is_its_own else None

    @property
    def _keeping(self) -> DerivedStore:
        return DerivedStore(TaskService.of(self.resources))

    @property
    def _parts(self) -> Resources:
        return replace(self.resources, db=self.resources.db.in_parts())

    async def _open(self, body: ReadFields, asked: "_Wish") -> OpenNamespace:
        if body.off_prompt:
            self._keeping.check(asked.media_type)
        elif body.as_ is not None:
            raise InvalidArgument.of_field("as", "needs offPrompt: true, which stores the result.")
        parts = self._parts
        opened = await open_namespace(
            parts, self.name, asked.method, body, self.caller, self.is_given_up
        )
        if self.once is not None:
            async with write(parts, engines.locked(opened.name.memory.engine), self.once):
                pass
        return opened

    async def _kept_before(
        self, opened: OpenNamespace, wish: DerivedRequest, body: ReadFields
    ) -> DerivedResult | None:
        if not body.off_prompt:
            return None
        kept = await self._keeping.find(opened, wish)
        if kept is None:
            await self._keeping.check_room(opened)
        else:
            await self._record_request(opened)
        return kept

    async def _end(
        self, opened: OpenNamespace, wish: DerivedRequest, body: ReadFields, text: str
    ) -> DerivedResult | None:
        if body.off_prompt:
            return await self._keeping.keep(opened, wish, text)
        await self._record_request(opened)
        return None

    async def _record_request(self, opened: OpenNamespace) -> None:
        async with self.resources.db.transaction() as session:
            await engines.get(session, opened.name.memory.engine, Lock.SHARED)
            await unchanged(session, opened, self.resources.clock.now())


@dataclass(frozen=True)
class _Wish:
    """A result to make; `parts` are the fields that determine it."""

    method: Method
    most_bytes: int
    parts: dict[str, Any]
    media_type: str = TEXT


def _bytes_of(tokens: int) -> int:
    return tokens * CHARS_PER_TOKEN * _MOST_CHARACTER_BYTES


def _derived(opened: OpenNamespace, asked: _Wish, name: str | None) -> DerivedRequest:
    method, parts = asked.method, asked.parts
    chosen = None if name is None else chosen_name(name, asked.media_type)
    if chosen is not None:
        # Only a result with the same name is reused.
        parts = {**parts, "as": chosen}
    reader = opened.reader
    by = [MODEL_ID] if reader is None else [reader.name, reader.model.model_id]
    contents = [artifact.content_id for artifact in opened.sources]
    digest = digest_of([method.value, by, contents, inherited(opened.row), parts])
    name = _NAMES[method]
    return DerivedRequest(method.value, name, asked.media_type, asked.most_bytes, digest, chosen)


async def _check_name(
    session: Session, opened: OpenNamespace, wish: DerivedRequest, now: datetime
) -> None:
    if wish.chosen and await store.has_derived(session, opened.name, wish.chosen, now):
        raise taken(wish.chosen)


def _response_fields(
    opened: OpenNamespace,
    meter: Meter,
    kept: DerivedResult | None,
    read: ReadingCoverage | None = None,
) -> dict[str, Any]:
    """Return the fields of every reader response; a reused result reports no coverage."""
    is_reused = kept is not None and kept.is_reused
    if read is None or is_reused:
        read = opened.coverage(0, truncated=False)
    return {
        "model": MODEL_ID if opened.reader is None else opened.reader.name,
        "coverage": read,
        "usage": usage_of(meter, may_show=opened.may_show),
        "reference": kept and kept.reference,
        "prompt_text": kept and kept.prompt_text,
        "reused": is_reused or None,
    }
