"""This service, asked over HTTP with as little work of the client as there can be."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.texts import TOP_K, Said

KEY = "peers-benchmark-admin-key"
_MEMORIES = "/v1beta1/projects/default/locations/local/reasoningEngines/1/memories"
_BATCH = 500


@dataclass(frozen=True)
class Connection:
    """A connection that is kept."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Send a body; return what is answered.

        Raises:
            RuntimeError: the service refuses.
        """
        sent = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: bank\r\nAuthorization: Bearer {KEY}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        self.writer.write(head.encode() + sent)
        told = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        _, _, length = told.partition("content-length:")
        answer = await self.reader.readexactly(int(length.split()[0]))
        if told.split()[1] != "200":
            raise RuntimeError(answer.decode())
        found: dict[str, Any] = json.loads(answer)
        return found


@dataclass(frozen=True)
class Ours:
    """A connection for each caller."""

    connections: Sequence[Connection]

    async def load(self, memories: Sequence[Said]) -> None:
        """As `System` has it."""
        for at in range(0, len(memories), _BATCH):
            made = [{"memory": _body(one)} for one in memories[at : at + _BATCH]]
            answer = await self.connections[0].post(f"{_MEMORIES}:batchCreate", {"requests": made})
            assert "response" in answer, answer

    async def write(self, caller: int, memory: Said) -> None:
        """As `System` has it."""
        answer = await self.connections[caller].post(_MEMORIES, _body(memory))
        assert "response" in answer, answer

    async def search(self, caller: int, asked: Said) -> int:
        """As `System` has it."""
        body = {
            "scope": {"user_id": asked.user},
            "similaritySearchParams": {"searchQuery": asked.text, "topK": TOP_K},
        }
        answer = await self.connections[caller].post(f"{_MEMORIES}:retrieve", body)
        return len(answer.get("retrievedMemories", []))


def _body(memory: Said) -> dict[str, Any]:
    return {"scope": {"user_id": memory.user}, "fact": memory.text}


@asynccontextmanager
async def open_ours(address: str, callers: int) -> AsyncIterator[Ours]:
    """Open it at an address such as `127.0.0.1:8000`."""
    host, _, port = address.partition(":")
    async with AsyncExitStack() as stack:
        connections = []
        for _ in range(callers):
            made = Connection(*await asyncio.open_connection(host, int(port)))
            stack.callback(made.writer.close)
            connections.append(made)
        yield Ours(connections)
