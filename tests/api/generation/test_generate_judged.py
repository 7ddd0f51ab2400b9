"""Generations without a model, with the embedder whose vectors the learned judges read."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest

from app.adapters.llm.embedders import ManagedEmbedder
from app.adapters.llm.providers.embed_minilm import MiniLmEmbedder
from app.platform.operations.services.runner import Runner
from tests.support.bank import ok
from tests.support.generation import run, said


@pytest.fixture
async def embedder() -> AsyncIterator[ManagedEmbedder]:
    minilm = MiniLmEmbedder(1)
    yield minilm
    await minilm.close()


async def _facts(client: httpx.AsyncClient) -> set[str]:
    return {one["fact"] for one in ok(await client.get("/memories")).get("memories", [])}


async def test_judges_find_facts_and_corrections_that_no_rule_knows(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    lilies = "She can't stand lilies, so no lilies anywhere."
    flat, house = "We rent a flat in Leeds.", "We gave up the flat in Leeds and bought a house."
    await run(client, runner, said(flat, lilies))
    assert await _facts(client) == {flat, lilies}
    await run(client, runner, said(house))
    assert await _facts(client) == {house, lilies}


async def test_a_language_that_is_not_read_is_named(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    operation = await run(client, runner, said("私は東京に住んでいます。", "I like tea."))
    assert operation["metadata"]["unreadLanguages"] == ["ja"]
    assert await _facts(client) == {"I like tea."}


async def test_a_request_in_other_words_is_obeyed_or_told(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    code, dog = "My key safe number is 4471.", "I have a dog called Bosun."
    await run(client, runner, said(code, dog))
    obeyed = await run(client, runner, said("The key safe number, forget you ever had it."))
    assert await _facts(client) == {dog}
    assert "unmetForgetRequests" not in obeyed["metadata"]
    asked = "Whatever I said about my loan, let that go."
    told = await run(client, runner, said(asked))
    (unmet,) = told["metadata"]["unmetForgetRequests"]
    assert (unmet["request"], unmet["reason"]) == (asked, "NOTHING_FOUND")


async def test_a_request_may_mean_a_fact_of_the_same_conversation(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    asked = "Please forget that I live in Berlin."
    await run(client, runner, said("I live in Berlin.", "I have a cat.", asked))
    assert await _facts(client) == {"I have a cat."}


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("Kindly strike that from your memory.", set()),
        ("Please leave it out.", {"I'm allergic to penicillin."}),
        ("Please keep that in mind.", {"I'm allergic to penicillin."}),
        ("Please don't forget that!", {"I'm allergic to penicillin."}),
        ("As for my loan, please delete it.", {"I'm allergic to penicillin."}),
        ("My old phone number, please wipe it.", {"I'm allergic to penicillin."}),
    ],
)
async def test_only_a_request_that_names_nothing_means_the_sentence_before_it(
    client: httpx.AsyncClient, runner: Runner, asked: str, kept: set[str]
) -> None:
    await run(client, runner, said(f"I'm allergic to penicillin. {asked}"))
    assert await _facts(client) == kept


_SECRET = "Oh and the nickname, Degsy, you can drop that and all, don't keep it."


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("way", [{}, {"disableConsolidation": True}, {"validateOnly": True}])
async def test_the_words_of_a_secret_request_are_not_stored(
    client: httpx.AsyncClient, runner: Runner, *, is_known: bool, way: dict[str, bool]
) -> None:
    known = "The lads there know me as Degsy."
    if is_known:
        await run(client, runner, said(known))
    names = [one["name"] for one in ok(await client.get("/memories")).get("memories", [])]
    operation = await run(client, runner, {**said(_SECRET), **way})
    assert "drop that" not in json.dumps(operation)
    assert await _facts(client) == ({known} if is_known and way else set())
    for name in names:
        revisions = ok(await client.get(f"/memories/{name.rpartition('/')[2]}/revisions"))
        assert revisions["memoryRevisions"]
        assert "drop that" not in json.dumps(revisions)


@pytest.mark.parametrize(
    "secret",
    [
        "Off the record, my sister is getting divorced, so please leave it out.",
        "I told my sister about my diabetes, but please don't keep that anywhere.",
    ],
)
async def test_a_new_secret_ends_no_memory(
    client: httpx.AsyncClient, runner: Runner, secret: str
) -> None:
    facts = {"My sister Ann lives in Leeds.", "I take metformin.", "I have a dog."}
    await run(client, runner, said(*facts))
    await run(client, runner, said(secret))
    assert await _facts(client) == facts


async def test_a_request_for_secrecy_after_a_secret_request_hides_the_fact_before_both(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    text = f"My nickname is Degsy. {_SECRET} Keep it to yourself."
    await run(client, runner, said(text))
    assert await _facts(client) == set()
