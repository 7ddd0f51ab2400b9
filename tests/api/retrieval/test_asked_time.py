"""Searches by questions about time: what lies inside their span comes first."""

from datetime import timedelta

import httpx
import pytest

from app.kernel.clock import FixedClock
from app.memory.retrieval.logic.ranking import WEIGHTS
from tests.support.bank import Json, ok, retrieved
from tests.support.operations import USER, create_memory
from tests.support.scripted_models import ScriptedEmbedder

_TODAY = "2026-01-15"


@pytest.fixture(autouse=True)
def _words_alone(embedder: ScriptedEmbedder) -> None:
    embedder.lexical_only = True


async def _said(client: httpx.AsyncClient, day: str, fact: str) -> None:
    metadata = {"event_time": {"timestampValue": f"{day}T10:00:00Z"}}
    await create_memory(client, fact, metadata=metadata)


async def _found(client: httpx.AsyncClient, query: str, **body: Json) -> list[str]:
    return await retrieved(client, similaritySearchParams={"searchQuery": query}, **body)


@pytest.fixture
async def _runs(client: httpx.AsyncClient) -> None:
    await _said(client, "2025-11-03", "I finished a run of 4 km.")
    await _said(client, "2025-12-20", "I moved to Leeds.")
    await _said(client, "2025-12-28", "I finished a run of 6 km in the rain.")
    await _said(client, "2026-01-08", "I finished a run of 8 km by the canal.")
    await _said(client, "2026-01-09", "I signed up for a race on 4 May.")


@pytest.mark.usefixtures("_runs")
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("which run did I finish last week?", "I finished a run of 8 km by the canal."),
        ("my most recent run", "I finished a run of 8 km by the canal."),
        ("my first run", "I finished a run of 4 km."),
        ("which run did I finish in November?", "I finished a run of 4 km."),
        ("which run did I finish before I moved to Leeds?", "I finished a run of 4 km."),
        (
            "which was the first run since I moved to Leeds?",
            "I finished a run of 6 km in the rain.",
        ),
        ("any upcoming race?", "I signed up for a race on 4 May."),
    ],
)
@pytest.mark.parametrize("filters", [{}, {"filter": 'fact!="x"'}], ids=["fast", "filtered"])
async def test_what_lies_in_the_span_comes_first(
    client: httpx.AsyncClient, query: str, first: str, filters: Json
) -> None:
    assert (await _found(client, query, **filters))[0] == first


async def test_today_is_the_day_of_the_engines_zone(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _said(client, "2026-01-14", "I finished a run of 4 km.")
    await _said(client, "2026-01-15", "I finished a run of 6 km.")
    clock.advance(timedelta(hours=11))  # in Berlin it is the next day
    body: Json = {"contextSpec": {"memoryBankConfig": {"timeZone": "Europe/Berlin"}}}
    engine = "http://test/v1beta1/projects/default/locations/local/reasoningEngines/1"
    assert (await _found(client, "which run did I finish yesterday?"))[0].endswith("4 km.")
    ok(await client.patch(engine, params={"updateMask": "contextSpec"}, json=body))
    assert (await _found(client, "which run did I finish yesterday?"))[0].endswith("6 km.")


async def test_the_signal_of_time_explains_the_order(client: httpx.AsyncClient) -> None:
    await _said(client, _TODAY, "I finished a run of 4 km.")
    body = {
        "scope": USER,
        "similaritySearchParams": {"searchQuery": "which run did I finish today?"},
        "explain": True,
    }
    answer = ok(await client.post("/memories:retrieve", json=body))
    (hit,) = answer["retrievedMemories"]
    assert hit["explanation"]["signals"]["time"] == WEIGHTS.time
