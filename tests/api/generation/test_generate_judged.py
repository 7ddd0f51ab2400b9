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


@pytest.mark.parametrize("is_known", [True, False])
async def test_the_words_of_a_secret_request_are_not_stored(
    client: httpx.AsyncClient, runner: Runner, *, is_known: bool
) -> None:
    if is_known:
        await run(client, runner, said("The lads there know me as Degsy."))
    secret = "Oh and the nickname, Degsy, you can drop that and all, don't keep it."
    operation = await run(client, runner, said(secret))
    assert await _facts(client) == set()
    deleted = operation["response"].get("generatedMemories", [])
    assert [one["action"] for one in deleted] == ["DELETED"] * is_known
    assert "drop that" not in json.dumps(operation)
    for one in deleted:
        revisions = ok(await client.get(f"/{one['memory']['name'].partition('/memories')[2]}"))
        assert "drop that" not in json.dumps(revisions)
