"""The way from an application to its bank that never holds the application up."""

from __future__ import annotations

import asyncio
import atexit
import logging
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as StillRunning
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from os import environ
from threading import Condition, Lock, Thread
from typing import Any
from weakref import WeakKeyDictionary

import httpx

from open_memory_bank._sync.client import Client
from open_memory_bank._sync.memories import Memories
from open_memory_bank._sync.transport import Transport
from open_memory_bank.errors import ApiError, Unreachable

Scope = Mapping[str, str]

_log = logging.getLogger("open_memory_bank")

_EXIT_SECONDS = 2.0
_LONGEST_PAUSE_SECONDS = 30.0
_MOST_WAITING = 1_000
_MOST_QUERY_CHARS = 2_000
_REST_SECONDS = 10.0
_VARIABLES = ("MEMORY_BANK_CLIENT_URL", "MEMORY_BANK_CLIENT_KEY")


@dataclass(frozen=True)
class Search:
    """A search for memories.

    Attributes:
        seconds: the longest time that it may take.
    """

    scope: Scope
    query: str
    top_k: int
    seconds: float


class Link:
    """A bank that may be away.

    A search runs in a thread of its own, and is given up after its time; after a failure there is
    none for ten seconds. Writes wait in a queue, which a thread empties in order while it has
    some; they are sent again until the bank answers. The log has one line for each time away.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._changed = Condition()
        self._waiting: deque[tuple[Scope, Sequence[Any]]] = deque(maxlen=_MOST_WAITING)
        self._is_writing = False
        self._failing: set[str] = set()
        self._rests_until = 0.0

    def search(self, search: Search) -> list[str]:
        """Return the facts that are found in time."""
        found = self._begun(search)
        if found is None:
            return []
        with suppress(StillRunning):
            found.result(search.seconds)
        return self._ended(found)

    async def asearch(self, search: Search) -> list[str]:
        """Return the facts that are found in time."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # another kind of loop, such as trio's
            return self.search(search)
        found = self._begun(search)
        if found is None:
            return []
        is_over = loop.create_future()

        def end() -> None:
            if not is_over.done():
                is_over.set_result(None)

        def wake(_: object) -> None:
            with suppress(RuntimeError):  # the loop has been closed meanwhile
                loop.call_soon_threadsafe(end)

        found.add_done_callback(wake)
        await asyncio.wait([is_over], timeout=search.seconds)
        return self._ended(found)

    def write(self, scope: Scope, events: Sequence[Any]) -> None:
        """Have events ingested soon; if too many wait, the oldest are dropped."""
        with self._changed:
            self._waiting.append((scope, events))
            if self._is_writing:
                return
            self._is_writing = True
        _writing.add(self)
        Thread(target=self._work, name="open-memory-bank-write", daemon=True).start()

    def wait(self, deadline: float) -> bool:
        """Return True as soon as nothing waits to be written, False at the deadline."""
        with self._changed:
            seconds = max(0.0, deadline - time.monotonic())
            return self._changed.wait_for(lambda: not self._is_writing, seconds)

    @property
    def is_failing(self) -> bool:
        """True while the bank does not answer: the last search or write failed."""
        return bool(self._failing)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Log an error of the block, and go on after it: a memory must not break a call."""
        try:
            yield
        except Exception as failure:  # noqa: BLE001 - whatever it is
            _log.warning("Open Memory Bank left something out (%s).", _label(failure))

    def failed(self, part: str, failure: BaseException | None) -> None:
        """Note that a part does not work; the first one is logged, without any text."""
        with self._changed:
            is_new = not self._failing
            self._failing.add(part)
        if is_new:
            _log.warning(
                "Open Memory Bank fails (%s, %s): models are called without memories, and what is"
                " said waits or is lost.",
                part,
                _label(failure),
            )

    def _begun(self, search: Search) -> Future[list[str] | Exception] | None:
        """Begin a search, unless there are no words, or there was a failure just now."""
        if not search.query or time.monotonic() < self._rests_until:
            return None
        found: Future[list[str] | Exception] = Future()

        def run() -> None:
            try:
                found.set_result(self._found(search))
            except Exception as failure:  # noqa: BLE001 - a memory must not break the call
                found.set_result(failure)

        Thread(target=run, name="open-memory-bank-search", daemon=True).start()
        return found

    def _found(self, search: Search) -> list[str]:
        transport = replace(self._transport, timeout=search.seconds, retries=0)
        query = search.query[-_MOST_QUERY_CHARS:]
        hits = Memories(transport).retrieve(
            scope=dict(search.scope), query=query, top_k=search.top_k
        )
        facts = (hit["memory"].get("fact") for hit in hits)
        return [fact for fact in facts if fact]

    def _ended(self, found: Future[list[str] | Exception]) -> list[str]:
        result = found.result() if found.done() else None
        if isinstance(result, list):
            self._failing.discard("search")
            return result
        self._rests_until = time.monotonic() + _REST_SECONDS
        self.failed("search", result)
        return []

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._is_writing = False
                    _writing.discard(self)
                    self._changed.notify_all()
                    return
                scope, events = self._waiting.popleft()
            self._write(scope, events)

    def _write(self, scope: Scope, events: Sequence[Any]) -> None:
        source: Any = {"events": events}
        pause = 1.0
        while True:
            try:
                Memories(self._transport).ingest(scope=dict(scope), direct_contents_source=source)
            except Exception as failure:  # noqa: BLE001 - the next lines may still be taken
                self.failed("ingestion", failure)
                if not _passes(failure):
                    return
            else:
                self._failing.discard("ingestion")
                return
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


_lock = Lock()
_links: WeakKeyDictionary[Client, Link] = WeakKeyDictionary()
_writing: set[Link] = set()


def link_of(bank: Client | None) -> Link:
    """Return the link of a client; None stands for one that the environment describes."""
    if bank is None:
        bank = _client(*map(environ.get, _VARIABLES))
    with _lock:
        if bank not in _links:
            _links[bank] = Link(bank._transport)  # noqa: SLF001 - of this package
        return _links[bank]


@lru_cache(maxsize=8)
def _client(url: str | None, key: str | None) -> Client:
    return Client(url, key=key)


def flush(seconds: float = 10) -> bool:
    """Wait until the bank has what was said so far.

    Args:
        seconds: the longest wait.

    Returns:
        False if something still waits. A program that ends waits by itself, for two seconds.
    """
    deadline = time.monotonic() + seconds
    return all(link.wait(deadline) for link in list(_writing))


def _end() -> None:
    deadline = time.monotonic() + _EXIT_SECONDS
    for link in list(_writing):
        if not link.is_failing:
            link.wait(deadline)


atexit.register(_end)


def _passes(failure: Exception) -> bool:
    if isinstance(failure, ApiError):
        is_refused = failure.http_status == httpx.codes.TOO_MANY_REQUESTS
        return is_refused or failure.http_status >= httpx.codes.INTERNAL_SERVER_ERROR
    return isinstance(failure, Unreachable)


def _label(failure: BaseException | None) -> str:
    if failure is None:
        return "no answer in time"
    name = type(failure).__name__
    return f"{name} {failure.reason}".strip() if isinstance(failure, ApiError) else name
