"""Lines that were read are context; the sequences of talks are in `test_sequences.py`."""

from datetime import timedelta

import httpx
from sqlalchemy import select

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.generation.store.tables import ReadLineRow
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from tests.support.bank import Json, listed, ok
from tests.support.generation import run
from tests.support.scripted import fact, facts, verdict, verdicts, written_by
from tests.support.scripted_models import Reply, ScriptedTextModel

OSLO, CELLO, TEA = "I live in Oslo.", "I play the cello.", "I like green tea."
TALK = (OSLO, CELLO, TEA, "Good night then.")


def _with_ids(texts: tuple[str, ...]) -> list[Json]:
    return [_event(text, eventId=f"e{n}") for n, text in enumerate(texts)]


def _with_neither(texts: tuple[str, ...]) -> list[Json]:
    return [_event(text) for text in texts]


def _event(text: str, **fields: str) -> Json:
    return {"content": {"role": "user", "parts": [{"text": text}]}, **fields}


def source(events: list[Json]) -> Json:
    return {"directContentsSource": {"events": events}}


async def names(client: httpx.AsyncClient) -> dict[str, str]:
    """Return the ids of memories by their facts."""
    found = ok(await client.get("/memories"))["memories"]
    return {one["fact"]: one["name"].rpartition("/")[2] for one in found}


async def test_a_window_of_a_talk_is_known_by_the_lines_around_each(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    talk = (OSLO, CELLO, TEA, "I work as a nurse.", "My sister is called Ida.")
    await run(client, runner, source(_with_neither(talk)))
    for name in (await names(client)).values():
        ok(await client.delete(f"/memories/{name}"))
    window = (*talk[1:], "I have a dog called Rex.")
    done = await run(client, runner, source(_with_neither(window)))
    assert await listed(client) == ["I have a dog called Rex."]
    assert done["metadata"]["knownEventCount"] == 4


async def test_a_lone_request_twice_a_day_is_perhaps_a_retry(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    asked = source(_with_neither((OSLO,)))
    await run(client, runner, asked)
    done = await run(client, runner, asked)
    assert done["metadata"]["updatedCount"] == 1
    ok(await client.delete(f"/memories/{(await names(client))[OSLO]}"))
    done = await run(client, runner, asked)
    assert await listed(client) == []
    assert done["metadata"]["droppedFactCounts"] == {"ALREADY_READ": 1}
    clock.advance(timedelta(days=1, seconds=1))
    await run(client, runner, asked)
    assert await listed(client) == [OSLO]


async def test_lines_are_forgotten_after_ninety_days(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock
) -> None:
    asked = source(_with_ids((OSLO,)))
    await run(client, runner, asked)
    ok(await client.delete(f"/memories/{(await names(client))[OSLO]}"))
    clock.advance(timedelta(days=89))
    await run(client, runner, asked)
    assert await listed(client) == []
    # A line that came again lives on.
    clock.advance(timedelta(days=89))
    await run(client, runner, asked)
    assert await listed(client) == []
    clock.advance(timedelta(days=91))
    await run(client, runner, asked)
    assert await listed(client) == [OSLO]


async def test_a_line_that_comes_again_is_written_once_a_tenth_of_its_time_is_over(
    client: httpx.AsyncClient, runner: Runner, clock: FixedClock, database: Database
) -> None:
    asked = source(_with_ids((OSLO,)))
    ends = []
    for days in (0, 8, 2):
        clock.advance(timedelta(days=days))
        await run(client, runner, asked)
        async with database.snapshot() as session:
            ends.append((await session.execute(select(ReadLineRow.expire_time))).scalar_one())
    assert ends[1] == ends[0]
    assert ends[2] == clock.now() + timedelta(days=90)


async def test_facts_of_known_lines_that_are_shown_again_are_counted(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, source(_with_ids((OSLO, CELLO))))
    done = await run(client, runner, source(_with_ids((OSLO, CELLO, TEA))))
    assert done["metadata"]["droppedFactCounts"] == {"ALREADY_READ": 2}
    assert set(await listed(client)) == {OSLO, CELLO, TEA}


async def test_without_consolidation_every_line_is_read_but_no_recalled_memory(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, source(_with_ids((OSLO,))))
    pasted = f"Relevant memories:\n- {OSLO}\n\nUser message: {TEA}"
    asked = source(_with_ids((OSLO, pasted)))
    done = await run(client, runner, asked, disableConsolidation=True)
    assert sorted(await listed(client)) == sorted((OSLO, OSLO, TEA))
    assert done["metadata"]["recalledLineCount"] == 1


async def test_a_preview_and_a_failed_generation_read_nothing(
    client: httpx.AsyncClient, resources: Resources, runner: Runner
) -> None:
    asked = source(_with_ids(TALK))
    await run(client, runner, asked, validateOnly=True)
    failing = make_runner(written_by(resources, ScriptedTextModel([])))
    answer = ok(await client.post("/memories:generate", json={"scope": {"user_id": "42"}, **asked}))
    await failing.run_pending()
    assert "error" in ok(await client.get(f"/operations/{answer['name'].rpartition('/')[2]}"))
    done = await run(client, runner, asked)
    assert done["metadata"]["createdCount"] == 3


async def test_a_model_gets_the_new_lines_and_some_before_them(
    client: httpx.AsyncClient,
    resources: Resources,
    script: list[Reply],
    model: ScriptedTextModel,
) -> None:
    runner = make_runner(written_by(resources, model))
    talk = tuple(f"I have {n} books about history." for n in range(20, 40))
    script += [
        facts(*(fact(text, line=n) for n, text in enumerate(talk))),
        facts(talk[-1], "I have a dog called Rex."),
        verdicts(verdict("add")),
    ]
    await run(client, runner, source(_with_ids(talk)))
    done = await run(client, runner, source(_with_ids((*talk, "I have a dog called Rex."))))
    lines = model.prompts[-2].text.splitlines()[1:]
    assert [line.split(":")[0] for line in lines] == [*(f"{n} R" for n in range(12, 20)), "20 U"]
    # The fact of the line that was read counts no more.
    assert done["metadata"]["droppedFactCounts"] == {"ALREADY_READ": 1}
    assert done["metadata"]["createdCount"] == 1
    # No new line: no call.
    calls = len(model.prompts)
    await run(client, runner, source(_with_ids(talk)))
    assert len(model.prompts) == calls


async def test_who_changes_the_model_reads_again_what_left_nothing(
    client: httpx.AsyncClient,
    resources: Resources,
    script: list[Reply],
    model: ScriptedTextModel,
    runner: Runner,
) -> None:
    told = source(_with_ids(("The thing with the boat is settled.", OSLO)))
    await run(client, runner, told)
    assert await listed(client) == [OSLO]
    script += [facts("The thing with the boat is settled."), verdicts(verdict("add"))]
    await run(client, make_runner(written_by(resources, model)), told)
    assert "0 U: The thing with the boat is settled." in model.prompts[0].text
    assert f": {OSLO}" not in model.prompts[0].text
