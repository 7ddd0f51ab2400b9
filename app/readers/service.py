"""Use cases of readers: questions and summaries of what task memory keeps off prompts.

No transaction is open while a model is asked. What a model takes is recorded call by call.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.auth import Caller
from app.core.names import NamespaceName
from app.core.once import Once
from app.engines import repository as engines
from app.engines.repository import Lock
from app.llm.ports import Meter
from app.operations import repeats
from app.readers import queries, summaries
from app.readers.asking import Asking, usage_of
from app.readers.extractive import MODEL_ID
from app.readers.keeping import Keeping, Kept, Wish
from app.readers.opening import Opened, open_namespace
from app.readers.prompts import Summarising
from app.readers.queries import Answer
from app.readers.schemas import (
    Coverage,
    QueryNamespaceRequest,
    QueryNamespaceResponse,
    Reading,
    SummarizeNamespaceRequest,
    SummarizeNamespaceResponse,
)
from app.readers.summaries import Calls, GivenUp, Summary
from app.resources import Resources
from app.tasks.kinds import Reader as Method
from app.tasks.service import TaskService


@dataclass(frozen=True)
class Request:
    """Who asks for what to be read, and how often; `once`: the request's id, if it has one."""

    name: NamespaceName
    caller: Caller
    once: Once | None
    is_given_up: GivenUp


@dataclass(frozen=True)
class ReaderService:
    """Reads namespaces."""

    resources: Resources

    async def query(self, asked: Request, body: QueryNamespaceRequest) -> QueryNamespaceResponse:
        """Answer a question.

        Raises:
            Aborted, InvalidArgument, NotFound, PermissionDenied: as `open_namespace`.
            AlreadyExists: the request's id was used with another request.
            ServiceError: the model fails, as `Asking.ask`.
        """
        opened = await self._open(asked, body)
        parts = {"query": body.query, "topK": body.top_k, "answerTokens": body.answer_tokens}
        wish = _wish(opened, Method.QUERY, "answer", parts)
        if kept := await self._kept_before(opened, wish, body):
            return QueryNamespaceResponse(
                **_told(opened, Meter(), opened.coverage(0, truncated=False), kept),
                reused=True,
                citations=[],
            )
        meter = Meter()
        answer = await self._answer(opened, body, meter)
        new = await self._keep(opened, wish, body, answer.text)
        coverage = opened.coverage(answer.packed.chunks_used, truncated=answer.packed.truncated)
        return QueryNamespaceResponse(
            **_told(opened, meter, coverage, new),
            answer=None if new else answer.text,
            citations=list(answer.citations),
        )

    async def summarize(
        self, asked: Request, body: SummarizeNamespaceRequest
    ) -> SummarizeNamespaceResponse:
        """Summarise all of a namespace.

        Raises:
            Cancelled: nobody waits any more; the model is not called again.
            ServiceError: as `query`.
        """
        opened = await self._open(asked, body)
        parts = {
            "instructions": body.instructions,
            "template": body.template,
            "maxTokens": body.max_tokens,
        }
        wish = _wish(opened, Method.SUMMARIZE, "summary", parts)
        if kept := await self._kept_before(opened, wish, body):
            return SummarizeNamespaceResponse(
                **_told(opened, Meter(), opened.coverage(0, truncated=False), kept), reused=True
            )
        meter = Meter()
        made = await self._summary(opened, body, meter, asked.is_given_up)
        new = await self._keep(opened, wish, body, made.text)
        coverage = opened.coverage(made.chunks_used, truncated=made.chunks_used < opened.chunks)
        return SummarizeNamespaceResponse(
            **_told(opened, meter, coverage, new),
            summary=None if new else made.text,
            cut=made.is_cut or None,
        )

    @property
    def _keeping(self) -> Keeping:
        return Keeping(TaskService.of(self.resources))

    async def _open(self, asked: Request, body: Reading) -> Opened:
        if body.off_prompt:
            self._keeping.check()
        opened = await open_namespace(self.resources, asked.name, body, asked.caller)
        if asked.once is not None:
            async with self.resources.db.transaction() as session:
                engine = await engines.get(session, asked.name.memory.engine, Lock.SHARED)
                now = self.resources.clock.now()
                await repeats.bind(session, engine.engine_id, asked.once, now)
        return opened

    async def _kept_before(self, opened: Opened, wish: Wish, body: Reading) -> Kept | None:
        return await self._keeping.find(opened, wish) if body.off_prompt else None

    async def _keep(self, opened: Opened, wish: Wish, body: Reading, text: str) -> Kept | None:
        return await self._keeping.keep(opened, wish, text) if body.off_prompt else None

    async def _answer(self, opened: Opened, body: QueryNamespaceRequest, meter: Meter) -> Answer:
        pieces = await queries.find_pieces(self.resources.db, opened, body.query, body.top_k)
        if opened.reader is None:
            return await queries.by_sentences(pieces, body)
        asking = Asking(self.resources, opened.name.memory.engine, opened.reader, meter)
        return await queries.by_model(asking, pieces, body)

    async def _summary(
        self,
        opened: Opened,
        body: SummarizeNamespaceRequest,
        meter: Meter,
        is_given_up: GivenUp,
    ) -> Summary:
        wanted = Summarising(body.max_tokens, body.instructions, body.template)
        db = self.resources.db
        if opened.reader is None:
            return await summaries.by_sentences(db, opened, wanted)
        asking = Asking(self.resources, opened.name.memory.engine, opened.reader, meter)
        most = self.resources.settings.task_max_summary_calls
        return await summaries.by_model(db, Calls(asking, most, is_given_up), opened, wanted)


def _wish(opened: Opened, method: Method, name: str, parts: Mapping[str, Any]) -> Wish:
    reader = opened.reader
    by = [MODEL_ID] if reader is None else [reader.name, reader.model.model_id]
    contents = [one.content_id for one in opened.artifacts]
    return Wish(method.value, name, Once.hash_of([method.value, by, contents, dict(parts)]))


def _told(opened: Opened, meter: Meter, coverage: Coverage, kept: Kept | None) -> dict[str, Any]:
    """Return the fields that each answer of a reader has."""
    return {
        "model": MODEL_ID if opened.reader is None else opened.reader.name,
        "coverage": coverage,
        "usage": usage_of(meter),
        "reference": kept and kept.reference,
        "prompt_text": kept and kept.prompt_text,
    }
