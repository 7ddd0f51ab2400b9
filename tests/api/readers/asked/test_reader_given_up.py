"""A client that goes away is not read for any longer: no model is called for it again."""

import asyncio
import json

import httpx
import pytest
from fastapi import FastAPI

from app.kernel.errors import Reason
from app.settings.settings import Settings
from tests.support.asgi import Answer, Sent, call
from tests.support.bank import ENGINE, ENGINE_URL, Json, ok
from tests.support.model_server import ModelServer
from tests.support.readers import FACT, QUESTION, Gate, answered, asked, summarised
from tests.support.task_texts import long_text
from tests.support.tasks import NAMESPACE, store, text_output, upload


def _sent(method: str, body: Json) -> Sent:
    path = f"/v1beta1/{ENGINE}{NAMESPACE}:{method}"
    return Sent("POST", path.encode(), body=json.dumps(body).encode())


def _is_given_up(answer: Answer) -> bool:
    return (answer.status, answer.reason) == (499, Reason.REQUEST_ABANDONED)


async def test_no_further_part_is_summarised(
    client: httpx.AsyncClient, app: FastAPI, server: ModelServer
) -> None:
    ok(await upload(client, long_text(20_000).encode(), media_type="text/plain"))
    gate, gone = Gate(summarised("So far.")), asyncio.Event()
    server.will(summarised("So far."), gate)
    answer = asyncio.create_task(call(app, _sent("summarize", {}), gone))
    await asked(server, 2)
    gone.set()
    gate.open()
    assert _is_given_up(await answer)
    assert len(server.seen) == 2
    total = ok(await client.get(f"{ENGINE_URL}:usage"))["total"]
    assert total["callCount"] == 2


class TestLater:
    """A service that has texts cut by a worker."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"task_index_at_once_bytes": 10})

    async def test_nobody_waits_for_a_text_in_its_place(
        self, client: httpx.AsyncClient, app: FastAPI, server: ModelServer
    ) -> None:
        ok(await upload(client, FACT.encode(), media_type="text/plain"))
        gone = asyncio.Event()
        answer = asyncio.create_task(call(app, _sent("summarize", {"wait": True}), gone))
        await asyncio.sleep(0.05)
        assert not answer.done()
        gone.set()
        assert _is_given_up(await answer)
        assert server.seen == []


@pytest.mark.parametrize(("method", "body"), [("query", {"query": QUESTION}), ("summarize", {})])
async def test_nothing_is_read_for_one_who_has_gone_before(
    client: httpx.AsyncClient, app: FastAPI, server: ModelServer, method: str, body: Json
) -> None:
    ok(await store(client, text_output(FACT)))
    server.always(answered("42.", 1))
    gone = asyncio.Event()
    gone.set()
    assert _is_given_up(await call(app, _sent(method, body), gone))
    assert server.seen == []
