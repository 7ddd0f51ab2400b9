"""Questions and summaries over content that task memory keeps off prompts.

Model calls run outside any transaction. Usage is recorded after each call.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.adapters.llm.models import ReaderHandle
from app.adapters.llm.ports import Meter
from app.adapters.resources import Resources
from app.artifacts.readers.logic.prompts import SummaryOptions
from app.artifacts.readers.schemas import (
    QueryNamespaceRequest,
    QueryNamespaceResponse,
    Reading,
    ReadingCoverage,
    SummarizeNamespaceRequest,
    SummarizeNamespaceResponse,
)
from app.artifacts.readers.services import queries, summaries
from app.artifacts.readers.services.calls import Asking, usage_of
from app.artifacts.readers.services.extractive import MODEL_ID
from app.artifacts.readers.services.keeping import DerivedRequest, DerivedResult, DerivedStore
from app.artifacts.readers.services.open_namespace import (
    OpenNamespace,
    changed,
    inherited,
    unchanged,
)
from app.artifacts.readers.services.queries import Answer
from app.artifacts.readers.services.reading_session import open_namespace
from app.artifacts.readers.services.summaries import Calls, NamespaceSummary
from app.artifacts.tasks.logic.kinds import Reader as Method
from app.artifacts.tasks.services.tasks import TaskService
from app.kernel.auth import Caller
from app.kernel.idempotency import IdempotencyKey, digest_of
from app.kernel.task_names import NamespaceName
from app.platform.engines.store import repository as engines
from app.platform.engines.store.repository import Lock
from app.platform.operations.services.mutation import write
from app.platform.operations.services.operations import GivenUp


@dataclass(frozen=True)
class ReaderRequest:
    """Target and caller of a request to a reader; `once` is the request's id, if it has one."""

    name: NamespaceName
    caller: Caller
    once: IdempotencyKey | None
    is_given_up: GivenUp


