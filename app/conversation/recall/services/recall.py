"""Search in a session: passages word for word, or an answer made from them.

Events are read in pages, each in its own transaction, and scored in a thread. Erased and cleared
events are skipped. No transaction is open during a model call.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from app.adapters.llm.named import check_model
from app.adapters.llm.ports import Meter, TextModel
from app.adapters.resources import Resources
from app.conversation.contexts.schemas import SeqRange
from app.conversation.recall.logic.passages import MAX_SENTENCES, PassageReader, RecallHit
from app.conversation.recall.logic.spans import SentenceSpan, choose
from app.conversation.recall.schemas import RecalledSpan, RecallMode, RecallRequest, RecallResponse
from app.conversation.recall.services.retelling import RecallQuery, Retold, by_model, by_passages
from app.conversation.strategies.logic.policies import BUILTIN, CHARS4
from app.conversation.strategies.services.counters import Counter, loaded
from app.conversation.summaries.logic.extractive import MODEL_ID
from app.kernel.names import EventName, SessionName
from app.language.terms import Terms
from app.platform.engines.store import repository as engines
from app.platform.engines.store.rows import name_of
from app.platform.sessions.logic.event_text import EventText
from app.platform.sessions.store import repository as sessions
from app.platform.usage.logic import costs
from app.platform.usage.logic.grouping import RECALL
from app.platform.usage.services.recording import recorded
from app.platform.usage.services.usage import UsageService

MAX_EVENTS = 20_000
"""Maximum number of events searched, newest first; MAX_BYTES limits their total size."""
MAX_BYTES = 4 * 1024 * 1024
MAX_SECONDS = 2.0
"""Time after which no further events are searched."""
GivenUp = Callable[[], Awaitable[bool]]
"""Callback that returns True if the client no longer waits for the response."""
_MAX_CHARS_AT_ONCE = 100_000
"""Text searched between two checks of the clock; takes a fraction of a second."""
_PAGE = 200
_SCORE_DIGITS = 4


@dataclass(frozen=True)
class _Session:
    """Session to search, and the first and last number of its events to search."""

    name: SessionName
    first: int
    last: int


@dataclass
class _Read:
    """Progress of a search; `first`: the oldest event read so far."""

    reader: PassageReader
    first: int
    deadline: float
    is_given_up: bool = False
    events: int = 0
    size_bytes: int = 0

    async def add(self, page: Sequence[EventText], is_given_up: GivenUp) -> None:
        """Read a page, newest event first, until the limits are reached or the client gives up."""
        for some in _in_turn(page):
            await asyncio.to_thread(self.reader.add, some)
            self.first = some[0].seq
            self.events += len(some)
            self.size_bytes += sum(event.size_bytes for event in some)
            self.is_given_up = await is_given_up()
            if self.is_full:
                break

    @property
    def is_full(self) -> bool:
        is_long = self.events >= MAX_EVENTS or self.size_bytes >= MAX_BYTES
        is_many = self.reader.sentences >= MAX_SENTENCES
        is_late = asyncio.get_running_loop().time() >= self.deadline
        return self.events > 0 and (is_long or is_many or is_late or self.is_given_up)


@dataclass(frozen=True)
class RecallService:
    """Searches of one session by the words of a query."""

    resources: Resources

    async def recall(
        self, name: SessionName, request: RecallRequest, is_given_up: GivenUp
    ) -> RecallResponse:
        """Return the matches in a session; a request that was given up gets none.

        Raises:
            InvalidArgument: the model or counter does not exist.
            NotFound: the session does not exist.
            ResourceExhausted: the engine's token budget for today is used up.
            BadGateway: the model's reply names no passage that it was shown.
        """
        resources = self.resources
        counter = await loaded(request.counter or CHARS4, resources.settings, "counter")
        if request.model is not None:
            check_model(request.model, resources.models, "model")
        session = await self._session(name, request.exclude_recent)
        matches, searched = await self._search(session, request.query, is_given_up)
        if request.mode is RecallMode.EXTRACTIVE:
            return await _extract(session, request, counter, matches, searched)
        asked = RecallQuery(request.query, matches, request.top_k, request.max_tokens, counter)
        return await self._answer(session, request, asked, searched)

    async def _session(self, name: SessionName, exclude_recent: int) -> _Session:
        async with self.resources.db.snapshot() as session:
            engine = await engines.get(session, name.engine)
            row = await sessions.get(session, name, self.resources.clock.now())
            full = SessionName(name_of(engine), row.session_id)
            return _Session(full, row.cleared_seq + 1, row.last_seq - exclude_recent)

    async def _search(
        self, wanted: _Session, query: str, is_given_up: GivenUp
    ) -> tuple[list[RecallHit], SeqRange | None]:
        """Return the best matching sentences, best first, and the range of events searched."""
        terms = Terms(query)
        if not len(terms):
            return [], None
        deadline = asyncio.get_running_loop().time() + MAX_SECONDS
        read = _Read(PassageReader(terms), wanted.last + 1, deadline)
        while read.first > wanted.first and not read.is_full:
            async with self.resources.db.snapshot() as session:
                between = (wanted.first, read.first - 1)
                page = await sessions.list_event_texts(
                    session, wanted.name, between, _PAGE, newest=True
                )
            if not page:
                read.first = wanted.first
                break
            await read.add(page, is_given_up)
        if read.first > wanted.last or read.is_given_up:
            return [], None
        matches = await asyncio.to_thread(read.reader.best)
        return matches, SeqRange(first_seq=read.first, last_seq=wanted.last)

    async def _answer(
        self,
        session: _Session,
        request: RecallRequest,
        asked: RecallQuery,
        searched: SeqRange | None,
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
                retold, meter = await self._ask_model(session, model, asked)
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

    async def _ask_model(
        self, session: _Session, model: TextModel, asked: RecallQuery
    ) -> tuple[Retold, Meter]:
        """Call the model, and record its usage even if the call fails."""
        resources, engine = self.resources, session.name.engine
        async with resources.db.snapshot() as read:
            await UsageService.of(resources).check_budget(read, engine.engine)
        meter = Meter()
        async with recorded(resources, engine, meter, RECALL):
            retold = await by_model(model, asked, meter)
        return retold, meter


async def _extract(
    session: _Session,
    request: RecallRequest,
    counter: Counter,
    matches: Sequence[RecallHit],
    searched: SeqRange | None,
) -> RecallResponse:
    spans = await asyncio.to_thread(_spans, session.name, request, counter, matches)
    return RecallResponse(
        mode=request.mode,
        spans=spans,
        tokens=sum(span.tokens for span in spans),
        counter=counter.name,
        searched=searched,
    )


def _spans(
    name: SessionName, request: RecallRequest, counter: Counter, matches: Sequence[RecallHit]
) -> list[RecalledSpan]:
    chosen = choose(matches, request.top_k, request.max_tokens, counter.count)
    return [_span(name, span, counter) for span in chosen]


def _in_turn(page: Sequence[EventText]) -> Iterator[Sequence[EventText]]:
    """Yield the events of a page in short batches, or single long events, newest first."""
    end, chars = len(page), 0
    for place in range(len(page) - 1, -1, -1):
        chars += len(page[place].text)
        if chars > _MAX_CHARS_AT_ONCE and place + 1 < end:
            yield page[place + 1 : end]
            end, chars = place + 1, len(page[place].text)
    yield page[:end]


def _span(name: SessionName, span: SentenceSpan, counter: Counter) -> RecalledSpan:
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
