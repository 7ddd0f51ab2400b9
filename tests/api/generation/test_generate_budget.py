"""The budget of tokens: at the limit no model is asked; without a model there is no limit."""

from datetime import timedelta

import httpx
import pytest

from app.adapters.db.session import Database
from app.adapters.llm.ports import Usage
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.bank import listed, ok, refusal
from tests.support.engines import API, create_engine
from tests.support.generation import given, run, said, start
from tests.support.operations import USER, create_memory
from tests.support.scripted import facts, verdict, verdicts, written_by
from tests.support.scripted_models import Reply, ScriptedEmbedder, ScriptedTextModel
from tests.support.usage import record

TEA, COFFEE = "I like tea.", "I like coffee."
SPENT = Usage(1, 600, 400, 1)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"daily_max_tokens": 1_000})


@pytest.fixture
async def spent(database: Database, settings: Settings, clock: FixedClock) -> None:
    """The tokens of the day have been used up."""
    await record(database, settings, clock.now(), mini=SPENT)


@pytest.fixture
async def nearly_spent(database: Database, settings: Settings, clock: FixedClock) -> None:
    """One token of the day is left."""
    await record(database, settings, clock.now(), mini=Usage(1, 600, 399, 1))


@pytest.fixture
def has_model(request: pytest.FixtureRequest) -> bool:
    return bool(getattr(request, "param", True))


@pytest.fixture
def resources(resources: Resources, model: ScriptedTextModel, *, has_model: bool) -> Resources:
    return written_by(resources, model if has_model else None)


async def test_at_the_limit_a_generation_is_refused(
    client: httpx.AsyncClient, database: Database, settings: Settings, clock: FixedClock
) -> None:
    await record(database, settings, clock.now(), mini=SPENT)
    answer = await client.post("/memories:generate", json={"scope": USER, **said(TEA)})
    assert refusal(answer) == (429, "RESOURCE_EXHAUSTED")
    detail = answer.json()["error"]["details"][0]
    assert detail["reason"] == "TOKEN_BUDGET_EXHAUSTED"
    assert detail["metadata"]["dailyTokenLimit"] == "1000"
    assert "its 1000 tokens" in answer.json()["error"]["message"]
    assert int(answer.headers["retry-after"]) == 12 * 3_600
    assert ok(await client.get("/operations"))["operations"] == []


async def test_other_engines_and_other_days_go_on(
    client: httpx.AsyncClient,
    runner: Runner,
    database: Database,
    settings: Settings,
    clock: FixedClock,
    script: list[Reply],
) -> None:
    await record(database, settings, clock.now(), mini=SPENT)
    other = (await create_engine(client))["name"]
    body = {"scope": USER, **said(TEA)}
    ok(await client.post(f"{API}/{other}/memories:generate", json=body))
    clock.advance(timedelta(hours=12))
    script += [facts(TEA), facts(TEA)]
    await run(client, runner, said(TEA))
    assert await listed(client) == [TEA]


async def test_what_waited_while_others_spent_fails_by_name(
    client: httpx.AsyncClient,
    runner: Runner,
    database: Database,
    settings: Settings,
    clock: FixedClock,
    model: ScriptedTextModel,
) -> None:
    path = await start(client, said(TEA))
    await record(database, settings, clock.now(), mini=SPENT)
    await runner.run_pending()
    operation = ok(await client.get(path))
    assert operation["done"]
    assert operation["error"]["code"] == 8
    assert operation["error"]["details"][0]["reason"] == "TOKEN_BUDGET_EXHAUSTED"
    assert model.asked == []


@pytest.mark.usefixtures("spent")
async def test_given_facts_that_need_no_model_need_no_tokens(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    operation = await run(client, runner, given(TEA))
    assert operation["metadata"]["author"] == "builtin-rules/3"
    assert await listed(client) == [TEA]


@pytest.mark.usefixtures("spent")
async def test_given_facts_that_need_one_fail_by_name(
    client: httpx.AsyncClient,
    runner: Runner,
    embedder: ScriptedEmbedder,
    model: ScriptedTextModel,
) -> None:
    embedder.place(COFFEE, near=TEA, distance=0.6)
    await create_memory(client, TEA)
    path = await start(client, given(COFFEE))
    await runner.run_pending()
    operation = ok(await client.get(path))
    assert operation["error"]["details"][0]["reason"] == "TOKEN_BUDGET_EXHAUSTED"
    # No call was made, and its metadata say so, and which model it would have been.
    metadata = operation["metadata"]
    assert (metadata["author"], metadata["modelCallCount"]) == ("scripted:1", 0)
    assert model.asked == []
    assert await listed(client) == [TEA]


@pytest.mark.usefixtures("nearly_spent")
async def test_work_that_has_begun_to_spend_is_brought_to_its_end(
    client: httpx.AsyncClient,
    runner: Runner,
    script: list[Reply],
    embedder: ScriptedEmbedder,
) -> None:
    # Either call alone takes more than is left.
    embedder.place(COFFEE, near=TEA, distance=0.6)
    await create_memory(client, TEA)
    script += [facts(COFFEE), verdicts(verdict("merge", "m1", "I like tea and coffee."))]
    operation = await run(client, runner, said(COFFEE))
    assert operation["metadata"]["modelCallCount"] == 2


async def test_what_a_generation_spends_counts(
    client: httpx.AsyncClient, runner: Runner, script: list[Reply]
) -> None:
    script += ["x" * 4_000, "x" * 4_000]
    await start(client, said(TEA))
    await runner.run_pending()
    answer = await client.post("/memories:generate", json={"scope": USER, **said(TEA)})
    assert refusal(answer) == (429, "RESOURCE_EXHAUSTED")


@pytest.mark.parametrize("has_model", [False], indirect=True)
async def test_the_rules_cost_nothing(
    client: httpx.AsyncClient,
    runner: Runner,
    database: Database,
    settings: Settings,
    clock: FixedClock,
) -> None:
    await record(database, settings, clock.now(), mini=SPENT)
    await run(client, runner, said(TEA))
    assert await listed(client) == [TEA]
