"""Recalled memories, pieces of statements, and the zones of their days."""

import httpx
import pytest

from app.platform.operations.services.runner import Runner
from tests.support.bank import ENGINE, Json, listed, ok
from tests.support.engines import update_engine
from tests.support.generation import run, said
from tests.support.sessions import append, new_path


async def test_known_lines_of_a_list_are_left_out_and_counted(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    for fact in ("I live in Oslo.", "I like green tea."):
        await run(client, runner, said(fact))
    block = "- I live in Oslo.\n- I like green tea.\n- I own a boat.\n\nCan you help me?"
    done = await run(client, runner, said(block))
    assert done["metadata"]["recalledLineCount"] == 3
    assert len(await listed(client)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "Some facts about me:\n- I live in Rome.\n- I have a dog called Rex.\n\nWhat do you think?",
        "- I live in Rome.\n- I have a dog called Rex.",
        "What I know about the user interface:\n- I live in Rome.\n- I own a boat.\n\nOK",
        "Facts about the user experience:\n- I live in Rome.\n- I have a dog called Rex.\n\nFine?",
        "What we know about the user's manual:\n- I live in Rome.\n- I own a boat.\n\nOK?",
        "About the user:\n- I live in Rome.\n- I have a dog called Rex.\nNothing more.",
        "| City | Pet |\n|---|---|\n| I live in Rome. | I have a dog called Rex. |",
        "As for me (I live in Rome.), listen. I have a dog called Rex.",
    ],
)
async def test_a_users_own_list_is_read(
    client: httpx.AsyncClient, runner: Runner, text: str
) -> None:
    await run(client, runner, said(text))
    assert len(await listed(client)) == 2


@pytest.mark.parametrize(
    "parts",
    [
        ["I was born in 1990.", "2 of my brothers live in Rome."],
        ["My phone number is 555 1234.", "10 km from here lives my sister Ann."],
        ["I moved to Oslo in 2019.", "5 of my friends live in Rome."],
    ],
)
async def test_a_sentence_that_ends_with_a_number_ends(
    client: httpx.AsyncClient, runner: Runner, parts: list[str]
) -> None:
    content = {"role": "user", "parts": [{"text": part} for part in parts]}
    await run(client, runner, {"directContentsSource": {"events": [{"content": content}]}})
    facts = await listed(client)
    assert facts
    assert all(parts[0] in fact or parts[0] not in fact + parts[1] for fact in facts)
    assert not [fact for fact in facts if parts[1][:4] in fact and parts[0][-5:] in fact]


async def test_a_sentence_goes_on_behind_a_recalled_text(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, said("I live in Berlin."))
    await run(client, runner, said("My sister (I live in Berlin.) works at a bakery."))
    assert sorted(await listed(client)) == ["I live in Berlin.", "My sister works at a bakery."]


async def test_a_table_that_corrects_memories_is_read(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, said("I live in Berlin.", "I have a cat called Tom."))
    rows = [
        "| Memory | Correction |",
        "| --- | --- |",
        "| I live in Berlin. | I live in Munich now. |",
        "| I have a cat called Tom. | I have a dog called Rex. |",
    ]
    done = await run(client, runner, said("\n".join([*rows, "", "Please note."])))
    assert "recalledLineCount" not in done["metadata"]


async def test_pieces_of_a_statement_are_one_utterance(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, said("My sister works", "at a bakery."))
    assert await listed(client) == ["My sister works at a bakery."]


def _visit(time: str) -> Json:
    content = {"role": "user", "parts": [{"text": "I saw the dentist today."}]}
    return {"directContentsSource": {"events": [{"content": content, "eventTime": time}]}}


@pytest.mark.parametrize(
    ("time", "fields", "engine", "day"),
    [
        ("2026-01-10T23:30:00-05:00", {}, None, "2026-01-10"),
        ("2026-01-10T23:30:00Z", {}, None, "2026-01-10"),
        ("2026-01-10T23:30:00Z", {}, "Europe/Berlin", "2026-01-11"),
        ("2026-01-10T23:30:00-05:00", {}, "Europe/Berlin", "2026-01-10"),
        ("2026-01-10T23:30:00-05:00", {"timeZone": "Europe/Berlin"}, None, "2026-01-11"),
    ],
)
async def test_today_is_the_day_of_the_speaker(
    client: httpx.AsyncClient,
    runner: Runner,
    time: str,
    fields: Json,
    engine: str | None,
    day: str,
) -> None:
    if engine is not None:
        config: Json = {"memoryBankConfig": {"timeZone": engine}}
        await update_engine(client, ENGINE, contextSpec=config)
    await run(client, runner, _visit(time), **fields)
    (fact,) = await listed(client)
    assert day in fact


async def test_an_event_of_a_session_keeps_its_offset_and_answers_utc(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await new_path(client)
    time = "2026-01-10T23:30:00-05:00"
    await append(client, path, "I saw the dentist today.", timestamp=time)
    (event,) = ok(await client.get(f"{path}/events"))["sessionEvents"]
    assert event["timestamp"] == "2026-01-11T04:30:00Z"
    await run(client, runner, {"vertexSessionSource": {"session": f"{ENGINE}{path}"}})
    (fact,) = await listed(client)
    assert "2026-01-10" in fact


async def test_an_update_that_does_not_name_the_zone_keeps_it(client: httpx.AsyncClient) -> None:
    zone: Json = {"memoryBankConfig": {"timeZone": "Europe/Berlin"}}
    await update_engine(client, ENGINE, contextSpec=zone)
    without: Json = {"memoryBankConfig": {"disableMemoryRevisions": True}}
    await update_engine(client, ENGINE, contextSpec=without)
    config = ok(await client.get(""))["contextSpec"]["memoryBankConfig"]
    assert config["timeZone"] == "Europe/Berlin"


@pytest.mark.parametrize(
    "text",
    ["Import duties are high. I live in Oslo.", "I live in Oslo <3", "Update: I live in Oslo."],
)
async def test_words_that_look_like_code_are_read(
    client: httpx.AsyncClient, runner: Runner, text: str
) -> None:
    await run(client, runner, said(text))
    assert len(await listed(client)) == 1
