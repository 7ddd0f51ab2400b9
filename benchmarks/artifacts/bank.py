"""A bank whose namespaces are asked in this process, and the texts that they hold."""

import asyncio
import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from fastapi import FastAPI

from app.adapters.resources import Resources
from app.process.main import create_app
from benchmarks.surroundings import pages_read
from tests.support.asgi import Sent, call

KEY = "artifacts-admin-key"
FACT = "The locker of Berta Quistorp opens with the code 48151."
RARE = "Which code opens the locker of Berta Quistorp?"
_HEADERS = ((b"authorization", f"Bearer {KEY}".encode()), (b"content-type", b"application/json"))
_NAMESPACES = "/v1beta1/reasoningEngines/1/taskMemories/bench/namespaces/"
_CHARS, _AT_ONCE = 6_000, 50
_FLUSH_SECONDS = 1.1
"""How long a connection of Postgres keeps what it has counted to itself."""
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so")
_BETWEEN = ("the", "of", "and", "to", "a", "in", "is", "that", "it", "was", "for", "on", "with")

Json = dict[str, Any]


class Texts:
    """Texts of made-up words, some of which are frequent and most rare, as those of a language."""

    def __init__(self) -> None:
        self._random = made = random.Random(7)
        words = ("".join(made.choices(_SYLLABLES, k=made.randint(2, 4))) for _ in range(8_000))
        self.vocabulary = list(dict.fromkeys(words))
        self._weights = list(accumulate(1 / (5 + rank) for rank in range(len(self.vocabulary))))

    @property
    def common(self) -> str:
        """A question for the most frequent words, and for the fact."""
        return " ".join(self.vocabulary[:4]) + f": {RARE}"

    def text(self, chars: int = _CHARS) -> str:
        """Return sentences of so many characters."""
        found, size = [], 0
        while size < chars:
            found.append(self._sentence())
            size += len(found[-1]) + 1
        return " ".join(found)[:chars]

    def _sentence(self) -> str:
        made = self._random
        words = made.choices(self.vocabulary, cum_weights=self._weights, k=made.randint(6, 22))
        between = made.choices(_BETWEEN, k=len(words))
        mixed = (f"{between[n]} {word}" if n % 2 else word for n, word in enumerate(words))
        return " ".join(mixed).capitalize() + "."


@dataclass(frozen=True)
class Bank:
    """The application over a database of its own."""

    app: FastAPI
    url: str

    @classmethod
    def over(cls, resources: Resources) -> "Bank":
        """Build the application over resources."""
        return cls(create_app(resources), resources.database_url)

    async def send(
        self, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> tuple[Json, float]:
        """Send a request about namespaces; return its answer, and the milliseconds it took."""
        content = b"" if body is None else json.dumps(body).encode()
        sent = Sent(method, (_NAMESPACES + path).encode(), b"", _HEADERS, content)
        began = time.perf_counter()
        answer = await call(self.app, sent)
        took = 1_000 * (time.perf_counter() - began)
        assert answer.status == 200, (answer.status, answer.body)
        return json.loads(answer.body), took

    async def fill(self, namespace: str, size: int, texts: Texts) -> None:
        """Store so many texts; one of them tells the fact, nine tenths on."""
        for begin in range(0, size, _AT_ONCE):
            numbers = range(begin, min(size, begin + _AT_ONCE))
            artifacts = [_artifact(number, size, texts) for number in numbers]
            await self.send("POST", f"{namespace}:store", {"artifacts": artifacts})

    async def buffers(self, namespace: str, body: Mapping[str, object], requests: int) -> float:
        """Return the pages that Postgres reads for a question, wherever they are."""
        await self._flushed(namespace, body)
        before = pages_read(self.url)
        for _ in range(requests):
            await self.send("POST", f"{namespace}:query", body)
        await self._flushed(namespace, body)
        return (pages_read(self.url) - before) / (requests + 1)

    async def _flushed(self, namespace: str, body: Mapping[str, object]) -> None:
        await asyncio.sleep(_FLUSH_SECONDS)
        await self.send("POST", f"{namespace}:query", body)


def _artifact(number: int, size: int, texts: Texts) -> Json:
    text = texts.text()
    if number == size * 9 // 10:
        text = f"{text[: _CHARS // 2]}. {FACT} {text[_CHARS // 2 :]}"
    return {"kind": "text", "text": text, "name": f"page-{number}"}
