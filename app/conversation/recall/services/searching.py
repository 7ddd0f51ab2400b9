"""Search for passages in the sessions of a user.

Sessions are listed and events are read in batches, each in its own transaction, and scored in a
thread. Cleared events, erased events and expired sessions are skipped.
"""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from app.adapters.db.bulk import all_of
from app.adapters.db.filters import Clause
from app.adapters.resources import Resources
from app.conversation.recall.logic import (
    MAX_SENTENCES,
    PassageReader,
    RecallHit,
    SessionPlace,
    SessionStretch,
    SessionWalk,
)
from app.conversation.recall.schemas import SearchedSessions
from app.kernel.names import EngineName
from app.language.terms import Terms
from app.platform.operations.services.operations import GivenUp
from app.platform.sessions.logic.event_text import EventText
from app.platform.sessions.store import event_texts
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.event_texts import MAX_SAID_BYTES
from app.platform.sessions.store.tables import SessionRow

_MAX_CHARS_AT_ONCE = 100_000
"""Characters searched between two checks of the clock; this takes a fraction of a second."""
USER_KEY = "user_id"
"""Key that identifies the user in scopes and in access conditions."""
MAX_EVENTS = 40_000
"""Maximum number of events that one call searches; MAX_BYTES limits their total size."""
MAX_BYTES = 8 * 1024 * 1024
MAX_SECONDS = 3.0
"""Time after which no further events are searched."""
PAGE = 500
"""Maximum number of events read at a time."""
LISTED = 200
"""Maximum number of sessions listed at a time."""


@dataclass(frozen=True)
class ReadingBounds:
    """Limits of one search; the search ends when it reaches any of them.

    Attributes:
        size_bytes: stored size of the events, without their files.
        sentences: number of candidate sentences, since each takes some memory.
    """

    events: int
    size_bytes: int
    sentences: int
    seconds: float


class PassageReading:
    """Progress of a search, whose time starts with the construction.

    Attributes:
        last_read: session id and number of the last event read, which is the oldest of its page.
        has_left: whether the client no longer waits.
    """

    def __init__(self, reader: PassageReader, bounds: ReadingBounds, is_given_up: GivenUp) -> None:
        self.reader = reader
        self.last_read = ("", 0)
        self.sessions: set[str] = set()
        self.oldest_time: datetime | None = None
        self.has_left = False
        self.events = 0
        self._size_bytes = 0
        self._bounds = bounds
        self._deadline = asyncio.get_running_loop().time() + bounds.seconds
        self._is_given_up = is_given_up

    async def add(self, pages: Sequence[Sequence[EventText]]) -> None:
        """Read pages, each of one session in ascending order, newest event first, up to a limit."""
        for some in _in_turn(pages):
            await asyncio.to_thread(self._add_all, some)
            for page in some:
                self._note(page)
            self.has_left = await self._is_given_up()
            if self.is_full:
                break

    def _add_all(self, pages: Sequence[Sequence[EventText]]) -> None:
        for page in pages:
            self.reader.add(page)

    def _note(self, page: Sequence[EventText]) -> None:
        self.last_read = (page[0].session_id, page[0].seq)
        self.sessions.add(page[0].session_id)
        oldest = min(event.timestamp for event in page)
        self.oldest_time = min(oldest, self.oldest_time or oldest)
        self.events += len(page)
        self._size_bytes += sum(event.size_bytes for event in page)

    @property
    def is_full(self) -> bool:
        """True if no further events may be read; at least one batch is always read."""
        bounds = self._bounds
        is_long = self.events >= bounds.events or self._size_bytes >= bounds.size_bytes
        is_many = self.reader.sentences >= bounds.sentences
        return self.events > 0 and (is_long or is_many or self.is_late or self.has_left)

    @property
    def is_late(self) -> bool:
        """True if the time limit has passed."""
        return asyncio.get_running_loop().time() >= self._deadline


