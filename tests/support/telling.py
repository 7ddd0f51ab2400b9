"""Talks that reach a bank again: by a session, with ids, with times, or with neither.

A test is a row of steps. Each step acts on the bank, or checks it, and reads like a sentence.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import httpx

from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE, Json, history, listed, ok, roll_back, wire
from tests.support.generation import run
from tests.support.operations import USER, path_of
from tests.support.sessions import append, new_path

SESSION, IDS, TIMES, NEITHER = "session", "ids", "times", "neither"
WAYS = (SESSION, IDS, TIMES, NEITHER)


@dataclass
class Device:
    """A client that sends one talk, in one of the ways; `times` has the time of each line."""

    name: str
    way: str
    times: list[datetime] = field(default_factory=list)
    session: str = ""
    appended: int = 0

    def say(self, count: int, now: datetime) -> None:
        """Let the talk have so many lines; the new ones are said a minute apart, the last now."""
        new = range(count - len(self.times))
        self.times += [now - timedelta(minutes=len(new) - 1 - n) for n in new]

    def event(self, number: int, text: str) -> Json:
        """Return a line of the talk as this client sends it."""
        sent: Json = {"content": {"role": "user", "parts": [{"text": text}]}}
        if self.way == IDS:
            sent["eventId"] = f"{self.name}{number}"
        if self.way == TIMES:
            sent["eventTime"] = wire(self.times[number])
        return sent


@dataclass
class Bank:
    """A bank under test, with the clients that send talks to it."""

    client: httpx.AsyncClient
    runner: Runner
    clock: FixedClock
    way: str
    devices: dict[str, Device] = field(default_factory=dict)
    operations: list[Json] = field(default_factory=list)
    """The generations that have ended."""
    paths: dict[str, str] = field(default_factory=dict)
    """Paths of the memories that were seen, by their facts."""

    def device(self, name: str) -> Device:
        """Return the client of that name."""
        return self.devices.setdefault(name, Device(name, self.way))

    async def path(self, fact: str) -> str:
        """Return the path of a memory that has a fact, or had it when it was seen last."""
        for one in ok(await self.client.get("/memories"))["memories"]:
            self.paths[one["fact"]] = path_of(one["name"])
        return self.paths[fact]

    async def source(self, device: Device, texts: Sequence[str], first: int) -> Json:
        """Return the source of the lines of a talk from one on; those of a session are appended."""
        if device.way != SESSION:
            events = [device.event(n, texts[n]) for n in range(first, len(texts))]
            return {"directContentsSource": {"events": events}}
        device.session = device.session or await new_path(self.client)
        for n in range(device.appended, len(texts)):
            time = wire(device.times[n])
            await append(self.client, device.session, texts[n], timestamp=time)
        device.appended = len(texts)
        asked: Json = {"session": f"{ENGINE}{device.session}"}
        if first:
            asked["startTime"] = wire(device.times[first])
        return {"vertexSessionSource": asked}


Step = Callable[[Bank], Awaitable[None]]


@dataclass(frozen=True)
class Row:
    """A row of a table: its name, its steps, and the ways in which its talks are sent."""

    name: str
    steps: Sequence[Step]
    ways: Sequence[str] = WAYS


async def follow(bank: Bank, steps: Sequence[Step]) -> None:
    """Take the steps one after another, a second apart."""
    for step in steps:
        await step(bank)
        bank.clock.advance(timedelta(seconds=1))


def tell(
    *texts: str, first: int = 0, device: str = "a", at: datetime | None = None, **fields: Any
) -> Step:
    """Send the lines of a talk from one on, and have them read; the new ones are said `at`."""

    async def step(bank: Bank) -> None:
        sender = bank.device(device)
        sender.say(len(texts), at or bank.clock.now())
        source = await bank.source(sender, texts, first)
        bank.operations.append(await run(bank.client, bank.runner, source, **fields))

    return step


def fail(*texts: str, runner: Callable[[Bank], Runner], device: str = "a") -> Step:
    """Send a talk that a failing worker reads."""

    async def step(bank: Bank) -> None:
        sender = bank.device(device)
        sender.say(len(texts), bank.clock.now())
        body = {"scope": USER, **await bank.source(sender, texts, 0)}
        started = ok(await bank.client.post("/memories:generate", json=body))
        await runner(bank).run_pending()
        assert "error" in ok(await bank.client.get(path_of(started["name"])))

    return step


def delete(*facts: str) -> Step:
    """Delete memories by hand."""

    async def step(bank: Bank) -> None:
        for fact in facts:
            ok(await bank.client.delete(await bank.path(fact)))

    return step


def correct(fact: str, new: str) -> Step:
    """Correct a memory by hand."""

    async def step(bank: Bank) -> None:
        ok(await bank.client.patch(await bank.path(fact), json={"fact": new}))

    return step


def undelete(fact: str) -> Step:
    """Bring a memory back by hand."""

    async def step(bank: Bank) -> None:
        ok(await bank.client.post(f"{await bank.path(fact)}:undelete", json={}))

    return step


def restore_first(fact: str) -> Step:
    """Roll a memory back to its first revision."""

    async def step(bank: Bank) -> None:
        path = await bank.path(fact)
        first = (await history(bank.client, path))[-1]["name"]
        ok(await roll_back(bank.client, path, first.rpartition("/")[2]))

    return step


def undo(number: int = -1) -> Step:
    """Undo one of the generations, the last unless told otherwise."""

    async def step(bank: Bank) -> None:
        path = path_of(bank.operations[number]["name"])
        started = ok(await bank.client.post(f"{path}:undo", json={}))
        await bank.runner.run_pending()
        done = ok(await bank.client.get(path_of(started["name"])))
        assert done["done"], done
        assert "error" not in done, done

    return step


def wait(**length: float) -> Step:
    """Let time pass."""

    async def step(bank: Bank) -> None:
        bank.clock.advance(timedelta(**length))

    return step


def holds(*facts: str) -> Step:
    """Check the facts that the bank has, in any order."""

    async def step(bank: Bank) -> None:
        assert sorted(await listed(bank.client)) == sorted(facts)

    return step


def counts(*ways: str, **expected: object) -> Step:
    """Check entries of the metadata of the last generation, for some ways alone if any are named.

    A count that is left out is 0.
    """

    async def step(bank: Bank) -> None:
        if not ways or bank.way in ways:
            metadata = bank.operations[-1]["metadata"]
            assert {name: metadata.get(name, 0) for name in expected} == expected

    return step


def revisions(fact: str, count: int) -> Step:
    """Check how many revisions a memory has."""

    async def step(bank: Bank) -> None:
        assert len(await history(bank.client, await bank.path(fact))) == count

    return step