@dataclass(frozen=True)
class ReaderService:
    """Use cases of readers."""

    resources: Resources

    async def query(
        self, asked: ReaderRequest, body: QueryNamespaceRequest
    ) -> QueryNamespaceResponse:
        """Answer a question.

        Raises:
            Aborted, InvalidArgument, NotFound, PermissionDenied: see `open_namespace`.
            AlreadyExists: the request id was used with another request.
            ServiceError: see `Asking.ask`.
        """
        opened = await self._open(asked, body)
        parts = {"query": body.query, "topK": body.top_k, "answerTokens": body.answer_tokens}
        wish = _wish(opened, Method.QUERY, "answer", body.answer_tokens, parts)
        meter = Meter()
        if kept := await self._kept_before(opened, wish, body):
            return QueryNamespaceResponse(**_response_fields(opened, meter, kept), citations=[])
        answer = await self._answer(asked, opened, body, meter)
        new = await self._end(opened, wish, body, answer.text)
        read = opened.coverage(answer.packed.chunks_used, truncated=answer.packed.truncated)
        is_its_own = opened.may_show and not (new and new.is_reused)
        return QueryNamespaceResponse(
            **_response_fields(opened, meter, new, read),
            answer=None if new else answer.text,
            citations=list(answer.citations) if is_its_own else [],
        )

    async def summarize(
        self, asked: ReaderRequest, body: SummarizeNamespaceRequest
    ) -> SummarizeNamespaceResponse:
        """Summarise a whole namespace.

        Raises:
            ServiceError: see `query`.
        """
        opened = await self._open(asked, body)
        parts = {
            "instructions": body.instructions,
            "template": body.template,
            "maxTokens": body.max_tokens,
        }
        wish = _wish(opened, Method.SUMMARIZE, "summary", body.max_tokens, parts)
        meter = Meter()
        if kept := await self._kept_before(opened, wish, body):
            return SummarizeNamespaceResponse(**_response_fields(opened, meter, kept))
        made = await self._summary(asked, opened, body, meter)
        new = await self._end(opened, wish, body, made.text)
        read = opened.coverage(made.chunks_used, truncated=made.chunks_used < opened.chunks)
        is_its_own = opened.may_show and not (new and new.is_reused)
        return SummarizeNamespaceResponse(
            **_response_fields(opened, meter, new, read),
            summary=None if new else made.text,
            cut=(made.is_cut and is_its_own) or None,
        )

    @property
    def _keeping(self) -> DerivedStore:
        return DerivedStore(TaskService.of(self.resources))

    @property
    def _parts(self) -> Resources:
        """Resources for all steps except the last; only the last is recorded in the audit log."""
        return replace(self.resources, db=self.resources.db.in_parts())

    async def _open(self, asked: ReaderRequest, body: Reading) -> OpenNamespace:
        if body.off_prompt:
            self._keeping.check()
        parts = self._parts
        opened = await open_namespace(parts, asked.name, body, asked.caller, asked.is_given_up)
        if asked.once is not None:
            async with write(parts, engines.locked(opened.name.memory.engine), asked.once):
                pass
        return opened

    async def _kept_before(
        self, opened: OpenNamespace, wish: DerivedRequest, body: Reading
    ) -> DerivedResult | None:
        """Return the stored result of an equal request; if there is none, check the room for it."""
        if not body.off_prompt:
            return None
        kept = await self._keeping.find(opened, wish)
        if kept is None:
            await self._keeping.check_room(opened)
        else:
            await self._record_request(opened)
        return kept

    async def _end(
        self, opened: OpenNamespace, wish: DerivedRequest, body: Reading, text: str
    ) -> DerivedResult | None:
        """Store a result if it is kept off the prompt; otherwise record the request."""
        if body.off_prompt:
            return await self._keeping.keep(opened, wish, text)
        await self._record_request(opened)
        return None

    async def _record_request(self, opened: OpenNamespace) -> None:
        """Record a request that stores no result in the audit log; check that it may be answered.

        Raises:
            Aborted: the namespace has changed since it was opened.
        """
        async with self.resources.db.transaction() as session:
            await engines.get(session, opened.name.memory.engine, Lock.SHARED)
            await unchanged(session, opened, self.resources.clock.now())

    async def _answer(
        self, asked: ReaderRequest, opened: OpenNamespace, body: QueryNamespaceRequest, meter: Meter
    ) -> Answer:
        pieces = await queries.find_pieces(self._parts, opened, body.query, body.top_k)
        if not pieces:
            raise changed(opened.name)
        if opened.reader is None:
            return await queries.by_sentences(pieces, body)
        return await queries.by_model(
            self._asking(asked, opened, opened.reader, meter), pieces, body
        )

    async def _summary(
        self,
        asked: ReaderRequest,
        opened: OpenNamespace,
        body: SummarizeNamespaceRequest,
        meter: Meter,
    ) -> NamespaceSummary:
        wanted = SummaryOptions(body.max_tokens, body.instructions, body.template)
        if opened.reader is None:
            return await summaries.by_sentences(self._parts, opened, wanted)
        asking = self._asking(asked, opened, opened.reader, meter)
        calls = Calls(asking, self.resources.settings.tuning.task_max_summary_calls)
        return await summaries.by_model(calls, wanted)

    def _asking(
        self, asked: ReaderRequest, opened: OpenNamespace, reader: ReaderHandle, meter: Meter
    ) -> Asking:
        return Asking(self._parts, opened, reader, asked.is_given_up, meter)


def _wish(
    opened: OpenNamespace, method: Method, name: str, tokens: int, parts: Mapping[str, Any]
) -> DerivedRequest:
    reader = opened.reader
    by = [MODEL_ID] if reader is None else [reader.name, reader.model.model_id]
    contents = [artifact.content_id for artifact in opened.artifacts]
    held = inherited(opened.row)
    asked = digest_of([method.value, by, contents, held, dict(parts)])
    return DerivedRequest(method.value, name, tokens, asked)


def _response_fields(
    opened: OpenNamespace,
    meter: Meter,
    kept: DerivedResult | None,
    read: ReadingCoverage | None = None,
) -> dict[str, Any]:
    """Return the fields of every reader response; `read` is the coverage, if this request read.

    The response with a reused result reports no coverage, even if this request read texts.
    """
    is_reused = kept is not None and kept.is_reused
    if read is None or is_reused:
        read = opened.coverage(0, truncated=False)
    return {
        "model": MODEL_ID if opened.reader is None else opened.reader.name,
        "coverage": read,
        "usage": usage_of(meter, with_tokens=opened.may_show),
        "reference": kept and kept.reference,
        "prompt_text": kept and kept.prompt_text,
        "reused": is_reused or None,
    }
