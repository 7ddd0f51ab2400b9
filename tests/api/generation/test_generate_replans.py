"""A memory that changes while a model thinks: planned again, and only what is new is asked."""

from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta

import httpx
import pytest
from typing_extensions import override

from app.adapters.llm.ports import Meter, OutputT, Prompt
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.memory.generation.logic.replies import FactVerdicts
from app.platform.operations.services.runner import Runner
from tests.support.bank import Json, history, listed, ok
from tests.support.generation import said, start
from tests.support.operations import create_memory, path_of
from tests.support.scripted import facts, verdict, verdicts, written_by
from tests.support.scripted_models import Reply, ScriptedEmbedder, ScriptedTextModel

TEA, COFFEE, BOTH = "I like tea.", "I like coffee.", "I like tea and coffee."


class MeddledModel(ScriptedTextModel):
    """Lets something else happen right after each time it was asked to decide."""

    meddling: Iterator[Callable[[], Awaitable[object]]] = iter(())

    @override
    async def ask(self, prompt: Prompt, output: type[OutputT], meter: Meter) -> OutputT:
        found = await super().ask(prompt, output, meter)
        if output is FactVerdicts and (act := next(self.meddling, None)) is not None:
            await act()
        return found


@pytest.fixture
def model(script: list[Reply]) -> MeddledModel:
    return MeddledModel(script)


@pytest.fixture
def resources(resources: Resources, model: MeddledModel, embedder: ScriptedEmbedder) -> Resources:
    for text in (COFFEE, "I like green tea.", "I like black tea.", "I like white tea."):
        embedder.place(text, near=TEA, distance=0.6)
    return written_by(resources, model)


@pytest.fixture
async def path(client: httpx.AsyncClient) -> str:
    """A memory that the model is asked about."""
    return path_of((await create_memory(client, TEA))["name"])


def _patch(
    client: httpx.AsyncClient, path: str, **fields: str
) -> Callable[[], Awaitable[httpx.Response]]:
    async def act() -> httpx.Response:
        return await client.patch(path, json=fields)

    return act


async def _generated(client: httpx.AsyncClient, runner: Runner) -> Json:
    operation = await start(client, said(COFFEE))
    await runner.run_pending()
    return ok(await client.get(operation))


async def test_what_was_asked_is_not_asked_again(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: MeddledModel, path: str
) -> None:
    script += [facts(COFFEE), verdicts(verdict("merge", "m1", BOTH))]
    model.meddling = iter([_patch(client, path, description="meanwhile")])
    operation = await _generated(client, runner)
    # Another version of the memory, but the same words: the answer holds.
    assert operation["metadata"]["modelCallCount"] == len(model.asked) == 2
    assert await listed(client) == [BOTH]
    newest, between, _ = await history(client, path)
    (change,) = operation["response"]["generatedMemories"]
    assert change["previousRevision"] == between["name"]
    assert newest["description"] == "meanwhile"


async def test_only_the_decision_on_new_words_is_asked_for(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: MeddledModel, path: str
) -> None:
    green = "I like green tea and coffee."
    script += [
        facts(COFFEE),
        verdicts(verdict("merge", "m1", BOTH)),
        verdicts(verdict("merge", "m1", green)),
    ]
    model.meddling = iter([_patch(client, path, fact="I like green tea.")])
    operation = await _generated(client, runner)
    assert [asked.output.__name__ for asked in model.asked] == [
        "Facts",
        "FactVerdicts",
        "FactVerdicts",
    ]
    assert operation["metadata"]["modelCallCount"] == 3
    assert await listed(client) == [green]


async def test_a_decision_on_a_memory_that_is_gone_makes_a_new_one(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply], model: MeddledModel, path: str
) -> None:
    script += [facts(COFFEE), verdicts(verdict("merge", "m1", BOTH))]
    model.meddling = iter([lambda: client.delete(path)])
    operation = await _generated(client, runner)
    assert operation["metadata"]["modelCallCount"] == 2
    assert await listed(client) == [COFFEE]


async def test_it_is_planned_three_times_and_no_more(
    client: httpx.AsyncClient,
    clock: FixedClock,
    runner: Runner,
    script: list[Reply],
    model: MeddledModel,
    path: str,
) -> None:
    texts = ["I like green tea.", "I like black tea.", "I like white tea."]
    merged = [f"{text.removesuffix('.')} and coffee." for text in (TEA, *texts)]
    script += [facts(COFFEE), *(verdicts(verdict("merge", "m1", text)) for text in merged[:3])]
    model.meddling = iter([_patch(client, path, fact=text) for text in texts])
    operation = await _generated(client, runner)
    error = operation["error"]
    assert (error["code"], error["details"][0]["reason"]) == (10, "SCOPE_KEEPS_CHANGING")
    clock.advance(timedelta(hours=1))
    # Nobody pays for it again unasked, and what it has cost is told.
    assert await runner.run_pending() == 0
    assert len(model.asked) == operation["metadata"]["modelCallCount"] == 4
    assert await listed(client) == [texts[-1]]
