"""Who may say which model embeds a namespace."""

import httpx
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from tests.support.bank import ok, refusal
from tests.support.keys import client_with, make_key
from tests.support.task_vectors import OTHER, OWN, REMOTE
from tests.support.tasks import AGENT, NAMESPACE, NOTHING, process, store, stored, text_output


async def test_an_agent_cannot_have_what_comes_later_embedded_elsewhere(
    client: httpx.AsyncClient, app: FastAPI, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), permissions=AGENT)
    async with client_with(app, secret) as agent:
        for answer in (
            await store(agent, text_output("tea"), embeddingModel=REMOTE),
            await process(agent, text_output("tea"), offPrompt=True, embeddingModel=REMOTE),
        ):
            assert refusal(answer) == (403, "PERMISSION_DENIED")
            told = answer.json()["error"]["details"][0]
            assert (told["reason"], told["metadata"]) == (
                "PERMISSION_MISSING",
                {"permission": "engines.update"},
            )
        assert await stored(database) == NOTHING
        ok(await store(agent, text_output("tea"), embeddingModel=OWN))
    assert ok(await client.get(NAMESPACE))["embeddingModel"] == OWN
    ok(await store(client, text_output("tea"), path=OTHER, embeddingModel=REMOTE))
