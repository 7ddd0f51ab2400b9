"""A memory's times never go back, though the clocks of processes are apart."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from typing_extensions import override

from app.adapters.llm.ports import Vectors
from app.adapters.llm.scripted import ScriptedEmbedder
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.process.main import create_app
from tests.conftest import ADMIN_KEY
from tests.support.bank import Json, ok
from tests.support.keys import client_with
from tests.support.operations import create_memory

_APART = timedelta(seconds=20)
Write = Callable[[httpx.AsyncClient, str], Awaitable[object]]


@pytest.fixture
async def behind(resources: Resources, clock: FixedClock) -> AsyncIterator[httpx.AsyncClient]:
    """A process on the same database whose clock is behind."""
    slow = FixedClock(clock.now() - _APART)
    async with client_with(create_app(replace(resources, clock=slow)), ADMIN_KEY) as found:
        yield found


async def _states(client: httpx.AsyncClient, path: str) -> list[Json]:
    revisions: list[Json] = ok(await client.get(f"{path}/revisions"))["memoryRevisions"]
    return revisions[::-1]


async def _update(client: httpx.AsyncClient, path: str) -> None:
    ok(await client.patch(path, json={"fact": "I like coffee."}))


async def _delete(client: httpx.AsyncClient, path: str) -> None:
    ok(await client.delete(path))


async def _undelete(client: httpx.AsyncClient, path: str) -> None:
    ok(await client.delete(path))
    ok(await client.post(f"{path}:undelete", json={}))


async def _roll_back(client: httpx.AsyncClient, path: str) -> None:
    (first, *_) = await _states(client, path)
    target = {"targetRevisionId": first["name"].rpartition("/")[2]}
    ok(await client.post(f"{path}:rollback", json=target))


@pytest.mark.parametrize("write", [_update, _delete, _undelete, _roll_back])
async def test_a_process_that_is_behind_writes_no_earlier_time(
    client: httpx.AsyncClient, behind: httpx.AsyncClient, write: Write
) -> None:
    name = (await create_memory(client, "I like tea."))["name"].rpartition("/")[2]
    path = f"/memories/{name}"
    await _update(client, path)
    await write(behind, path)
    states = await _states(client, path)
    times = [state["createTime"] for state in states]
    assert times == sorted(times)
    shown = ok(await client.get(path, params={"showDeleted": "true"}))
    assert shown["updateTime"] >= times[-1]
    # The list of all revisions has them in the order in which they were made.
    everywhere = ok(await client.get("/memories/-/revisions"))["memoryRevisions"]
    assert [one["createTime"] for one in everywhere] == times[::-1]


class _Waiting(ScriptedEmbedder):
    """Lets another write through while it embeds for the first time."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()
        return await super().embed(texts)


async def test_a_write_that_waits_for_its_embedder_is_later_than_what_came_before(
    client: httpx.AsyncClient, resources: Resources, clock: FixedClock
) -> None:
    path = f"/memories/{_id(await create_memory(client, 'I like tea.'))}"

    async def meanwhile() -> None:
        clock.advance(_APART)
        ok(await client.patch(path, json={"fact": "I like milk."}))

    waiting = _Waiting()
    waiting.meanwhile = meanwhile
    slow = replace(resources, embedder=waiting, clock=FixedClock(clock.now()))
    async with client_with(create_app(slow), ADMIN_KEY) as other:
        ok(await other.patch(path, json={"fact": "I like coffee."}))
    facts = [state["fact"] for state in await _states(client, path)]
    times = [state["createTime"] for state in await _states(client, path)]
    assert facts == ["I like tea.", "I like milk.", "I like coffee."]
    assert times == sorted(times)
    assert ok(await client.get(path))["updateTime"] == times[-1]


def _id(memory: Json) -> str:
    return str(memory["name"].rpartition("/")[2])
