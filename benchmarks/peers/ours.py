"""This service, asked over HTTP with as little work of the client as there can be.

As agents are told to: by a key that is bound to one user, and with an id for each write.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from benchmarks.peers.connection import Connection
from benchmarks.peers.texts import TOP_K, Said

KEY = "peers-benchmark-admin-key"
_MEMORIES = "/v1beta1/projects/default/locations/local/reasoningEngines/1/memories"
_BATCH = 500


@dataclass(frozen=True)
class Ours:
    """A connection for each caller, and a key for each user."""

    connections: Sequence[Connection]
    keys: dict[str, str] = field(default_factory=dict)

    async def load(self, memories: Sequence[Said]) -> None:
        """As `System` has it."""
        for at in range(0, len(memories), _BATCH):
            made = [{"memory": _body(one)} for one in memories[at : at + _BATCH]]
            answer = await self.connections[0].post(
                f"{_MEMORIES}:batchCreate", {"requests": made}, _by(KEY)
            )
            assert "response" in answer, answer
        for user in {one.user for one in memories}:
            await self._headers(0, user)

    async def write(self, caller: int, memory: Said) -> None:
        """As `System` has it."""
        headers = {**await self._headers(caller, memory.user), "Idempotency-Key": str(uuid4())}
        answer = await self.connections[caller].post(_MEMORIES, _body(memory), headers)
        assert "response" in answer, answer

    async def search(self, caller: int, asked: Said) -> int:
        """As `System` has it."""
        body = {
            "scope": {"user_id": asked.user},
            "similaritySearchParams": {"searchQuery": asked.text, "topK": TOP_K},
        }
        headers = await self._headers(caller, asked.user)
        answer = await self.connections[caller].post(f"{_MEMORIES}:retrieve", body, headers)
        return len(answer.get("retrievedMemories", []))

    async def _headers(self, caller: int, user: str) -> dict[str, str]:
        """Return the headers with the key of a user, which is made when it is first needed.

        Users who are only written for get theirs before anything is measured.
        """
        if user not in self.keys:
            key = {
                "displayName": user,
                "roles": ["editor"],
                "scopeConditions": {"user_id": [user]},
            }
            answer = await self.connections[caller].post("/v1/keys", key, _by(KEY))
            self.keys[user] = answer["secret"]
        return _by(self.keys[user])


def _by(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _body(memory: Said) -> dict[str, Any]:
    return {"scope": {"user_id": memory.user}, "fact": memory.text}


@asynccontextmanager
async def open_ours(address: str, callers: int) -> AsyncIterator[Ours]:
    """Open it at an address such as `127.0.0.1:8000`."""
    async with AsyncExitStack() as stack:
        connections = []
        for _ in range(callers):
            made = await Connection.opened(address)
            stack.callback(made.writer.close)
            connections.append(made)
        yield Ours(connections)
