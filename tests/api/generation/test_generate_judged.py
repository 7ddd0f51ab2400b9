"""Generations without a model, with the embedder whose vectors the learned judges read."""

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
