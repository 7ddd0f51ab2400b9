"""How much one generation reads, and which files are stored."""

import base64
import json

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.llm.scripted import ScriptedTextModel
from app.adapters.resources import Resources
from app.memory.generation.services import extraction
from app.memory.ingestion.logic import plan
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, listed
from tests.support.ingestion import (
    IDLE,
    ended,
    event,
    events_of,
    hears,
    ingest,
    read,
    rule,
)
from tests.support.scripted import written_by

IMAGE = base64.b64encode(b"an image" * 100).decode()
_ROOM = 3_000


@pytest.fixture
def model() -> ScriptedTextModel:
    return ScriptedTextModel(hears, media_types=["image/png"])


@pytest.fixture
async def resources(resources: Resources, model: ScriptedTextModel) -> Resources:
    return written_by(resources, model)


@pytest.fixture
def _little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MAX_BATCH_BYTES", _ROOM)


def _shown(*media_types: str, text: str = "I like tea.") -> Json:
    """Return an event with a text and files."""
    files = [{"inlineData": {"mimeType": kind, "data": IMAGE}} for kind in media_types]
    return {"content": {"role": "user", "parts": [{"text": text}, *files]}}


def _long(number: int, length: int) -> Json:
    found = event(f"I like thing {number}.", f"e{number}")
    found["content"]["parts"].append({"text": "x" * length, "thought": True})
    return found


async def test_files_are_stored_where_the_model_reads_them(
    client: httpx.AsyncClient, runner: Runner, database: Database, model: ScriptedTextModel
) -> None:
    await ingest(client, _shown("image/png"), _shown("video/mp4", text="I like milk."), **IDLE)
    one, other = map(json.dumps, [row.content for row in await events_of(database)])
    assert IMAGE in one
    assert IMAGE not in other
    assert "video/mp4" in other
    done = await ended(client, runner, await ingest(client, forceFlush=True))
    assert len(model.prompts[0].attachments) == 1
    assert done["metadata"]["skippedFileCount"] == 1
    assert len(await listed(client)) == 2


@pytest.mark.parametrize(("room", "shown"), [(10**9, 20), (5 * 800, 5)])
async def test_a_model_is_given_so_many_files_and_told_the_rest(
    client: httpx.AsyncClient,
    runner: Runner,
    model: ScriptedTextModel,
    monkeypatch: pytest.MonkeyPatch,
    room: int,
    shown: int,
) -> None:
    monkeypatch.setattr(extraction, "MAX_FILE_BYTES", room)
    done = await ended(client, runner, await ingest(client, _shown(*["image/png"] * 23)))
    assert len(model.prompts[0].attachments) == shown
    assert done["metadata"]["skippedFileCount"] == 23 - shown
    assert done["metadata"]["skippedFiles"][0] == {"event": 0, "mimeType": "image/png"}
    assert await listed(client) == ["I like tea."]


@pytest.mark.usefixtures("_little_room")
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


@pytest.mark.usefixtures("_little_room")
async def test_an_overlap_is_no_longer(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    overlap = rule(event_count=4, overlap_event_count=3)
    said = [_long(number, 1_300) for number in range(4)]
    await ended(client, runner, await ingest(client, *said, **overlap))
    kept = [row.event_id for row in await events_of(database) if row.content is not None]
    assert kept == ["e2", "e3"]
