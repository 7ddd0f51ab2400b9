"""How much one generation takes in and works on (decision 11)."""

import base64

import httpx
import pytest
from sqlalchemy import select

from app.adapters.db.session import Database
from app.platform.operations.services.runner import Runner
from app.platform.operations.store.tables import OperationRow
from app.settings.settings import Settings
from tests.support.bank import Json, field_of, listed, ok
from tests.support.generation import events, given, run, said, start
from tests.support.operations import USER, create_memory

TEA = "I like green tea."
FILE = base64.b64encode(b"secret bytes of a file").decode()


@pytest.fixture
def settings(settings: Settings, request: pytest.FixtureRequest) -> Settings:
    """The settings, changed as a test's indirect parameter says."""
    return settings.model_copy(update=getattr(request, "param", {}))


def _many(topics: int) -> list[Json]:
    return [{"customMemoryTopicLabel": str(number)} for number in range(topics)]


_EVENTS = "directContentsSource.events"
_BOUNDS: list[tuple[int, str]] = [(2_000, _EVENTS), (100, f"{_EVENTS}[0].content.parts")]


@pytest.mark.parametrize(("most", "named"), _BOUNDS)
async def test_a_conversation_has_a_length(
    client: httpx.AsyncClient, most: int, named: str
) -> None:
    for number in (most, most + 1):
        parts = [{"text": "x"}] * number
        source = events(*([{}] * number)) if named == _EVENTS else events({"parts": parts})
        answer = await client.post("/memories:generate", json={"scope": USER, **source})
        if number == most:
            ok(answer)
        else:
            assert field_of(answer) == named


async def test_topics_have_a_number(client: httpx.AsyncClient) -> None:
    body = {"scope": USER, **said(TEA), "allowedTopics": _many(51)}
    assert field_of(await client.post("/memories:generate", json=body)) == "allowedTopics"
    source = given(TEA, topics=_many(51))
    answer = await client.post("/memories:generate", json={"scope": USER, **source})
    assert field_of(answer) == "directMemoriesSource.directMemories[0].topics"


@pytest.mark.parametrize("settings", [{"generation_max_candidates": 2}], indirect=True)
async def test_what_is_too_much_for_one_generation_is_counted(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await create_memory(client, "I like chess.")
    source = said("Please forget that I like chess.", TEA, "I live in Oslo.")
    metadata = (await run(client, runner, source))["metadata"]
    assert (metadata["candidateCount"], metadata["omittedCandidateCount"]) == (3, 1)
    # A request to forget is heard, and the last word counts.
    assert await listed(client) == ["I live in Oslo."]
    metadata = (await run(client, runner, said(TEA)))["metadata"]
    assert metadata["candidateCount"] == 1
    assert "omittedCandidateCount" not in metadata


async def test_every_candidate_is_shown_its_own_neighbours(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    kept = (await create_memory(client, TEA))["name"]
    texts = [f"My colleague {number}x lives in Oslo." for number in range(30)]
    operation = await run(client, runner, said(*texts, TEA))
    assert operation["metadata"]["candidateCount"] == 31
    changed = {
        one["memory"]["name"]: one["action"] for one in operation["response"]["generatedMemories"]
    }
    assert changed.pop(kept) == "UPDATED"
    assert set(changed.values()) == {"CREATED"}
    assert len(changed) == 30


async def test_the_bytes_of_a_file_are_not_kept(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    file = {"inlineData": {"mimeType": "image/png", "data": FILE}}
    path = await start(client, events({"parts": [{"text": TEA}, file, {"inlineData": {}}]}))
    async with database.snapshot() as session:
        statement = select(OperationRow.request).where(OperationRow.engine_id == 1)
        (stored,) = (await session.execute(statement)).scalars()
    assert TEA in str(stored)
    assert FILE not in str(stored)
    await runner.run_pending()
    assert ok(await client.get(path))["metadata"]["skippedFileCount"] == 2
