"""The bank that keeps a benchmark's conversations, its worker, and the configured model."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from app.adapters.llm.ports import Meter, OutputT, Prompt, TextModel, Usage
from app.process.worker import working
from benchmarks.answers.data import Conversation, Session
from benchmarks.answers.prompts import Memory
from benchmarks.in_process import body, in_process


class IngestionError(Exception):
    """A session has not become memories."""


@dataclass(frozen=True)
class Bank:
    """A service of this process; usages are by the clock on the wall, with all waiting."""

    client: httpx.AsyncClient
    model: TextModel
    top_k: int
    max_tokens: int

    async def ingest(self, conversation: Conversation, person: str, session: Session) -> Usage:
        """Have the worker generate a person's memories from a session; return the cost."""
        began = time.perf_counter()
        request = {
            "scope": _scope(conversation, person),
            "directContentsSource": {"events": _events(session, person)},
        }
        operation = body(await self.client.post("/memories:generate", json=request))
        path = "/operations/" + operation["name"].rpartition("/")[2]
        while not operation.get("done"):
            operation = body(await self.client.post(f"{path}:wait"))
        if "error" in operation:
            raise IngestionError(operation["error"]["message"])
        metadata = operation["metadata"]
        names = ("modelCallCount", "inputTokenCount", "outputTokenCount")
        calls, read, written = (metadata.get(name, 0) for name in names)
        return Usage(calls, read, written, _since(began))

    async def retrieve(
        self, conversation: Conversation, text: str
    ) -> tuple[Mapping[str, list[Memory]], Usage]:
        """Search the memories of each person of a conversation."""
        began = time.perf_counter()
        found = {
            person: await self._search(_scope(conversation, person), text)
            for person in conversation.people
        }
        return found, Usage(milliseconds=_since(began))

    async def ask(self, text: str, output: type[OutputT]) -> tuple[OutputT, Usage]:
        """Ask the model through the service's own client of it."""
        began, meter = time.perf_counter(), Meter()
        answer = await self.model.ask(Prompt("", text), output, meter)
        return answer, replace(meter.total, milliseconds=_since(began))

    async def _search(self, scope: Mapping[str, str], text: str) -> list[Memory]:
        request = {
            "scope": scope,
            "similaritySearchParams": {"searchQuery": text, "topK": self.top_k},
            "maxTokens": self.max_tokens,
        }
        answer = body(await self.client.post("/memories:retrieve", json=request))
        found = [one["memory"] for one in answer.get("retrievedMemories", [])]
        return [Memory(memory["fact"], _time(memory.get("eventTime"))) for memory in found]


@asynccontextmanager
async def open_bank(folder: Path, top_k: int, max_tokens: int) -> AsyncIterator[Bank]:
    """Open the service with its worker and its database in the folder, which is kept."""
    # One key and one engine do all the work.
    rates = dict.fromkeys(("key_rate_units_per_second", "engine_rate_units_per_second"), 0)
    async with in_process(folder, rates) as (resources, client), working(resources):
        model = resources.models.default
        assert model is not None
        yield Bank(client, model, top_k, max_tokens)


def _scope(conversation: Conversation, person: str) -> dict[str, str]:
    return {"user_id": f"{conversation.name}/{person}"}


def _events(session: Session, person: str) -> list[dict[str, Any]]:
    """Return the turns, a minute apart; everybody but the person is in an assistant's place."""
    return [
        {
            "content": {
                "role": "user" if turn.speaker == person else "model",
                "parts": [{"text": turn.text}],
            },
            "eventTime": (session.time + timedelta(minutes=number)).isoformat(),
        }
        for number, turn in enumerate(session.turns)
    ]


def _time(told: str | None) -> datetime | None:
    return None if told is None else datetime.fromisoformat(told)


def _since(began: float) -> int:
    return round((time.perf_counter() - began) * 1_000)
