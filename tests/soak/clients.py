"""Clients of a soak: each does work of one kind, and notes what is acknowledged."""

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from itertools import count

import httpx

from tests.soak.ledger import Generation, Ledger, Refused
from tests.support.bank import Json
from tests.support.live import KEY
from tests.support.sessions import event
from tests.support.traffic import ENGINE

_LONGEST_PAUSE_SECONDS = 0.2
_AGAIN_SECONDS = 0.1
_TIMEOUT_SECONDS = 30
_MOST_UNFINISHED = 3
"""Operations that a client has running: a queue that only grows tells nothing, and takes as long to
empty as the soak took.
"""
_CUT_SHARE = 0.02
_CUT_WITHIN_SECONDS = 0.03
_EXCUSABLE = {503, 504}


class Client:
    """One client. A mutation without an answer is sent again, with its request id.

    Args:
        number: its number, which all its texts name.
        urls: the servers; after a failure the client goes to another one.
        ends: set when the client shall end, with an answer to its last mutation.
    """

    def __init__(
        self, number: int, urls: list[str], ledger: Ledger, ends: asyncio.Event, seed: int
    ) -> None:
        self.number = number
        self.ledger = ledger
        self._urls = urls
        self._ends = ends
        self._chance = random.Random(f"{seed} {number}")
        self._request_ids = count(1)
        self._unfinished: deque[str] = deque()
        self._http = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {KEY}"}, timeout=_TIMEOUT_SECONDS
        )

    async def run(self, work: "Work") -> None:
        """Do work of a kind, one unit after another."""
        turns = count(1)
        async with self._http:
            while not self._ends.is_set():
                await work(self, next(turns))
                await asyncio.sleep(self._chance.random() * _LONGEST_PAUSE_SECONDS)

    async def mutate(self, path: str, body: object, method: str = "POST") -> Json:
        """Send a mutation until it is acknowledged; now and then, cut the connection before."""
        request_id = f"{self.number}-{next(self._request_ids)}"
        while True:
            is_cut = self._chance.random() < _CUT_SHARE
            patience = self._chance.random() * _CUT_WITHIN_SECONDS if is_cut else None
            try:
                async with asyncio.timeout(patience):
                    answer = await self._ask(method, path, body, {"requestId": request_id})
            except TimeoutError:
                continue
            if answer is not None:
                self.ledger.acknowledged += 1
                return answer
            await asyncio.sleep(_AGAIN_SECONDS)

    async def read(self, path: str, body: object = None, method: str = "POST") -> Json | None:
        """Ask once; None: refused, or no answer."""
        return await self._ask(method, path, body, {})

    async def await_earlier(self, operation: str) -> None:
        """Note an operation, and wait while more of them than a client may have are not done."""
        self._unfinished.append(f"/operations/{_id(operation)}")
        while len(self._unfinished) > _MOST_UNFINISHED and not self._ends.is_set():
            found = await self.read(self._unfinished[0], method="GET")
            if found is not None and found.get("done"):
                self._unfinished.popleft()
            else:
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _ask(
        self, method: str, path: str, body: object, params: dict[str, str]
    ) -> Json | None:
        url = self._chance.choice(self._urls) + ENGINE + path
        self.ledger.requests += 1
        began = time.monotonic()
        try:
            answer = await self._http.request(
                method, url, params=params, json=None if method in {"GET", "DELETE"} else body
            )
        except httpx.TimeoutException:
            self._refused(began, 504, f"{method} {path}: no answer")
            return None
        except httpx.TransportError:
            return None
        finally:
            took = time.monotonic() - began
            self.ledger.longest_seconds = max(self.ledger.longest_seconds, took)
        if answer.status_code == 200:
            found: Json = answer.json()
            return found
        assert answer.status_code in _EXCUSABLE, f"{method} {path}: {answer.text}"
        self._refused(began, answer.status_code, f"{method} {path}: {answer.text}")
        return None

    def _refused(self, began: float, status: int, told: str) -> None:
        self.ledger.refused.append(Refused(began, time.monotonic(), told, status))


Work = Callable[[Client, int], Awaitable[None]]


def _id(name: object) -> str:
    return str(name).rpartition("/")[2]


def _bicycle(client: Client, turn: int, part: int = 0) -> str:
    return f"I own the red bicycle with the number {client.number}{turn:07}{part}."


