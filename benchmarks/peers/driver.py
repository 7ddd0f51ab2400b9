"""The process of one system, with its callers in it: `python -m benchmarks.peers.driver`.

Does what it is told on standard input and answers on standard output, a line of JSON each. Runs
where the peers are installed, so it imports nothing of the service.
"""

import asyncio
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib import import_module
from inspect import iscoroutinefunction
from itertools import count
from typing import Any

from benchmarks.peers.systems import AnySystem, Opener
from benchmarks.peers.texts import PER_USER, Said, memory_of, query_of

OPENERS = {
    "nothing": "benchmarks.peers.nothing:open_nothing",
    "floor": "benchmarks.peers.floor:open_floor",
    "ours": "benchmarks.peers.ours:open_ours",
    "langgraph": "benchmarks.peers.langgraph_store:open_langgraph",
    "mem0": "benchmarks.peers.mem0_library:open_mem0",
}


@dataclass
class Measured:
    """What some operations took."""

    milliseconds: list[float] = field(default_factory=list)
    """Of each, as its caller saw it."""
    found: list[int] = field(default_factory=list)
    """How many memories each search found."""
    seconds: float = 0.0
    """From the start of the first to the end of the last."""
    cpu_seconds: float = 0.0
    """Of this process."""


class Driver:
    """Lets callers loose on a system."""

    def __init__(self, system: AnySystem, users: int) -> None:
        self._system = system
        self._users = users
        self._numbers = count()

    async def load(self) -> None:
        """Give each user their memories."""
        told = [memory_of(user, n) for user in range(self._users) for n in range(PER_USER)]
        found = self._system.load(told)
        if found is not None:
            await found

    async def measure(self, kind: str, callers: int, operations: int) -> Measured:
        """Run so many operations of a kind, shared out among callers.

        What is written is of users who are not searched for.
        """
        numbers = [next(self._numbers) for _ in range(operations)]
        if kind == "search":
            work = [query_of(n * 7 % self._users, n) for n in numbers]
        else:
            work = [memory_of(self._users + n % 7, n) for n in numbers]
        measured = Measured()
        gc.collect()
        cpu, began = time.process_time(), time.perf_counter()
        await self._run(kind, callers, work, measured)
        measured.seconds = time.perf_counter() - began
        measured.cpu_seconds = time.process_time() - cpu
        return measured

    async def _run(self, kind: str, callers: int, work: list[Said], measured: Measured) -> None:
        act: Any = getattr(self._system, kind)
        shared = iter(work)
        if iscoroutinefunction(act):
            calls = (_call(act, number, shared, measured) for number in range(callers))
            await asyncio.gather(*calls)
            return
        with ThreadPoolExecutor(callers) as threads:
            shares = [iter(work[number::callers]) for number in range(callers)]
            for done in [
                threads.submit(_call_blocking, act, number, share, measured)
                for number, share in enumerate(shares)
            ]:
                done.result()


async def _call(
    act: Callable[..., Any], caller: int, work: Iterable[Said], measured: Measured
) -> None:
    for one in work:
        began = time.perf_counter()
        found = await act(caller, one)
        measured.milliseconds.append((time.perf_counter() - began) * 1000)
        measured.found.append(found or 0)


def _call_blocking(
    act: Callable[..., Any], caller: int, work: Iterable[Said], measured: Measured
) -> None:
    for one in work:
        began = time.perf_counter()
        found = act(caller, one)
        measured.milliseconds.append((time.perf_counter() - began) * 1000)
        measured.found.append(found or 0)


def opener_of(system: str) -> Opener:
    """Import what opens a system, and nothing of the others."""
    module, _, name = OPENERS[system].partition(":")
    found: Opener = getattr(import_module(module), name)
    return found


async def _serve(system: str, address: str, users: int, callers: int) -> None:
    # What the libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    async with opener_of(system)(address, callers) as opened:
        driver = Driver(opened, users)
        answers.write("{}\n")
        answers.flush()
        while line := await asyncio.to_thread(sys.stdin.readline):
            wanted = json.loads(line)
            if wanted is None:
                await driver.load()
                answer = {}
            else:
                answer = asdict(await driver.measure(*wanted))
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    name, where, *numbers = sys.argv[1:]
    asyncio.run(_serve(name, where, *map(int, numbers)))