def _in_turn(pages: Sequence[Sequence[EventText]]) -> Iterator[Sequence[Sequence[EventText]]]:
    batch: list[Sequence[EventText]] = []
    chars = 0
    for page in pages:
        end = len(page)
        for place in range(len(page) - 1, -1, -1):
            length = len(page[place].text)
            if chars and chars + length > _MAX_CHARS_AT_ONCE:
                yield [*batch, page[place + 1 : end]] if place + 1 < end else batch
                batch, chars, end = [], 0, place + 1
            chars += length
        batch.append(page[:end])
    yield batch


@dataclass(frozen=True)
class SessionsQuery:
    """A search in the sessions of a user, except the `excluded` ones.

    Attributes:
        start, end: range of event times, without its end.
        place: position at which an earlier call stopped.
    """

    engine: EngineName
    user_id: str
    query: str
    clause: Clause
    excluded: Collection[str] = ()
    start: datetime | None = None
    end: datetime | None = None
    place: SessionPlace | None = None


@dataclass(frozen=True)
class FoundInSessions:
    """Matches of a search, best first, and the place where it stopped, if not at the end."""

    hits: Sequence[RecallHit]
    searched: SearchedSessions
    place: SessionPlace | None = None


class SessionsSearch:
    """One search in the sessions of a user that the resources' caller reaches."""

    def __init__(self, resources: Resources, wanted: SessionsQuery, is_given_up: GivenUp) -> None:
        self._resources = resources
        self._wanted = wanted
        self._walk = SessionWalk(end=wanted.place)
        self._terms = Terms(wanted.query)
        bounds = ReadingBounds(MAX_EVENTS, MAX_BYTES, MAX_SENTENCES, MAX_SECONDS)
        self._read = PassageReading(PassageReader(self._terms), bounds, is_given_up)

    async def run(self) -> FoundInSessions:
        """Search until a limit is reached; return no matches if the client has stopped waiting."""
        is_reached = self._resources.db.reaches({"user_id": self._wanted.user_id})
        if not len(self._terms) or not is_reached:
            nothing = SearchedSessions(sessions=0, events=0, is_complete=True)
            return FoundInSessions([], nothing)
        while not self._walk.is_over:
            if self._walk.needs_more:
                await self._list()
            await self._read_some()
            if self._read.is_full or self._read.is_late:
                break
        hits = [] if self._read.has_left else await asyncio.to_thread(self._read.reader.best)
        searched = SearchedSessions(
            sessions=len(self._read.sessions),
            events=self._read.events,
            oldest_event_time=self._read.oldest_time,
            is_complete=self._walk.is_over,
        )
        return FoundInSessions(hits, searched, self._walk.place)

    async def _list(self) -> None:
        wanted, end = self._wanted, self._walk.end
        clause = wanted.clause.condition & sessions.is_unexpired(self._resources.clock.now())
        if wanted.excluded:
            clause &= SessionRow.session_id != all_of(wanted.excluded)
        since = None if end is None else (end.create_time, end.session_id)
        seconds = wanted.clause.seconds
        async with self._resources.db.snapshot(statement_seconds=seconds) as session:
            rows = await sessions.list_of_user(
                session, wanted.engine.engine, wanted.user_id, clause, since, LISTED
            )
        stretches = [
            SessionStretch(row.session_id, row.cleared_seq + 1, row.last_seq, row.create_time)
            for row in rows
        ]
        self._walk.extend(stretches, is_all=len(rows) < LISTED)

    async def _read_some(self) -> None:
        wanted, taken = self._wanted, self._walk.take(PAGE)
        if not taken:
            return
        async with self._resources.db.snapshot() as session:
            page = await event_texts.list_newest_texts(
                session, wanted.engine.engine, taken, start=wanted.start, end=wanted.end
            )
        is_cut = sum(event.stored_bytes for event in page) >= MAX_SAID_BYTES
        by_session = groupby(page, key=lambda event: event.session_id)
        await self._read.add([list(events)[::-1] for _, events in by_session])
        if self._read.is_full or is_cut:
            self._walk.put_back(taken, *self._read.last_read)
