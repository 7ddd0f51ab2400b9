"""What was said later wins, whatever was read later; more cases are in `test_cases_in_time.py`."""

import httpx
import pytest

from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from tests.support.bank import Json, listed, ok
from tests.support.generation import run
from tests.support.scripted import fact, facts, verdict, verdicts, written_by
from tests.support.scripted_models import Reply, ScriptedTextModel

EARLY, LATE = "2024-01-05T10:00:00Z", "2025-11-20T10:00:00Z"
"""Both before the clock of the tests."""


def spoken(*turns: tuple[str, str]) -> Json:
    """Return a source of turns of a user, each with its time."""
    events = [
        {"content": {"role": "user", "parts": [{"text": text}]}, "eventTime": time}
        for text, time in turns
    ]
    return {"directContentsSource": {"events": events}}


async def test_a_dropped_fact_is_counted_and_a_preview_names_the_newer_memory(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    done = await run(client, runner, spoken(("I live in Bergen now.", LATE)))
    (change,) = done["response"]["generatedMemories"]
    asked = spoken(("I live in Oslo.", EARLY))
    preview = await run(client, runner, asked, validateOnly=True)
    (dropped,) = preview["response"]["droppedFacts"]
    assert (dropped["reason"], dropped["memory"]) == ("OLDER", change["memory"])
    done = await run(client, runner, asked)
    assert done["metadata"]["droppedFactCounts"] == {"OLDER": 1}


async def test_an_older_statement_that_contradicts_nothing_is_added_with_its_time(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, spoken(("I live in Bergen now.", LATE)))
    await run(client, runner, spoken(("I have a dog called Rex.", EARLY)))
    times = {one["fact"]: one["eventTime"] for one in ok(await client.get("/memories"))["memories"]}
    assert times == {"I live in Bergen now.": LATE, "I have a dog called Rex.": EARLY}


async def test_a_correction_by_hand_is_newer_than_an_earlier_talk(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    done = await run(client, runner, spoken(("I live in Oslo.", EARLY)))
    name = done["response"]["generatedMemories"][0]["memory"]["name"].rpartition("/")[2]
    ok(await client.patch(f"/memories/{name}", json={"fact": "I live in Bergen."}))
    await run(client, runner, spoken(("I live in Rome.", LATE)))
    assert await listed(client) == ["I live in Bergen."]


async def test_a_change_of_labels_holds_nothing(client: httpx.AsyncClient, runner: Runner) -> None:
    done = await run(client, runner, spoken(("I live in Oslo.", EARLY)))
    name = done["response"]["generatedMemories"][0]["memory"]["name"].rpartition("/")[2]
    ok(await client.patch(f"/memories/{name}", json={"metadata": {"a": {"stringValue": "b"}}}))
    await run(client, runner, spoken(("I live in Bergen now.", LATE)))
    assert await listed(client) == ["I live in Bergen now."]


async def test_a_time_that_metadata_name_is_taken_at_its_word(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    done = await run(client, runner, spoken(("I live in Oslo.", LATE)))
    name = done["response"]["generatedMemories"][0]["memory"]["name"].rpartition("/")[2]
    body = {
        "fact": "I live in Rome.",
        "metadata": {"event_time": {"timestampValue": "2023-01-01T00:00:00Z"}},
    }
    ok(await client.patch(f"/memories/{name}", json=body))
    await run(client, runner, spoken(("I live in Bergen now.", EARLY)))
    assert await listed(client) == ["I live in Bergen now."]


async def test_the_time_of_a_fact_that_is_said_again_never_goes_back(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    for time in (EARLY, LATE, "2025-01-01T00:00:00Z"):
        await run(client, runner, spoken(("I live in Oslo.", time)))
    (memory,) = ok(await client.get("/memories"))["memories"]
    assert memory["eventTime"] == LATE


async def test_a_request_to_forget_reaches_only_what_was_said_before_it(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, spoken(("I like green tea.", LATE)))
    done = await run(client, runner, spoken(("Please forget that I like green tea.", EARLY)))
    assert await listed(client) == ["I like green tea."]
    (unmet,) = done["metadata"]["unmetForgetRequests"]
    (kept,) = ok(await client.get("/memories"))["memories"]
    assert (unmet["reason"], unmet["nearest"]) == ("OLDER", [kept["name"]])
    later = "2026-01-01T00:00:00Z"
    await run(client, runner, spoken(("Please forget that I like green tea.", later)))
    assert await listed(client) == []


async def test_a_request_to_forget_says_that_what_it_means_was_set_by_hand_later(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    done = await run(client, runner, spoken(("I like green tea.", EARLY)))
    name = done["response"]["generatedMemories"][0]["memory"]["name"]
    ok(await client.patch(f"/memories/{name.rpartition('/')[2]}", json={"fact": "I like tea."}))
    done = await run(client, runner, spoken(("Please forget that I like tea.", LATE)))
    (unmet,) = done["metadata"]["unmetForgetRequests"]
    assert (unmet["reason"], unmet["nearest"]) == ("OLDER", [name])
    assert await listed(client) == ["I like tea."]


@pytest.mark.parametrize("said_first", ["I like green tea.", "my phone number", "my dog Rex"])
async def test_a_request_to_forget_nothing_that_is_known_finds_nothing(
    client: httpx.AsyncClient, runner: Runner, said_first: str
) -> None:
    await run(client, runner, spoken(("I love jazz.", LATE), ("I live in Bergen.", LATE)))
    done = await run(client, runner, spoken((f"Please forget {said_first}", EARLY)))
    assert done["metadata"]["unmetForgetRequests"][0]["reason"] == "NOTHING_FOUND"


async def test_a_list_filters_by_the_time_at_which_it_was_said(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await run(client, runner, spoken(("I live in Bergen now.", LATE)))
    await run(client, runner, spoken(("I have a dog called Rex.", EARLY)))
    found = await client.get("/memories", params={"filter": 'event_time >= "2025-01-01T00:00:00Z"'})
    assert [one["fact"] for one in ok(found)["memories"]] == ["I live in Bergen now."]


async def test_a_model_is_shown_when_both_were_said_and_cannot_change_what_is_newer(
    client: httpx.AsyncClient,
    resources: Resources,
    script: list[Reply],
    model: ScriptedTextModel,
) -> None:
    runner = make_runner(written_by(resources, model))
    script += [
        facts(fact("I live in Bergen.", "I live in Bergen now.")),
        facts("I live in Oslo."),
        verdicts(verdict("replace", "m1", "I live in Oslo.")),
        facts("I live in Rome."),
        verdicts(verdict("replace", "m1", "I live in Rome.")),
    ]
    await run(client, runner, spoken(("I live in Bergen now.", LATE)))
    await run(client, runner, spoken(("I live in Oslo.", EARLY)))
    told = model.prompts[2].text.splitlines()
    assert told[1].startswith("0 2024-01-05")
    assert told[-1] == "m1 2025-11-20: I live in Bergen."
    assert await listed(client) == ["I live in Bergen."]
    await run(client, runner, spoken(("I live in Rome.", "2026-01-02T00:00:00Z")))
    assert await listed(client) == ["I live in Rome."]


async def test_what_an_older_fact_adds_to_a_newer_memory_becomes_one_of_its_own(
    client: httpx.AsyncClient,
    resources: Resources,
    script: list[Reply],
    model: ScriptedTextModel,
) -> None:
    runner = make_runner(written_by(resources, model))
    script += [
        facts("I have a dog."),
        facts("My dog is called Rex."),
        verdicts(verdict("merge", "m1", "I have a dog called Rex.")),
    ]
    await run(client, runner, spoken(("I have a dog.", LATE)))
    await run(client, runner, spoken(("My dog is called Rex.", EARLY)))
    assert sorted(await listed(client)) == ["I have a dog.", "My dog is called Rex."]


async def test_a_deletion_among_other_metadata_takes_nothing_back(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    options = [
        {"metadataMergeStrategy": "REQUIRE_EXACT_MATCH", "metadata": {"app": {"stringValue": app}}}
        for app in ("one", "two")
    ]
    done = await run(client, runner, spoken(("I live in Oslo.", LATE)), **options[0])
    name = done["response"]["generatedMemories"][0]["memory"]["name"].rpartition("/")[2]
    ok(await client.delete(f"/memories/{name}"))
    for stored, app in enumerate(options):
        said = f"2024-0{stored + 1}-05T10:00:00Z"
        await run(client, runner, spoken(("I live in Oslo.", said)), **app)
        assert len(await listed(client)) == stored
