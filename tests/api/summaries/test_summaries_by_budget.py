"""The summary of `agent_summary`: when the newest events outgrow their share, of what, how long."""

import httpx
import pytest

from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, ok
from tests.support.scripted import written_by
from tests.support.sessions import event
from tests.support.summaries import Summariser, context, session_with, summaries

POLICY = {"strategy": "agent_summary", "tokenLimit": 4032}
SYSTEM = "s" * 928


@pytest.fixture
def model() -> Summariser:
    return Summariser()


@pytest.fixture
def resources(resources: Resources, model: Summariser) -> Resources:
    return written_by(resources, model)


def numbered(number: int, tokens: int = 100) -> Json:
    """Return an event of so many tokens, which begins with its number."""
    author = "user" if number % 2 else "agent"
    content = {"role": "user" if number % 2 else "model"}
    text = f"[{number}]".ljust(4 * tokens, ".")
    return event(author=author, content={**content, "parts": [{"text": text}]})


async def tell(client: httpx.AsyncClient, path: str, first: int, last: int, **size: int) -> None:
    """Append events with numbers from the one to the other."""
    events = [numbered(number, **size) for number in range(first, last + 1)]
    ok(await client.post(f"{path}/events:batch", json={"events": events}))


async def summarised(client: httpx.AsyncClient, runner: Runner, path: str) -> Json:
    """Compose a context, have made what it asks for, and compose it again."""
    await context(client, path, systemPrompt=SYSTEM)
    await runner.run_pending()
    return await context(client, path, systemPrompt=SYSTEM)


async def test_one_call_reads_all_that_has_left_the_window(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **POLICY)
    await tell(client, path, 1, 54)
    found = await summarised(client, runner, path)
    assert len(model.asked) == 1
    (summary,) = await summaries(client, path)
    assert summary["kind"] == "full"
    assert summary["inputs"] == {"firstSeq": 1, "lastSeq": 32}
    assert "[32]" in model.texts[0]
    assert "[33]" not in model.texts[0]
    assert found["coverage"]["verbatim"] == [{"firstSeq": 33, "lastSeq": 54}]
    assert found["coverage"]["omitted"] == []


async def test_the_event_too_many_makes_it_recursive_of_that_event_only(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **POLICY)
    await tell(client, path, 1, 54)
    await summarised(client, runner, path)
    await tell(client, path, 55, 55)
    found = await summarised(client, runner, path)
    assert len(model.asked) == 2
    (summary,) = await summaries(client, path)
    assert (summary["kind"], summary["version"]) == ("recursive", 2)
    assert summary["inputs"] == {"firstSeq": 33, "lastSeq": 33}
    assert summary["covers"] == {"firstSeq": 1, "lastSeq": 33}
    assert "summary 1" in model.texts[1]
    assert [f"[{one}]" in model.texts[1] for one in (32, 33, 34)] == [False, True, False]
    assert found["coverage"]["verbatim"] == [{"firstSeq": 34, "lastSeq": 55}]


async def test_while_the_model_takes_all_events_they_are_read_anew(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **POLICY)
    await tell(client, path, 1, 30)
    await summarised(client, runner, path)
    await tell(client, path, 31, 31)
    await summarised(client, runner, path)
    (summary,) = await summaries(client, path)
    assert (summary["kind"], summary["version"]) == ("full", 2)
    assert summary["inputs"] == {"firstSeq": 1, "lastSeq": 9}
    assert summary["previousSummaries"] == []
    assert "[1]" in model.texts[1]
    assert len(await summaries(client, path, state="superseded")) == 1


async def test_what_is_longer_than_asked_is_asked_for_again_and_then_cut(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **POLICY)
    model.length = 9_000
    await tell(client, path, 1, 23)
    await summarised(client, runner, path)
    assert len(model.asked) == 2
    assert "3000" in model.texts[0]
    assert "9000" in model.prompts[1].instructions
    (summary,) = await summaries(client, path)
    assert summary["charLimit"] == 3000
    assert summary["cut"]
    assert 0 < len(summary["text"]) <= 3000


async def test_the_default_template_asks_for_points_decisions_and_actions(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await session_with(client, **POLICY)
    await tell(client, path, 1, 54)
    await summarised(client, runner, path)
    await tell(client, path, 55, 55)
    await summarised(client, runner, path)
    templates = [one["template"] for one in await summaries(client, path, state=None)]
    assert len(set(templates)) == 2
    for template in templates:
        for wanted in ("key points", "decisions", "actions that were assigned", "{char_limit}"):
            assert wanted in template.replace("\n", " ")


async def test_without_a_new_event_no_call_is_made(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **POLICY)
    await tell(client, path, 1, 54)
    first = await summarised(client, runner, path)
    assert await summarised(client, runner, path) == first
    assert len(model.asked) == 1


async def test_exactly_full_needs_no_summary(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **POLICY)
    await tell(client, path, 1, 10, tokens=225)
    await summarised(client, runner, path)
    assert model.asked == []
    await tell(client, path, 11, 11, tokens=225)
    await summarised(client, runner, path)
    assert len(model.asked) == 1


async def test_a_low_water_mark_makes_summaries_seldom(
    client: httpx.AsyncClient, runner: Runner, model: Summariser
) -> None:
    path = await session_with(client, **POLICY, lowWater=0.8)
    for number in range(1, 101):
        await tell(client, path, number, number)
        if number > 20:
            await context(client, path, systemPrompt=SYSTEM)
            await runner.run_pending()
    assert len(model.asked) <= 16


async def test_waiting_gives_the_context_with_its_summary(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await session_with(client, **POLICY)
    await tell(client, path, 1, 54)
    await context(client, path, systemPrompt=SYSTEM)
    await runner.run_pending()
    body = {"systemPrompt": SYSTEM, "consistency": "wait"}
    found = await context(client, path, **body)
    assert found["summaryState"] == "current"
    assert found["coverage"]["summarised"][0]["lastSeq"] == 32
