"""How much one generation reads, and which files are stored."""

import base64
import json

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.memory.generation.services import extraction
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, listed
from tests.support.ingestion import (
    IDLE,
    ended,
    events_of,
    hears,
    ingest,
)
from tests.support.scripted import written_by
from tests.support.scripted_models import ScriptedTextModel

IMAGE = base64.b64encode(b"an image" * 100).decode()


@pytest.fixture
def model() -> ScriptedTextModel:
    return ScriptedTextModel(hears, media_types=["image/png"])


@pytest.fixture
async def resources(resources: Resources, model: ScriptedTextModel) -> Resources:
    return written_by(resources, model)


def _shown(*media_types: str, text: str = "I like tea.") -> Json:
    """Return an event with a text and files."""
    files = [{"inlineData": {"mimeType": kind, "data": IMAGE}} for kind in media_types]
    return {"content": {"role": "user", "parts": [{"text": text}, *files]}}


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
