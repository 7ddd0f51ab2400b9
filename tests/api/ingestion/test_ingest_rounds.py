"""Streams that are longer than one generation reads: they are read in several rounds."""

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.bank import Json, listed
from tests.support.ingestion import IDLE, ended, event, events_of, hears, ingest, read, rule
from tests.support.scripted import written_by
from tests.support.scripted_models import ScriptedTextModel

_ROOM = 3_000


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"max_generation_chars": _ROOM})


@pytest.fixture
def model() -> ScriptedTextModel:
    return ScriptedTextModel(hears)


@pytest.fixture
async def resources(resources: Resources, model: ScriptedTextModel) -> Resources:
    return written_by(resources, model)


def _long(number: int, length: int) -> Json:
    found = event(f"I like thing {number}.", f"e{number}")
    found["content"]["parts"].append({"text": "x" * length, "thought": True})
    return found


async def test_what_is_long_takes_several_generations_of_one_operation(
    client: httpx.AsyncClient, runner: Runner, model: ScriptedTextModel
) -> None:
    first = await ingest(client, *(_long(number, 1_000) for number in range(5)), **IDLE)
    flush = await ingest(client, _long(5, 2 * _ROOM), forceFlush=True)
    assert flush["name"] == first["name"]
    # Two, two, one, and one that is longer than all that is read.
    assert await runner.run_pending() == 4
    done = await read(client, flush)
    assert done["done"] is True
    assert (done["metadata"]["eventCount"], done["metadata"]["pendingEventCount"]) == (6, 0)
    assert done["metadata"]["modelCallCount"] == len(model.asked)
    generated = await read(client, {"name": done["response"]["generateMemoriesOperation"]})
    assert len(generated["response"]["generatedMemories"]) == 6
    assert generated["metadata"]["modelCallCount"] == len(model.asked)
    assert len(await listed(client)) == 6


async def test_an_overlap_is_no_longer(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    overlap = rule(event_count=4, overlap_event_count=3)
    said = [_long(number, 1_300) for number in range(4)]
    await ended(client, runner, await ingest(client, *said, **overlap))
    kept = [row.event_id for row in await events_of(database) if row.content is not None]
    assert kept == ["e2", "e3"]
