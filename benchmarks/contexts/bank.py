"""A bank whose sessions are asked for contexts in this process, with a worker to call by hand."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI

from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.process.main import create_app
from app.process.worker import make_runner
from benchmarks.surroundings import pages_read
from tests.support.asgi import Sent, call

KEY = "contexts-admin-key"
_HEADERS = ((b"authorization", f"Bearer {KEY}".encode()), (b"content-type", b"application/json"))
_SESSIONS = "/v1/reasoningEngines/1/sessions"
_BATCH = 500
_FLUSH_SECONDS = 1.1
"""How long a connection of Postgres keeps what it has counted to itself."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Bank:
    """The application, its worker, and its database from aside."""

    app: FastAPI
    runner: Runner
    url: str

    @classmethod
    def over(cls, resources: Resources) -> "Bank":
        """Build the application over resources."""
        return cls(create_app(resources), make_runner(resources), resources.database_url)

    async def send(
        self, method: str, path: str, body: Mapping[str, object] | None = None, query: bytes = b""
    ) -> Json:
        """Send a request about sessions; return its answer."""
        content = b"" if body is None else json.dumps(body).encode()
        found: Json = json.loads(
            await self._sent(Sent(method, _path(path), query, _HEADERS, content))
        )
        return found

    async def answer(self, path: str, body: Mapping[str, object]) -> bytes:
        """Send a request about a session; return its answer as it came."""
        content = json.dumps(body).encode()
        return await self._sent(Sent("POST", _path(path), b"", _HEADERS, content))

    async def _sent(self, sent: Sent) -> bytes:
        answer = await call(self.app, sent)
        assert answer.status == 200, (answer.status, answer.body)
        return answer.body

    async def new_session(
        self, session: str, policy: Mapping[str, object] | None = None, user: str = "42"
    ) -> None:
        """Start a session under an id of its own."""
        body = {"userId": user, **({"memoryPolicy": policy} if policy else {})}
        await self.send("POST", "", body, f"sessionId={session}".encode())

    async def fill(self, session: str, events: int, chars: int = 200) -> None:
        """Append so many events of that length, a user's and an agent's in turn."""
        for begin in range(0, events, _BATCH):
            numbers = range(begin, min(events, begin + _BATCH))
            batch = [_event(number, chars) for number in numbers]
            await self.send("POST", f"/{session}/events:batch", {"events": batch})

    async def exchange(self, session: str, number: int) -> None:
        """Append an exchange of twice 200 characters: 100 tokens."""
        body = {"input": _words(2 * number), "output": _words(2 * number + 1)}
        await self.send("POST", f"/{session}/exchanges", body)

    async def context(self, session: str, body: Mapping[str, object]) -> tuple[Json, float]:
        """Compose a context; return it, and the milliseconds that took."""
        began = time.perf_counter()
        found = await self.send("POST", f"/{session}:context", body)
        return found, 1_000 * (time.perf_counter() - began)

    async def recall(self, body: Mapping[str, object]) -> tuple[Json, float]:
        """Search all sessions of a user; return the answer, and the milliseconds that took."""
        began = time.perf_counter()
        found = await self.send("POST", "/-:recall", body)
        return found, 1_000 * (time.perf_counter() - began)

    async def say(self, session: str, text: str) -> None:
        """Append what a user says."""
        content = {"role": "user", "parts": [{"text": text}]}
        event = {**_event(0), "content": content}
        await self.send("POST", f"/{session}/events:batch", {"events": [event]})

    async def buffers(self, session: str, body: Mapping[str, object], requests: int) -> float:
        """Return the pages that Postgres reads for a context, wherever they are."""
        await self._flushed(session, body)
        before = pages_read(self.url)
        for _ in range(requests):
            await self.context(session, body)
        await self._flushed(session, body)
        return (pages_read(self.url) - before) / (requests + 1)

    async def _flushed(self, session: str, body: Mapping[str, object]) -> None:
        await asyncio.sleep(_FLUSH_SECONDS)
        await self.context(session, body)


def _path(path: str) -> bytes:
    return (_SESSIONS + path).encode()


def _event(number: int, chars: int = 200) -> Json:
    is_users = number % 2 == 0
    return {
        "author": "user" if is_users else "agent",
        "invocationId": f"i-{number // 2}",
        "timestamp": "2026-01-15T12:00:00Z",
        "content": {
            "role": "user" if is_users else "model",
            "parts": [{"text": _words(number, chars)}],
        },
    }


def _words(number: int, chars: int = 200) -> str:
    said = f"Message {number} says that the parcel of week {number} has arrived. "
    return (said * 5)[: chars - 1] + "."
