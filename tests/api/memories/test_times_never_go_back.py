"""A memory's times never go back, though the clocks of processes are apart."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from typing_extensions import override

from app.adapters.llm.ports import Vectors
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.process.main import create_app
from app.process.worker import make_runner
from tests.conftest import ADMIN_KEY
from tests.support.bank import ENGINE_URL, Json, ok
from tests.support.generation import run
from tests.support.generation import said as said_by_user
from tests.support.keys import client_with
from tests.support.operations import USER, create_memory, path_of
from tests.support.scripted_models import ScriptedEmbedder

_APART = timedelta(seconds=20)
Write = Callable[[httpx.AsyncClient, str], Awaitable[object]]
Work = Callable[[httpx.AsyncClient, Runner, str], Awaitable[object]]


@pytest.fixture
def slow(resources: Resources, clock: FixedClock) -> Resources:
    """The resources of a process on the same database whose clock is behind."""
    return replace(resources, clock=FixedClock(clock.now() - _APART))


@pytest.fixture
async def behind(slow: Resources) -> AsyncIterator[httpx.AsyncClient]:
    async with client_with(create_app(slow), ADMIN_KEY) as found:
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


async def _overwrite(client: httpx.AsyncClient, path: str) -> None:
    line = {"fact": "I like milk.", "scope": USER, "memoryId": path.rpartition("/")[2]}
    body = json.dumps(line)
    ok(await client.post("/memories:import", params={"overwrite": "true"}, content=body))


async def _undo_last(client: httpx.AsyncClient, runner: Runner, path: str) -> None:
    newest = (await _states(client, path))[-1]
    operation = path_of(newest["operation"])
    ok(await client.post(f"{operation}:undo", json={}))
    await runner.run_pending()


async def _undo_deletion(client: httpx.AsyncClient, runner: Runner, path: str) -> None:
    await _delete(client, path)
    await _undo_last(client, runner, path)


async def _undo_creation(client: httpx.AsyncClient, runner: Runner, path: str) -> None:
    await _undo_last(client, runner, path)
    await _undo_last(client, runner, path)


async def _purge(client: httpx.AsyncClient, runner: Runner, _: str) -> None:
    ok(
        await client.post(
            "/memories:purge", json={"filter": 'fact="I like coffee."', "force": True}
        )
    )
    await runner.run_pending()


async def _forget(client: httpx.AsyncClient, runner: Runner, path: str) -> None:
    said = {"event_time": {"timestampValue": "2025-01-01T00:00:00Z"}}
    ok(await client.patch(path, json={"metadata": said}))
    done = await run(client, runner, said_by_user("Forget that I like coffee."))
    assert done["metadata"]["deletedCount"] == 1


async def _mask(client: httpx.AsyncClient, runner: Runner, path: str) -> None:
    ok(await client.patch(path, json={"fact": "My mail is a@example.com."}))
    body = {"action": "MASK", "kinds": ["EMAIL"]}
    ok(await client.post(f"{ENGINE_URL}:scanPrivacy", json=body))
    await runner.run_pending()


async def _check_times(client: httpx.AsyncClient, path: str, least: int) -> None:
    """Check that the times of a memory and of its revisions, at least so many, are in order."""
    times = [state["createTime"] for state in await _states(client, path)]
    assert len(times) >= least
    assert times == sorted(times)
    shown = ok(await client.get(path, params={"showDeleted": "true"}))
    assert shown["updateTime"] >= times[-1]
    # The list of all revisions has them in the order in which they were made.
    everywhere = ok(await client.get("/memories/-/revisions"))["memoryRevisions"]
    assert [one["createTime"] for one in everywhere] == times[::-1]


@pytest.mark.parametrize(
    "work", [_undo_last, _undo_deletion, _undo_creation, _purge, _forget, _mask]
)
async def test_a_worker_that_is_behind_writes_no_earlier_time(
    client: httpx.AsyncClient, behind: httpx.AsyncClient, slow: Resources, work: Work
) -> None:
    path = f"/memories/{_id(await create_memory(client, 'I like tea.'))}"
    await _update(client, path)
    await work(behind, make_runner(slow), path)
    await _check_times(client, path, 3)


@pytest.mark.parametrize("write", [_update, _delete, _undelete, _roll_back, _overwrite])
async def test_a_process_that_is_behind_writes_no_earlier_time(
    client: httpx.AsyncClient, behind: httpx.AsyncClient, write: Write
) -> None:
    body = {"fact": "I like tea.", "scope": USER}
    ok(await client.post("/memories", params={"memoryId": "chosen"}, json=body))
    path = "/memories/chosen"
    await _update(client, path)
    await write(behind, path)
    await _check_times(client, path, 3)


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
