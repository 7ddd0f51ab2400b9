"""When something was said may be any moment that the calendar has."""

import httpx
import pytest
from sqlalchemy import select

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.memory.memories.store.tables import MemoryRow
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from tests.support.bank import Json, listed
from tests.support.generation import run, said
from tests.support.scripted import facts, written_by
from tests.support.scripted_models import Reply, ScriptedTextModel

EDGES = pytest.mark.parametrize(
    ("time", "zone"),
    [
        ("0001-01-01T00:00:00Z", "America/New_York"),
        ("9999-12-31T23:59:59Z", "Pacific/Kiritimati"),
    ],
)
LIKES = "I like swimming today."


def _said_at(time: str) -> Json:
    content = {"role": "user", "parts": [{"text": LIKES}]}
    return {"directContentsSource": {"events": [{"content": content, "eventTime": time}]}}


@EDGES
async def test_the_rules_take_the_ends_of_the_calendar(
    client: httpx.AsyncClient, runner: Runner, time: str, zone: str
) -> None:
    await run(client, runner, _said_at(time), timeZone=zone)
    assert await listed(client) == [f"I like swimming today ({time[:10]})."]


@EDGES
async def test_and_so_does_the_work_with_a_model(
    client: httpx.AsyncClient,
    resources: Resources,
    script: list[Reply],
    model: ScriptedTextModel,
    time: str,
    zone: str,
) -> None:
    script += [facts(LIKES)]
    runner = make_runner(written_by(resources, model))
    await run(client, runner, _said_at(time), timeZone=zone)
    assert await listed(client) == [f"I like swimming today ({time[:10]})."]
    assert f"0 U {time[:10]} " in model.prompts[0].text


@pytest.mark.parametrize(
    ("time", "zone", "day"),
    [
        ("2025-11-26T23:30:00-05:00", None, "2025-11-26"),
        ("2025-11-27T04:30:00Z", "America/New_York", "2025-11-26"),
        ("2025-12-31T20:00:00Z", "Asia/Tokyo", "2026-01-01"),
        ("2025-12-31T20:00:00+02:00", "Asia/Tokyo", "2026-01-01"),
        # Said now, at noon in UTC.
        (None, "Pacific/Kiritimati", "2026-01-16"),
        (None, None, "2026-01-15"),
    ],
)
async def test_a_search_finds_the_day_on_the_speakers_calendar(
    client: httpx.AsyncClient,
    runner: Runner,
    database: Database,
    time: str | None,
    zone: str | None,
    day: str,
) -> None:
    source = _said_at(time) if time else said(LIKES)
    await run(client, runner, source, **({"timeZone": zone} if zone else {}))
    async with database.snapshot() as session:
        (hints,) = (await session.execute(select(MemoryRow.cues))).scalars()
    assert f"said:{day}" in (hints or ())
