"""When something was said may be any moment that the calendar has."""

import httpx
import pytest

from app.adapters.llm.scripted import Reply, ScriptedTextModel
from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from tests.support.bank import Json, listed
from tests.support.generation import run
from tests.support.scripted import facts, written_by

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
