"""Questions and summaries of what task memory holds, and the models that are asked them."""

import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from app.settings.surface_settings import ReaderModel
from tests.support.bank import Json
from tests.support.model_server import ModelServer
from tests.support.tasks import MEMORY, NAMESPACE

QUESTION = "What does the green kettle cost?"
FACT = "The green kettle costs 42 coins."
ITEMS: Json = {
    "type": "object",
    "properties": {"item": {"type": "string"}, "unitPrice": {"type": "number"}},
    "required": ["item"],
}
NEAR, FAR = "near", "far"
"""Readers: one that runs here, and one that does not."""


def readers(server: ModelServer, **fields: Any) -> Mapping[str, ReaderModel]:
    """Return the setting by which a server's model is both readers; `near` comes first."""
    said = {"base_url": server.url, "max_input_tokens": 4_000, **fields}
    return {
        NEAR: ReaderModel(model="openai:near", locality="local", **said),
        FAR: ReaderModel(model="openai:far", locality="remote", **said),
    }


def answered(text: str, *citations: int) -> Json:
    """Return the reply to a question."""
    return {"answer": text, "citations": [*citations]}


def summarised(text: str) -> Json:
    """Return the reply to a text that is to be summarised."""
    return {"summary": text}


async def query(
    client: httpx.AsyncClient, path: str = NAMESPACE, /, **fields: Any
) -> httpx.Response:
    params = fields.pop("params", None)
    body = {"query": QUESTION, **fields}
    return await client.post(f"{path}:query", json=body, params=params)


async def summarize(
    client: httpx.AsyncClient, path: str = NAMESPACE, /, **fields: Any
) -> httpx.Response:
    params = fields.pop("params", None)
    return await client.post(f"{path}:summarize", json=fields, params=params)


async def extract(
    client: httpx.AsyncClient, path: str = NAMESPACE, /, **fields: Any
) -> httpx.Response:
    """Have rows extracted, of items with prices unless told otherwise."""
    params = fields.pop("params", None)
    return await client.post(f"{path}:extract", json={"schema": ITEMS, **fields}, params=params)


def extracted(*rows: Json) -> Json:
    """Return the reply to a text from which rows are to be extracted, all of its first passage."""
    return {"rows": [{"passage": 1, "row": json.dumps(row)} for row in rows]}


def kept_in(answer: Json) -> str:
    """Return the path of the namespace in which a result is kept."""
    return f"{MEMORY}/namespaces/{answer['reference']['namespace']}"


def heard(server: ModelServer) -> Sequence[str]:
    """Return what the model was told, request by request."""
    return ["\n".join(str(one["content"]) for one in seen.body["messages"]) for seen in server.seen]


def models(server: ModelServer) -> Sequence[str]:
    """Return which models were asked, request by request."""
    return [seen.body["model"] for seen in server.seen]


class Gate:
    """A reply that is held back until the test opens it."""

    def __init__(self, answer: Json) -> None:
        self._answer = answer
        self._opened = threading.Event()

    def __call__(self, _: Mapping[str, Any]) -> Json:
        # Of the thread of the model's server, which has nothing else to do.
        assert self._opened.wait(timeout=30)
        return self._answer

    def open(self) -> None:
        self._opened.set()


async def asked(server: ModelServer, times: int = 1) -> None:
    """Wait until the model has been asked so often."""
    async with asyncio.timeout(30):
        # It runs in a thread of its own.
        while len(server.seen) < times:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)
