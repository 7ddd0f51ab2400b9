"""A standby that is promoted: a service with both addresses goes on there, with all it has said."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from app.kernel.errors import Reason
from app.process.main import create_app
from app.process.start import open_process
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import Json, ok
from tests.support.errors import refusal
from tests.support.keys import client_with
from tests.support.operations import USER
from tests.support.standbys import Pair, replicated

_SOON_SECONDS = 60


@pytest.fixture
def pair() -> Iterator[Pair]:
    with replicated() as servers:
        yield servers


async def _write(client: httpx.AsyncClient, memory: str) -> httpx.Response:
    body = {"scope": USER, "fact": f"I like {memory}."}
    return await client.post("/memories", params={"memoryId": memory}, json=body)


async def _soon(ask: Callable[[], Awaitable[httpx.Response]]) -> Json:
    """Ask until the answer is a success; return its body."""
    deadline = time.monotonic() + _SOON_SECONDS
    while (answer := await ask()).status_code != 200:
        assert time.monotonic() < deadline, answer.text
        await asyncio.sleep(0.1)
    return ok(answer)


async def test_the_first_write_comes_soon_after_the_promotion(pair: Pair, tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path, database_url=pair.url, admin_key=ADMIN_KEY, embedder="hash"
    )
    async with (
        open_process(settings) as process,
        client_with(create_app(process.resources), ADMIN_KEY) as client,
    ):
        ok(await _write(client, "tea"))
        await asyncio.to_thread(pair.until_followed)
        await asyncio.to_thread(pair.primary.stop)
        away = await _write(client, "milk")
        assert refusal(away) == (503, "UNAVAILABLE", Reason.DATABASE_UNAVAILABLE)
        pair.standby.told(b"select pg_promote()")
        await _soon(partial(_write, client, "coffee"))
        # A read may have another connection, which the primary that is gone has ended.
        listed = (await _soon(partial(client.get, "/memories")))["memories"]
        assert sorted(one["fact"] for one in listed) == ["I like coffee.", "I like tea."]
