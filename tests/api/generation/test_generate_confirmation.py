"""The second call: when it is made, what it shows, and what its replies do."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest

from app.adapters.llm.factory import open_models
from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from tests.support.bank import Json, listed
from tests.support.generation import run, said
from tests.support.model_server import ModelServer
from tests.support.operations import create_memory
from tests.support.scripted import SecondPrompt, fact, facts, forget, verdict, verdicts

NURSE = "I work as a nurse."
LOVES = "I work as a nurse, and love it."


@pytest.fixture
async def runner(resources: Resources, server: ModelServer) -> AsyncIterator[Runner]:
    """A worker whose model is at the server."""
    values = {"model": "openai:small", "model_base_url": server.url}
    models = open_models(resources.settings.model_copy(update=values))
    yield make_runner(replace(resources, models=models))
    await models.close()


def told(*turns: tuple[str, str]) -> Json:
    """Return a source of turns, each with its role."""
    events = [{"content": {"role": role, "parts": [{"text": text}]}} for role, text in turns]
    return {"directContentsSource": {"events": events}}


def shown(server: ModelServer) -> list[str]:
    """Return the lines of new facts that the model was shown in the last call."""
    text = str(server.seen[-1].body["messages"][-1]["content"])
    return text.partition("New facts:\n")[2].partition("\nMemories:")[0].splitlines()


@pytest.mark.parametrize(
    ("turns", "found"),
    [
        (
            [("user", "Hi, I'm Maureen. I have two cats."), ("user", "Aisle seats, please.")],
            [
                ("My name is Maureen.", "I'm Maureen", 0),
                ("I have two cats.", "I have two cats", 0),
                ("I prefer aisle seats.", "Aisle seats, please", 1),
            ],
        ),
        (
            [("model", "Any allergies?"), ("user", "Sesame, badly. I live in Leeds by the sea.")],
            [
                ("I am severely allergic to sesame.", "Sesame, badly", 1),
                ("I live in Leeds by the sea.", "I live in Leeds by the sea", 1),
            ],
        ),
        (
            [("user", "Ich wohne in Jena und lehre Latein."), ("user", "Antworte immer kurz.")],
            [
                ("Ich wohne in Jena.", "Ich wohne in Jena", 0),
                ("Ich lehre Latein.", "lehre Latein", 0),
                ("Ich möchte kurze Antworten.", "Antworte immer kurz", 1),
            ],
        ),
    ],
)
async def test_a_first_talk_of_plain_facts_takes_one_call(
    client: httpx.AsyncClient,
    runner: Runner,
    server: ModelServer,
    turns: list[tuple[str, str]],
    found: list[tuple[str, str, int]],
) -> None:
    server.will(facts(*(fact(text, quote, line) for text, quote, line in found)))
    operation = await run(client, runner, told(*turns))
    assert operation["metadata"]["modelCallCount"] == len(server.seen) == 1
    assert sorted(await listed(client)) == sorted(text for text, _, _ in found)


async def test_an_addition_is_marked_and_can_be_cut(
    client: httpx.AsyncClient, runner: Runner, server: ModelServer
) -> None:
    server.will(facts(fact(LOVES, NURSE)), verdicts(verdict("add", text=NURSE)))
    operation = await run(client, runner, said(NURSE))
    (line,) = shown(server)
    assert line.endswith(f"<{NURSE}>: I work as a nurse, and [love] it.")
    assert operation["metadata"]["verifiedFactCount"] == 1
    assert await listed(client) == [NURSE]


async def test_what_a_quote_answers_is_shown_whatever_the_length_of_its_line(
    client: httpx.AsyncClient, runner: Runner, server: ModelServer
) -> None:
    line = "One moment, I have to look. Nadia has it. It's +49 30 5550142. " + "And so on. " * 30
    phone = "The on-call phone is +49 30 5550142."
    server.will(facts(fact(phone, "It's +49 30 5550142.", 1)), verdicts(verdict("add")))
    await run(client, runner, told(("model", "Noted. What is the on-call phone?"), ("user", line)))
    (shown_line,) = shown(server)
    assert (
        "<Noted. What is the on-call phone?> <Nadia has it. It's +49 30 5550142.>: " in shown_line
    )
    assert await listed(client) == [phone]


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        ({"fact": 0, "action": "add"}, False),
        ({"fact": 0}, False),
        ({"fact": 0, "holds": None, "action": "add"}, False),
        ({"fact": 0, "holds": True}, True),
    ],
)
async def test_only_a_reply_that_says_so_confirms(
    client: httpx.AsyncClient, runner: Runner, server: ModelServer, reply: Json, *, kept: bool
) -> None:
    server.will(facts(fact(LOVES, NURSE)), verdicts(reply))
    operation = await run(client, runner, said(NURSE))
    assert await listed(client) == ([LOVES] if kept else [])
    dropped = operation["metadata"].get("droppedFactCounts")
    assert dropped == (None if kept else {"NOT_VERIFIED": 1})
    assert '"required":["fact","holds","action"]' in json.dumps(
        server.seen[-1].body, separators=(",", ":")
    ).replace("\\", "")


async def test_a_fact_may_end_two_memories(
    client: httpx.AsyncClient, runner: Runner, server: ModelServer
) -> None:
    for stored in ("I work at Ikea.", "I start at Ikea at seven."):
        await create_memory(client, stored, metadata=_BEFORE)

    def quits(request: Mapping[str, Any]) -> Json:
        second = SecondPrompt.read(str(request["messages"][-1]["content"]))
        assert second is not None
        return verdicts(*(verdict("delete", alias) for alias in second.memories))

    server.will(facts("I quit my job at Ikea."), quits)
    await run(client, runner, said("I quit my job at Ikea."))
    assert await listed(client) == ["I quit my job at Ikea."]


_BEFORE = {"event_time": {"timestampValue": "2026-01-01T00:00:00Z"}}


async def test_a_request_to_forget_leaves_out_a_part_in_longer_words(
    client: httpx.AsyncClient, runner: Runner, server: ModelServer
) -> None:
    await create_memory(client, "I swim, take insulin.", metadata=_BEFORE)
    rest = "I am somebody who likes to swim."
    server.will(
        facts(forget("my insulin", "forget my insulin")), verdicts(verdict("replace", "m1", rest))
    )
    await run(client, runner, said("Please forget my insulin."))
    assert await listed(client) == [rest]
