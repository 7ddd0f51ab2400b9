"""Work that is stopped or tried again: nothing of its costs is lost, and it ends where it shall."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from structlog.testing import capture_logs
from typing_extensions import override

from app.adapters.concurrency import end
from app.adapters.llm.ports import Meter, OutputT, Prompt, Usage
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import BadGateway, Reason, Unavailable
from app.platform.operations.services.runner import Runner
from app.process.worker import make_runner
from app.settings.settings import ModelPrice, Settings
from tests.support.bank import Json, listed, ok
from tests.support.engines import FIRST
from tests.support.generation import said, start
from tests.support.operations import USER, create_memory, path_of
from tests.support.scripted import facts, verdict, verdicts, written_by
from tests.support.scripted_models import Reply, ScriptedEmbedder, ScriptedTextModel

TEA, COFFEE, BOTH = "I like tea.", "I like coffee.", "I like tea and coffee."


class StoppedModel(ScriptedTextModel):
    """Lets something happen in the middle of its calls, by their number."""

    def __init__(self, script: list[Reply]) -> None:
        super().__init__(script)
        self.acts: dict[int, Callable[[], Awaitable[object]]] = {}

    @override
    async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
        if (act := self.acts.pop(len(self.asked), None)) is not None:
            await act()
        return await super().ask(prompt, output, meter)


class BoastfulModel(ScriptedTextModel):
    """Says that it has used more tokens than can be counted, and then fails."""

    @override
    async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
        meter.add(self.model_id, Usage(1, 10**20, 0, 0))
        raise BadGateway("It was invalid.", Reason.MODEL_OUTPUT_INVALID)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    priced = {"scripted:1": ModelPrice(input=1, output=10)}
    quick = {"worker_poll_seconds": 0.02, "shutdown_grace_seconds": 0.0}
    return settings.model_copy(update={"model_prices": priced, **quick})


@pytest.fixture
def model(script: list[Reply]) -> StoppedModel:
    return StoppedModel(script)


@pytest.fixture
def resources(resources: Resources, model: StoppedModel, embedder: ScriptedEmbedder) -> Resources:
    embedder.place(COFFEE, near=TEA, distance=0.6)
    return written_by(resources, model)


async def _calls(client: httpx.AsyncClient) -> int:
    found: int = ok(await client.get(f"{FIRST}:usage"))["total"]["callCount"]
    return found


def _spent(operation: Json) -> tuple[int, int, float]:
    told = operation["metadata"]
    return told["modelCallCount"], told["inputTokenCount"], told["cost"]["amount"]


async def test_costs_are_those_of_all_attempts(
    client: httpx.AsyncClient, clock: FixedClock, runner: Runner, script: list[Reply]
) -> None:
    await create_memory(client, TEA)
    away = Unavailable("It is away.", Reason.DATABASE_UNAVAILABLE)
    script += [facts(COFFEE), away, facts(COFFEE), verdicts(verdict("merge", "m1", BOTH))]
    path = await start(client, said(COFFEE))
    await runner.run_pending()
    first = ok(await client.get(path))
    assert not first["done"]
    assert first["metadata"]["lastError"] == "It is away."
    assert (first["metadata"]["author"], _spent(first)[0]) == ("scripted:1", 2)
    clock.advance(timedelta(minutes=1))
    await runner.run_pending()
    both = ok(await client.get(path))
    assert await listed(client) == [BOTH]
    total = ok(await client.get(f"{FIRST}:usage"))["total"]
    assert _spent(both) == (4, total["inputTokenCount"], total["cost"]["amount"])
    assert _spent(both)[1] > _spent(first)[1]


async def test_a_worker_that_stops_notes_what_it_has_spent(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: StoppedModel
) -> None:
    await create_memory(client, TEA)
    script += [facts(COFFEE)]
    reached = asyncio.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.sleep(30)

    model.acts[1] = hang
    path = await start(client, said(COFFEE))
    worker = asyncio.create_task(runner.run())
    async with asyncio.timeout(10):
        await reached.wait()
        await end(worker)
    operation = ok(await client.get(path))
    assert not operation["done"]
    assert operation["metadata"]["modelCallCount"] == await _calls(client) == 1


async def test_what_is_cancelled_asks_the_model_no_more(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: StoppedModel
) -> None:
    await create_memory(client, TEA)
    script += [facts(COFFEE)]
    path = await start(client, said(COFFEE))
    model.acts[0] = lambda: client.post(f"{path}:cancel")
    await runner.run_pending()
    operation = ok(await client.get(path))
    assert (operation["done"], operation["error"]["code"]) == (True, 1)
    assert operation["metadata"]["modelCallCount"] == len(model.asked) == await _calls(client) == 1
    assert await listed(client) == [TEA]


async def test_what_is_erased_asks_the_model_no_more(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: StoppedModel
) -> None:
    """An erasure asks what works on its scope to stop, so nothing of it is sent any more."""
    await create_memory(client, TEA)
    script += [facts(COFFEE)]
    await start(client, said(COFFEE))
    erased: list[Json] = []

    async def erase_scope() -> None:
        erased.append(ok(await client.post(f"{FIRST}:eraseScope", json={"scope": USER})))

    model.acts[0] = erase_scope
    await runner.run_pending()
    assert len(model.asked) == await _calls(client) == 1
    (operation,) = erased
    certificate = ok(await client.get(path_of(operation["name"])))["response"]
    assert certificate["counts"]["memories"] == 1
    assert await listed(client) == []


async def test_what_is_cancelled_while_it_fails_is_not_tried_again(
    client: httpx.AsyncClient, clock: FixedClock, runner: Runner, model: StoppedModel
) -> None:
    path = await start(client, said(COFFEE))

    async def cancel_and_fail() -> None:
        ok(await client.post(f"{path}:cancel"))
        raise Unavailable("It is away.", Reason.DATABASE_UNAVAILABLE)

    model.acts[0] = cancel_and_fail
    await runner.run_pending()
    assert ok(await client.get(path))["error"]["code"] == 1
    clock.advance(timedelta(hours=1))
    assert await runner.run_pending() == 0


async def test_costs_that_cannot_be_stored_hide_no_error(
    client: httpx.AsyncClient, resources: Resources
) -> None:
    runner = make_runner(written_by(resources, BoastfulModel([])))
    path = await start(client, said(COFFEE))
    with capture_logs() as logs:
        await runner.run_pending()
    error = ok(await client.get(path))["error"]
    assert error["details"][0]["reason"] == "MODEL_OUTPUT_INVALID"
    assert "generation.costs_not_recorded" in [entry["event"] for entry in logs]


async def test_a_failure_before_any_call_tells_who_was_to_write(
    client: httpx.AsyncClient, resources: Resources, embedder: ScriptedEmbedder
) -> None:
    runner = make_runner(replace(resources, models=written_by(resources, None).models))
    path = await start(client, said(COFFEE))
    embedder.failure = RuntimeError("broken")
    await runner.run_pending()
    operation = ok(await client.get(path))
    assert operation["error"]["code"] == 13
    # The model was configured when it was asked for, and no more when it was worked on.
    assert operation["metadata"]["author"] == "builtin-rules/3"
    assert operation["metadata"]["modelCallCount"] == 0
