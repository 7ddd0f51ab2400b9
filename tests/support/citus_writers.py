"""Three writers that write into several engines until they are told to end."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx

from tests.support.bank import ok

WRITERS = 3
_BEFORE = 20
"""Acknowledged writes of each writer before what they are to meet begins, and after its end."""
_LONGEST_PAUSE_SECONDS = 3


class Writers:
    """What the writers have sent, and what was acknowledged.

    Attributes:
        acknowledged: the facts of each engine's memories.
        statuses: how often each status was answered.
        repeated: how often each status was answered to what was sent again, after as long as the
            answer before had said.
        seconds: the seconds that each answer took.
    """

    def __init__(self, client: httpx.AsyncClient, engines: Sequence[str]) -> None:
        self._client = client
        self._engines = engines
        self._ended = asyncio.Event()
        self._came = asyncio.Event()
        self._written = [0] * WRITERS
        self.acknowledged: dict[str, set[str]] = {engine: set() for engine in engines}
        self.statuses: Counter[int] = Counter()
        self.repeated: Counter[int] = Counter()
        self.seconds: list[float] = []

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Write beside the block: some before it, and some after it."""
        async with asyncio.TaskGroup() as tasks:
            for writer in range(WRITERS):
                tasks.create_task(self._write(writer))
            await self._more()
            try:
                yield
                await self._more()
            finally:
                self._ended.set()

    async def _more(self) -> None:
        """Wait until each writer has written some more."""
        goal = [written + _BEFORE for written in self._written]
        while any(has < wanted for has, wanted in zip(self._written, goal, strict=True)):
            self._came.clear()
            await self._came.wait()

    async def _write(self, writer: int) -> None:
        while not self._ended.is_set():
            number = self._written[writer]
            engine = self._engines[(writer + number) % len(self._engines)]
            fact = f"I like tea number {number} of writer {writer}."
            await self._create(engine, {"fact": fact, "scope": {"user_id": str(number % 7)}})
            self.acknowledged[engine].add(fact)
            self._written[writer] += 1
            self._came.set()

    async def _create(self, engine: str, body: dict[str, object]) -> None:
        """Send a create until it is acknowledged, as official clients do."""
        counts = [self.statuses]
        while True:
            began = time.perf_counter()
            answer = await self._client.post(f"{engine}/memories", json=body)
            self.seconds.append(time.perf_counter() - began)
            for count in counts:
                count[answer.status_code] += 1
            if answer.status_code == 200:
                return
            assert answer.status_code == 503, answer.text
            pause = int(answer.headers["retry-after"])
            assert pause <= _LONGEST_PAUSE_SECONDS
            await asyncio.sleep(pause)
            counts = [self.statuses, self.repeated]


async def facts(client: httpx.AsyncClient, engine: str) -> list[str]:
    """Return the facts of all memories of an engine."""
    params, known = {"pageSize": "1000"}, []
    while True:
        page = ok(await client.get(f"{engine}/memories", params=params))
        known += [memory["fact"] for memory in page.get("memories", ())]
        if "nextPageToken" not in page:
            return known
        params["pageToken"] = page["nextPageToken"]
