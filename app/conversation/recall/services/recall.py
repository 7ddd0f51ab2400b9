"""Search in a session for verbatim passages, or for an answer made from them.

Events are read in pages, each in its own transaction, and scored in a thread. Erased and cleared
events are skipped. Model calls run outside any transaction.
"""

import asyncio
from dataclasses import dataclass

from app.adapters.resources import Resources
from app.conversation.contexts.schemas import SeqRange
from app.conversation.recall.logic.findings import Findings
from app.conversation.recall.logic.passages import MAX_SENTENCES, PassageReader, RecallHit
from app.conversation.recall.schemas import RecallRequest, RecallResponse
from app.conversation.recall.services.reading import PassageReading, ReadingBounds
from app.conversation.recall.services.responses import check_names, recalled
from app.kernel.names import SessionName
from app.language.terms import Terms
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import name_of
from app.platform.operations.services.operations import GivenUp
from app.platform.sessions.logic.event_text import EventNumbers, EventText
from app.platform.sessions.store import event_texts
from app.platform.sessions.store import repository as sessions

MAX_EVENTS = 20_000
"""Maximum number of events searched, newest first; MAX_BYTES limits their total size."""
MAX_BYTES = 4 * 1024 * 1024
MAX_SECONDS = 2.0
"""Time after which no further events are searched."""
_PAGE = 200


@dataclass(frozen=True)
class _Session:
    """Session to search, with the numbers of the first and last event to search."""

    name: SessionName
    first: int
    last: int


async def recall(
    resources: Resources, name: SessionName, request: RecallRequest, is_given_up: GivenUp
) -> RecallResponse:
    """Return the matches in a session, or none if the client has stopped waiting.

    Raises:
        InvalidArgument: the model or counter does not exist.
        NotFound: the session does not exist.
        ResourceExhausted: the engine's token budget for today is used up.
        BadGateway: the model's reply cites none of the passages that it was given.
    """
    counter = await check_names(resources, request)
    session = await _session(resources, name, request.exclude_recent)
    hits, searched = await _search(resources, session, request.query, is_given_up)
    findings = Findings(hits, is_one_session=True)
    result = await recalled(resources, session.name.engine, request, findings, counter)
    seqs = None
    if result.sources is not None:
        events = (said for said in result.sources if isinstance(said, EventText))
        seqs = list(dict.fromkeys(said.seq for said in events))
    return RecallResponse(**result.fields, seqs=seqs, searched=searched)


async def _session(resources: Resources, name: SessionName, exclude_recent: int) -> _Session:
    async with resources.db.snapshot() as session:
        engine = await engines.get(session, name.engine)
        row = await sessions.get(session, name, resources.clock.now())
        full = SessionName(name_of(engine), row.session_id)
        return _Session(full, row.cleared_seq + 1, row.last_seq - exclude_recent)


async def _search(
    resources: Resources, wanted: _Session, query: str, is_given_up: GivenUp
) -> tuple[list[RecallHit], SeqRange | None]:
    """Return the best matching sentences, best first, and the range of events searched."""
    terms = Terms(query)
    if not len(terms):
        return [], None
    bounds = ReadingBounds(MAX_EVENTS, MAX_BYTES, MAX_SENTENCES, MAX_SECONDS)
    read = PassageReading(PassageReader(terms), bounds, is_given_up)
    before = wanted.last
    while before >= wanted.first and not read.is_full:
        async with resources.db.snapshot() as session:
            numbers = EventNumbers(wanted.first, before)
            page = await event_texts.list_event_texts(
                session, wanted.name, numbers, _PAGE, newest=True
            )
        if not page:
            before = wanted.first - 1
            break
        await read.add([page])
        before = read.last_read[1] - 1
    if before >= wanted.last or read.has_left:
        return [], None
    hits = await asyncio.to_thread(read.reader.best)
    return hits, SeqRange(first_seq=before + 1, last_seq=wanted.last)
