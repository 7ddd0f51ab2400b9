"""Finds again what was said in a session: passages word for word, or an answer made of them.

The events are read in pages, each in a transaction of its own, and weighed beside the event loop;
what was erased or cleared is not among them. No transaction is open while a model is asked.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from app.contexts.schemas import SeqRange
from app.core.failures import describe
from app.core.names import EventName, SessionName
from app.engines import repository as engines
from app.engines.repository import Lock
from app.engines.schemas import name_of
from app.llm.named import check_model
from app.llm.ports import Meter, TextModel
from app.recall.passages import Found, Reader, Terms
from app.recall.retelling import Asked, Retold, by_model, by_passages
from app.recall.schemas import (
    RecalledSpan,
    RecallMode,
    RecallRequest,
    RecallResponse,
)
from app.recall.spans import Span, choose
from app.resources import Resources
from app.sessions import repository as sessions
from app.strategies.counters import Counter, counter_of
from app.strategies.policies import BUILTIN, CHARS4
from app.summaries.extractive import MODEL_ID
from app.usage import costs
from app.usage import repository as usage
from app.usage.service import UsageService

log = structlog.get_logger()

MAX_EVENTS = 20_000
"""The most events that are searched, the newest; also the bytes of all together."""
MAX_BYTES = 32 * 1024 * 1024
_PAGE = 200
_MAX_NOTE_SECONDS = 5
"""What a stopped request may take to record its costs: who stops it waits for that."""
_SCORE_DIGITS = 4


@dataclass(frozen=True)
class _Session:
    """The session that is searched, and its events to search: first and last number."""

    name: SessionName
    first: int
    last: int


@dataclass
class _Read:
    """What was read of a session; `first`: the oldest event that was."""

    reader: Reader
    first: int
    events: int = 0
    size_bytes: int = 0

    @property
    def is_full(self) -> bool:
        return self.events >= MAX_EVENTS or self.size_bytes >= MAX_BYTES


@dataclass(frozen=True)
class RecallService:
    """Searches one session by the words of a query."""

    resources: Resources

    async def recall(self, name: SessionName, request: RecallRequest) -> RecallResponse:
        """Return what a session has on a query.

        Raises:
            InvalidArgument: there is no such model or counter.
            NotFound: there is no such session.
            ResourceExhausted: the engine has used up its tokens of today.
            Internal: the model's answer rests on nothing that it was shown.
        """
        resources = self.resources
        counter = counter_of(request.counter or CHARS4, resources.settings, "counter")
        if request.model is not None:
            check_model(request.model, resources.models, "model")
        session = await self._session(name, request.exclude_recent)
        found, searched = await self._found(session, request.query)
        if request.mode is RecallMode.EXTRACTIVE:
            return await _extracted(session, request, counter, found, searched)
        asked = Asked(request.query, found, request.top_k, request.max_tokens, counter)
        return await self._retold(session, request, asked, searched)

    async def _session(self, name: SessionName, exclude_recent: int) -> _Session:
        async with self.resources.db.snapshot() as session:
            engine = await engines.get(session, name.engine)
            row = await sessions.get(session, name, self.resources.clock.now())
            full = SessionName(name_of(engine), row.session_id)
            return _Session(full, row.cleared_seq + 1, row.last_seq - exclude_recent)

    async def _found(self, wanted: _Session, query: str) -> tuple[list[Found], SeqRange | None]:
        """Return the sentences that may answer, best first, and the events that were searched."""
        terms = Terms(query)
        if not len(terms):
            return [], None
        read = _Read(Reader(terms), wanted.last + 1)
        while read.first > wanted.first and not read.is_full:
            async with self.resources.db.snapshot() as session:
                between = (wanted.first, read.first - 1)
                page = await sessions.list_said(session, wanted.name, between, _PAGE, newest=True)
            if not page:
                read.first = wanted.first
                break
            await asyncio.to_thread(read.reader.add, page)
            read.first = page[0].seq
            read.events += len(page)
            read.size_bytes += sum(one.size_bytes for one in page)
        if read.first > wanted.last:
            return [], None
        found = await asyncio.to_thread(read.reader.best)
        return found, SeqRange(first_seq=read.first, last_seq=wanted.last)

    async def _retold(
        self, session: _Session, request: RecallRequest, asked: Asked, searched: SeqRange | None
    ) -> RecallResponse:
        told: dict[str, Any] = {}
        retold = Retold("", ())
        if asked.found:
            model = (
                None if request.model == BUILTIN else self.resources.models.choose(request.model)
            )
            told["model"] = MODEL_ID if model is None else model.model_id
            if model is None:
                retold = await asyncio.to_thread(by_passages, asked)
            else:
                retold, meter = await self._asked(session, model, asked)
                told["usage"] = costs.details(meter, self.resources.settings)
        return RecallResponse(
            mode=request.mode,
            spans=[],
            text=retold.text,
            seqs=list(retold.seqs),
            is_cut=retold.is_cut,
            tokens=asked.counter.count(retold.text),
            counter=asked.counter.name,
            searched=searched,
            **told,
        )

    async def _asked(
        self, session: _Session, model: TextModel, asked: Asked
    ) -> tuple[Retold, Meter]:
        """Ask the model, and record what that has cost, whatever becomes of it."""
        resources, engine = self.resources, session.name.engine
        async with resources.db.snapshot() as read:
            now = resources.clock.now()
            await UsageService.of(resources).check_budget(read, engine.engine, now)
        recording = _Recording(resources, session.name, Meter())
        try:
            retold = await by_model(model, asked, recording.meter)
        except BaseException:
            await recording.in_time()
            raise
        await recording.now()
        return retold, recording.meter


@dataclass(frozen=True)
class _Recording:
    """Records what a model has taken for an answer."""

    resources: Resources
    name: SessionName
    meter: Meter = field(default_factory=Meter)

    async def now(self) -> None:
        resources = self.resources
        async with resources.db.transaction() as session:
            engine = await engines.get(session, self.name.engine, Lock.SHARED)
            prices = resources.settings.model_prices
            now = resources.clock.now()
            await usage.record(session, engine.engine_id, now, self.meter, prices)

    async def in_time(self) -> None:
        """Record in a task of its own, which no second cancellation breaks off."""
        noting = asyncio.create_task(self._noted())
        _, late = await asyncio.wait([noting], timeout=_MAX_NOTE_SECONDS)
        for task in late:
            task.cancel()

    async def _noted(self) -> None:
        try:
            await self.now()
        except Exception as error:  # noqa: BLE001 - what made the call fail is what has to be told
            log.warning("recall.costs_not_recorded", error=describe(error))


async def _extracted(
    session: _Session,
    request: RecallRequest,
    counter: Counter,
    found: Sequence[Found],
    searched: SeqRange | None,
) -> RecallResponse:
    chosen = await asyncio.to_thread(
        choose, found, request.top_k, request.max_tokens, counter.count
    )
    spans = [_span(session.name, one, counter) for one in chosen]
    return RecallResponse(
        mode=request.mode,
        spans=spans,
        tokens=sum(one.tokens for one in spans),
        counter=counter.name,
        searched=searched,
    )


def _span(name: SessionName, span: Span, counter: Counter) -> RecalledSpan:
    return RecalledSpan(
        event=str(EventName(name, span.said.event_id)),
        seq=span.said.seq,
        speaker=span.said.speaker.value,
        start_offset=span.start,
        end_offset=span.end,
        text=span.text,
        tokens=counter.count(span.text),
        score=round(span.score, _SCORE_DIGITS),
    )
