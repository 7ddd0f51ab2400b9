"""Reading of events for a search, within limits and in a thread."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.conversation.recall.logic.passages import PassageReader
from app.platform.operations.services.operations import GivenUp
from app.platform.sessions.logic.event_text import EventText

_MAX_CHARS_AT_ONCE = 100_000
"""Characters searched between two checks of the clock; this takes a fraction of a second."""


@dataclass(frozen=True)
class ReadingBounds:
    """Limits of one search; the search ends when it reaches any of them.

    Attributes:
        size_bytes: stored size of the events, without their files.
        sentences: number of candidate sentences, since each takes some memory.
        seconds: time after which no further events are read.
    """

    events: int
    size_bytes: int
    sentences: int
    seconds: float


class PassageReading:
    """Progress of a search.

    Args:
        reader: collector of the candidate sentences.
        bounds: the limits; the time starts with the construction.
        is_given_up: callback that is called after each batch.

    Attributes:
        last_read: session id and number of the last event read, which is the oldest of its page.
        sessions: ids of the sessions with events that were read.
        oldest_time: time of the oldest event read; None before the first.
        has_left: whether the client no longer waits.
        events: number of events read.
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
        """Read events until a limit is reached.

        Each page has events of one session in ascending order. It is read newest event first.
        """
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
    """Yield pages or parts of pages in short batches, newest first; a long event is alone."""
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
