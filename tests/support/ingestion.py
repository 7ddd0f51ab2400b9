"""Ingestion in the API tests: events, requests, and what is stored of a stream."""

import re
from collections.abc import Awaitable, Callable
from datetime import timedelta

import httpx
from sqlalchemy import select
from typing_extensions import override

from app.adapters.db.session import Database
from app.adapters.llm.ports import Vectors
from app.kernel.clock import FixedClock
from app.memory.ingestion.store.tables import StreamEventRow
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, ok
from tests.support.operations import USER, path_of
from tests.support.scripted import fact
from tests.support.scripted_models import Reply, ScriptedEmbedder, ScriptedQuery

TEA = "I like green tea."
OSLO = "I live in Oslo."
DOG = "My dog is called Rex."
SIX_FACTS = (
    TEA,
    OSLO,
    DOG,
    "I am allergic to nuts.",
    "I work as a nurse.",
    "My favorite color is blue.",
)


class MeddlingEmbedder(ScriptedEmbedder):
    """Lets something else happen during its next call."""

    def __init__(self) -> None:
        super().__init__()
        self.meddle: Callable[[], Awaitable[object]] | None = None

    @override
    async def embed(self, texts: list[str]) -> Vectors:  # type: ignore[override]
        found = await super().embed(texts)
        act, self.meddle = self.meddle, None
        if act is not None:
            await act()
        return found


def event(text: str, event_id: str | None = None, time: str | None = None) -> Json:
    """Return an event that a user said."""
    found: Json = {"content": {"role": "user", "parts": [{"text": text}]}}
    if event_id is not None:
        found["event_id"] = event_id
    if time is not None:
        found["event_time"] = time
    return found


def rule(**parts: object) -> Json:
    """Return the field of a request that gives a rule, as the official client writes it."""
    return {"generationTriggerConfig": {"generation_rule": parts}}


IDLE = rule(idle_duration="300s")


async def ingest(client: httpx.AsyncClient, *events: Json | str, **fields: object) -> Json:
    """Send events, or texts of a user, to the usual scope; return the operation."""
    listed = [event(one) if isinstance(one, str) else one for one in events]
    body: Json = {"scope": USER, **fields}
    if listed:
        body["directContentsSource"] = {"events": listed}
    return ok(await client.post("/memories:ingestEvents", json=body))


async def read(client: httpx.AsyncClient, operation: Json) -> Json:
    """Return an operation as it is now."""
    return ok(await client.get(path_of(operation["name"])))


async def ended(client: httpx.AsyncClient, runner: Runner, operation: Json) -> Json:
    """Run what is due; return the operation, which must have succeeded."""
    await runner.run_pending()
    found = await read(client, operation)
    assert found["done"], found
    assert "error" not in found, found
    return found


async def runs_after(runner: Runner, clock: FixedClock, **length: float) -> int:
    """Let time pass; return how many operations ran then."""
    clock.advance(timedelta(**length))
    return await runner.run_pending()


def hears(asked: ScriptedQuery) -> Reply:
    """Answer as a model that finds what users like, and changes nothing that is known."""
    if "verdicts" in asked.output.model_fields:
        return {"verdicts": []}
    heard = re.findall(r"^(\d+) U.*?: (I like .*\.)$", asked.prompt.text, re.MULTILINE)
    return {"facts": [fact(text, line=int(line)) for line, text in heard]}


async def events_of(database: Database) -> list[StreamEventRow]:
    """Return every stored event, in the order of arrival."""
    async with database.snapshot() as session:
        statement = select(StreamEventRow).order_by(StreamEventRow.stream_id, StreamEventRow.seq)
        return list((await session.execute(statement)).scalars())
