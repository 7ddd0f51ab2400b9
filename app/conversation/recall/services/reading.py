"""Reading of events for a search, within bounds and beside the event loop."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.conversation.recall.logic.passages import PassageReader
from app.platform.sessions.logic.event_text import EventText

GivenUp = Callable[[], Awaitable[bool]]
"""Callback that returns True if the client no longer waits for the response."""
_MAX_CHARS_AT_ONCE = 100_000
"""Text searched between two checks of the clock; takes a fraction of a second."""


@dataclass(frozen=True)
class ReadingBounds:
    """Limits of one search; the first that is reached ends it.

    Attributes:
        size_bytes: of the events as they are stored, but for files.
        sentences: candidates, each of which takes some memory.
        seconds: time after which no further events are read.
    """

    events: int
    size_bytes: int
    sentences: int
    seconds: float


class PassageReading:
    """Progress of a search.

    Args:
        reader: the collector of what is found.
        bounds: the limits, of which the time begins now.
        is_given_up: asked after each batch.

    Attributes:
        last_read: the number of the event read last, the oldest of its page.
        oldest_time: the time of the oldest event; None: none was read.
        has_left: whether the client no longer waits.
        events: their number.
    """

    def __init__(self, reader: PassageReader, bounds: ReadingBounds, is_given_up: GivenUp) -> None:
        self.reader = reader
        self.last_read = 0
        self.oldest_time: datetime | None = None
        self.has_left = False
        self.events = 0
        self._size_bytes = 0
        self._bounds = bounds
        self._deadline = asyncio.get_running_loop().time() + bounds.seconds
        self._is_given_up = is_given_up

    async def add(self, page: Sequence[EventText]) -> None:
        """Read events of a session, ascending, the newest first until a limit is reached."""
        for some in _in_turn(page):
            await asyncio.to_thread(self.reader.add, some)
            self.last_read = some[0].seq
            oldest = min(event.timestamp for event in some)
            self.oldest_time = min(oldest, self.oldest_time or oldest)
            self.events += len(some)
            self._size_bytes += sum(event.size_bytes for event in some)
            self.has_left = await self._is_given_up()
            if self.is_full:
                break

    @property
    def is_full(self) -> bool:
        """True if no further events may be read; at least one batch always may."""
        bounds = self._bounds
        is_long = self.events >= bounds.events or self._size_bytes >= bounds.size_bytes
        is_many = self.reader.sentences >= bounds.sentences
        return self.events > 0 and (is_long or is_many or self.is_late or self.has_left)

    @property
    def is_late(self) -> bool:
        """True if the time is over."""
        return asyncio.get_running_loop().time() >= self._deadline


def _in_turn(page: Sequence[EventText]) -> Iterator[Sequence[EventText]]:
    """Yield the events of a page in short batches, or single long events, newest first."""
    end, chars = len(page), 0
    for place in range(len(page) - 1, -1, -1):
        chars += len(page[place].text)
        if chars > _MAX_CHARS_AT_ONCE and place + 1 < end:
            yield page[place + 1 : end]
            end, chars = place + 1, len(page[place].text)
    yield page[:end]
