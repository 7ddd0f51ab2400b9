"""Equal questions at once are one call of the model; a failure is the first one's alone."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from tests.support.bank import Json, ok
from tests.support.keys import client_with, make_key
from tests.support.model_server import ModelServer, slow, status
from tests.support.readers import FACT, answered, asked, query
from tests.support.tasks import AGENT, store, text_output

_ANSWER = "It costs 42 coins."


@pytest.fixture(autouse=True)
async def _filled(client: httpx.AsyncClient) -> None:
    ok(await store(client, text_output(FACT)))


def _at_once(client: httpx.AsyncClient, times: int, **fields: Any) -> list[asyncio.Task[Any]]:
    return [asyncio.create_task(query(client, **fields)) for _ in range(times)]


def _answers(found: Sequence[httpx.Response]) -> list[Json]:
    return [ok(one) for one in found]


async def test_equal_questions_of_two_keys_are_one_call(
    client: httpx.AsyncClient,
    app: FastAPI,
    database: Database,
    clock: FixedClock,
    server: ModelServer,
) -> None:
    server.will(slow(1, answered(_ANSWER, 1)))
    secret = await make_key(database, clock.now(), permissions=AGENT)
    async with client_with(app, secret) as other:
        tasks = [*_at_once(client, 2), *_at_once(other, 2)]
        found = _answers(await asyncio.gather(*tasks))
    assert len(server.seen) == 1
    assert [one["answer"] for one in found] == [_ANSWER] * 4
    assert all(one["citations"] == found[0]["citations"] != [] for one in found)
    assert sorted(one["usage"]["calls"] for one in found) == [0, 0, 0, 1]
    # What has ended is not handed out again.
    server.will(answered("Later.", 1))
    assert ok(await query(client))["answer"] == "Later."


async def test_other_questions_are_calls_of_their_own(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    server.always(slow(1, answered(_ANSWER, 1)))
    tasks = [
        *_at_once(client, 1),
        *_at_once(client, 1, query="What is green?"),
        *_at_once(client, 1, answerTokens=100),
        *_at_once(client, 1, model="far"),
    ]
    _answers(await asyncio.gather(*tasks))
    assert len(server.seen) == 4


async def test_if_the_first_fails_the_next_asks(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    server.will(replace(status(503), delay_seconds=1), answered(_ANSWER, 1))
    found = await asyncio.gather(*_at_once(client, 3))
    failed = [one for one in found if one.status_code != 200]
    assert len(failed) == 1
    assert [one["answer"] for one in _answers([one for one in found if one not in failed])] == [
        _ANSWER,
        _ANSWER,
    ]
    assert len(server.seen) == 2


async def test_if_the_first_is_cancelled_the_next_asks(
    client: httpx.AsyncClient, server: ModelServer
) -> None:
    server.will(slow(5, answered("Nobody waits for it.", 1)), answered(_ANSWER, 1))
    (first,) = _at_once(client, 1)
    await asked(server)
    others = _at_once(client, 2)
    await asyncio.sleep(0.2)
    first.cancel()
    found = _answers(await asyncio.gather(*others))
    assert [one["answer"] for one in found] == [_ANSWER, _ANSWER]
    assert len(server.seen) == 2
