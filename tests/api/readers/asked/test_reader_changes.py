"""What changes while it is read is not read on, shown to another model, or told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from tests.support.bank import Json, ok
from tests.support.errors import refusal
from tests.support.keys import client_with, make_key
from tests.support.locks import until_waiting
from tests.support.model_server import ModelServer, slow
from tests.support.readers import (
    FACT,
    FAR,
    Gate,
    answered,
    asked,
    heard,
    kept_in,
    query,
    summarised,
    summarize,
)
from tests.support.task_texts import long_text
from tests.support.tasks import AGENT, ARTIFACT, NAMESPACE, store, stored, text_output, upload

CHANGED = (409, "ABORTED", Reason.CONCURRENT_CHANGE)
STRICTER: Json = {"localOnly": True, "sensitive": True}
LATE = "The green kettle costs 43 coins."


@pytest.fixture
async def agent(app: FastAPI, database: Database, clock: FixedClock) -> AsyncIterator[Any]:
    """A key that may write and have read, and may not see what is sensitive."""
    secret = await make_key(database, clock.now(), permissions=AGENT)
    async with client_with(app, secret) as found:
        yield found


@asynccontextmanager
async def _held(database: Database, lock: str) -> AsyncIterator[None]:
    """Hold what a request has to wait for; it goes on after the block."""
    # Of no task: those of requests begin in this one.
    async with database.engine.begin() as connection:
        await connection.execute(text(lock))
        yield


async def test_what_comes_to_have_the_name_is_not_read(
    client: httpx.AsyncClient, agent: httpx.AsyncClient, server: ModelServer
) -> None:
    plain = "".join(f"Row {n:06} is plain. " for n in range(16_000))
    secret = "".join(f"Row {n:06} CANARY 1. " for n in range(16_000))
    # As many pieces: nothing but what they are tells the one from the other.
    assert len(plain) == len(secret)
    ok(await upload(agent, plain.encode(), media_type="text/plain"))
    gate = Gate(summarised("So far."))
    server.will(gate)
    server.always(summarised("More."))
    answer = asyncio.create_task(summarize(agent, model=FAR))
    await asked(server)
    ok(await agent.delete(NAMESPACE))
    ok(await store(client, text_output(secret, name="a"), **STRICTER))
    gate.open()
    assert refusal(await answer) == CHANGED
    assert len(server.seen) == 1
    assert "CANARY" not in str(heard(server)) + (await answer).text


async def test_what_becomes_local_is_shown_no_further(
    agent: httpx.AsyncClient, server: ModelServer
) -> None:
    # All of it is read with the first pieces.
    ok(await upload(agent, long_text(5_000).encode(), media_type="text/plain"))
    gate = Gate(summarised("So far."))
    server.will(gate)
    server.always(summarised("More."))
    answer = asyncio.create_task(summarize(agent, model=FAR))
    await asked(server)
    ok(await agent.patch(NAMESPACE, json=STRICTER))
    gate.open()
    assert refusal(await answer) == CHANGED
    assert len(server.seen) == 1


@pytest.mark.parametrize("ask", [query, summarize])
async def test_a_model_is_not_asked_what_it_may_not_read_by_then(
    agent: httpx.AsyncClient, server: ModelServer, database: Database, ask: Any
) -> None:
    ok(await store(agent, text_output(FACT, name="a")))
    server.always(answered(FACT, 1))
    async with _held(database, "select 1 from engines where engine_id = 1 for update"):
        # It is opened, and waits to bind its id.
        answer = asyncio.create_task(ask(agent, model=FAR, params={"requestId": "r"}))
        await until_waiting(database)
        async with database.transaction() as session:
            await session.execute(text("update task_namespaces set local_only = true"))
    assert refusal(await answer) == CHANGED
    assert server.seen == []


@pytest.mark.parametrize("change", [{"sensitive": True}, {"localOnly": True}, None])
async def test_what_changes_while_a_model_answers_is_not_told(
    agent: httpx.AsyncClient, server: ModelServer, change: Any
) -> None:
    ok(await store(agent, text_output(FACT, name="a")))
    for ask, said in ((query, answered(FACT, 1)), (summarize, summarised(FACT))):
        gate = Gate(said)
        server.reset()
        server.will(gate)
        answer = asyncio.create_task(ask(agent, model=FAR))
        await asked(server)
        if change is None:
            ok(await agent.delete(ARTIFACT))
        else:
            ok(await agent.patch(NAMESPACE, json=change))
        gate.open()
        assert refusal(await answer) == CHANGED
        assert FACT not in (await answer).text
        ok(await agent.delete(NAMESPACE)) if change else None
        ok(await store(agent, text_output(FACT, name="a")))


@pytest.mark.parametrize("ask", [query, summarize])
async def test_nor_what_becomes_sensitive_before_the_built_in_reader_answers(
    agent: httpx.AsyncClient, database: Database, ask: Any
) -> None:
    ok(await store(agent, text_output(FACT, name="a")))
    async with _held(database, "select 1 from engines where engine_id = 1 for update"):
        # It has read all, and waits to tell the audit log.
        answer = asyncio.create_task(ask(agent, model="builtin"))
        await until_waiting(database)
        async with database.transaction() as session:
            await session.execute(text("update task_namespaces set sensitive = true"))
    assert refusal(await answer) == CHANGED
    assert FACT not in (await answer).text


async def test_what_expires_while_a_model_answers_is_not_told(
    client: httpx.AsyncClient, server: ModelServer, clock: FixedClock
) -> None:
    ok(await store(client, text_output("Tea.", name="b")))
    ok(await store(client, text_output(FACT, name="a"), ttl="60s"))
    gate = Gate(answered(FACT, 1))
    server.will(gate)
    answer = asyncio.create_task(query(client))
    await asked(server)
    clock.advance(timedelta(seconds=61))
    gate.open()
    assert refusal(await answer) == CHANGED


@pytest.mark.parametrize("model", ["builtin", FAR])
@pytest.mark.parametrize("ask", [query, summarize])
async def test_what_comes_after_it_was_opened_is_not_read(
    client: httpx.AsyncClient, server: ModelServer, database: Database, ask: Any, model: str
) -> None:
    ok(await store(client, text_output("Nothing of that is here.", name="a")))
    server.will(answered("No.", 1) if ask is query else summarised("No."))
    async with _held(database, "lock table request_ids in access exclusive mode"):
        once = {"params": {"requestId": "r"}}
        answer = asyncio.create_task(ask(client, model=model, offPrompt=True, **once))
        await until_waiting(database)
        ok(await store(client, text_output(LATE, name="late"), ttl="60s"))
    found = ok(await answer)
    assert found["coverage"]["chunksTotal"] == 1
    assert found["coverage"]["chunksUsed"] <= 1
    assert found["reference"]["derivedFrom"] == [{"namespace": "n", "name": "a"}]
    kept = f"{kept_in(found)}/artifacts/{'answer' if ask is query else 'summary'}/content"
    assert LATE not in (await client.get(kept)).text + str(heard(server))


async def test_a_summary_of_pieces_that_are_gone_is_none(
    client: httpx.AsyncClient, database: Database
) -> None:
    ok(await upload(client, long_text(2_000).encode(), media_type="text/plain"))
    async with database.transaction() as session:
        await session.execute(text("delete from task_chunks where n = 2"))
    assert refusal(await summarize(client, model="builtin")) == CHANGED


async def test_of_two_at_the_same_moment_the_second_tells_the_result_of_the_first(
    client: httpx.AsyncClient, server: ModelServer, database: Database
) -> None:
    ok(await store(client, text_output(FACT)))
    for ask, said in ((query, answered), (summarize, lambda one, *_: summarised(one))):
        server.reset()
        server.will(slow(1, said("First.", 1)))
        both = [asyncio.create_task(ask(client, offPrompt=True)) for _ in range(2)]
        await asked(server)
        found = [ok(one) for one in await asyncio.gather(*both)]
        (later,) = [one for one in found if "reused" in one]
        (first,) = [one for one in found if "reused" not in one]
        assert later["reused"] is True
        assert later["reference"] == first["reference"]
        # One call was made for both, and nothing that it read is in the result.
        assert later["usage"]["calls"] + first["usage"]["calls"] == 1
        assert (first["coverage"]["chunksUsed"], later["coverage"]["chunksUsed"]) == (1, 0)
        assert not later.get("citations")
    assert (await stored(database))["task_namespaces"] == 3