def _said(text: str) -> Json:
    return {"content": {"role": "user", "parts": [{"text": text}]}}


async def write(client: Client, turn: int) -> None:
    """Create a memory, change it, read it, and delete every third one."""
    fact = f"Fact {turn} of writer {client.number}"
    body = {"fact": fact, "scope": {"writer": str(client.number)}}
    made = await client.mutate("/memories", body)
    key = _id(made["response"]["name"])
    facts = client.ledger.memories.setdefault(key, [])
    facts.append(fact)
    for change in ("changed", "changed again"):
        await client.mutate(f"/memories/{key}", {"fact": f"{fact}, {change}"}, "PATCH")
        facts.append(f"{fact}, {change}")
    found = await client.read(f"/memories/{key}", method="GET")
    assert found is None or found["fact"] == facts[-1], found
    if turn % 3 == 0:
        await client.mutate(f"/memories/{key}", None, "DELETE")
        facts.append(None)


async def give(client: Client, turn: int) -> None:
    """Have facts remembered as they are; some generations wait for one another."""
    facts = [f"Wish {turn}.{part} of {client.number}" for part in range(3)]
    await _generate(
        client,
        facts,
        {
            "scope": {"giver": str(client.number), "part": str(turn % 3)},
            "directMemoriesSource": {"directMemories": [{"fact": fact} for fact in facts]},
            "disableConsolidation": True,
        },
    )


async def talk(client: Client, turn: int) -> None:
    """Have a model write memories of what was said."""
    facts = [_bicycle(client, turn, part) for part in range(2)]
    await _generate(
        client,
        facts,
        {
            "scope": {"talker": str(client.number), "part": str(turn % 5)},
            "directContentsSource": {"events": [_said(fact) for fact in facts]},
        },
    )


async def _generate(client: Client, facts: list[str], body: Json) -> None:
    began = time.monotonic()
    key = _id((await client.mutate("/memories:generate", body))["name"])
    assert key not in client.ledger.generations, key
    client.ledger.generations[key] = Generation(facts, began)
    await client.await_earlier(key)


async def ingest(client: Client, turn: int) -> None:
    """Send events, of which the service makes memories when it is time."""
    facts = [_bicycle(client, turn, part) for part in range(2)]
    events = [{"eventId": fact[-10:], **_said(fact)} for fact in facts]
    body = {
        "scope": {"ingester": str(client.number)},
        "directContentsSource": {"events": events},
        "generationTriggerConfig": {"generationRule": {"eventCount": 2}},
    }
    operation = await client.mutate("/memories:ingestEvents", body)
    client.ledger.ingested += facts
    await client.await_earlier(operation["name"])


async def converse(client: Client, turn: int) -> None:
    """Begin a session, append events, and read its context."""
    made = await client.mutate("/sessions", {"userId": f"u{client.number}"})
    key = _id(made["response"]["name"])
    texts = client.ledger.sessions.setdefault(key, [])
    for number in range(4):
        text = f"Word {turn}.{number} of {client.number}"
        await client.mutate(f"/sessions/{key}:appendEvent", event(text))
        texts.append(text)
    await client.read(f"/sessions/{key}:context", {})


async def keep(client: Client, turn: int) -> None:
    """Store an artifact off the prompt."""
    namespace, name = f"n{client.number}-{turn % 7}", f"a{turn}"
    text = f"Page {turn} of {client.number}. " * 20
    body = {"artifacts": [{"kind": "text", "text": text, "name": name}]}
    await client.mutate(f"/taskMemories/soak/namespaces/{namespace}:store", body)
    client.ledger.artifacts[namespace, name] = text


async def search(client: Client, turn: int) -> None:
    """Search, list and count what others write."""
    query = {"searchQuery": f"red bicycle {turn}", "topK": 5}
    scope = {"talker": str(client.number - 7), "part": str(turn % 5)}
    await client.read("/memories:retrieve", {"scope": scope, "similaritySearchParams": query})
    await client.read("/memories?pageSize=20", method="GET")
    await client.read("/operations?pageSize=20", method="GET")


CLIENTS: list[Work] = [*[write] * 4, *[give] * 2, *[talk] * 3, *[ingest] * 2]
CLIENTS += [*[converse] * 2, keep, *[search] * 2]
