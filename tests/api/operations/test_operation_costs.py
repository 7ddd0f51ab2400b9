"""What operations tell of their costs, where these are summed, and the budget that ends them."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.adapters.llm.models import TextModels
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unavailable
from app.platform.operations.services.runner import Runner
from app.settings.settings import ModelPrice, Settings
from tests.support.bank import ENGINE_URL, Json, listed, ok
from tests.support.engines import FIRST
from tests.support.errors import refusal
from tests.support.generation import run, said, start
from tests.support.keys import client_with, make_key
from tests.support.operations import USER, path_of
from tests.support.queue import overwrite
from tests.support.scripted_models import Reply, ScriptedTextModel

_PRICED, _UNPRICED = "scripted:priced", "scripted:unpriced"
_TEA = "I like tea."
_FACTS: Reply = {
    "facts": [{"fact": _TEA, "quote": _TEA, "line": 0, "topics": ["USER_PREFERENCES"]}]
}
_REFUSED = (429, "RESOURCE_EXHAUSTED", Reason.TOKEN_BUDGET_EXHAUSTED)


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    return Settings(
        data_dir=data_dir,
        worker_retry_base_seconds=0.01,
        worker_max_attempts=1,
        daily_max_tokens=10_000,
        model_prices={_PRICED: ModelPrice(input=1, output=10)},
    )


@pytest.fixture
def model_id() -> str:
    return _PRICED


@pytest.fixture
def script() -> list[Reply]:
    return [_FACTS] * 20


@pytest.fixture
def resources(resources: Resources, script: list[Reply], model_id: str) -> Resources:
    return replace(resources, models=TextModels(ScriptedTextModel(script, model_id=model_id)))


async def _usage(client: httpx.AsyncClient) -> Json:
    return ok(await client.get(f"{FIRST}:usage"))


async def test_an_operation_tells_what_the_usage_sums_up(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    metadata = (await run(client, runner, said(_TEA)))["metadata"]
    sent, got = metadata["inputTokenCount"], metadata["outputTokenCount"]
    assert min(sent, got) > 0
    assert metadata["modelCallCount"] == 1
    assert metadata["cost"] == {"amount": (sent + 10 * got) / 1_000_000, "currency": "USD"}
    found = await _usage(client)
    assert found["usage"] == [
        {
            "day": "2026-01-15",
            "model": _PRICED,
            "callCount": 1,
            "inputTokenCount": sent,
            "outputTokenCount": got,
            "modelMilliseconds": metadata["modelMilliseconds"],
            "cost": metadata["cost"],
            "knownCost": metadata["cost"],
            "unpricedCallCount": 0,
        }
    ]
    assert found["budget"]["usedTokenCount"] == sent + got


@pytest.mark.parametrize("model_id", [_UNPRICED])
async def test_without_a_price_no_money_is_told(client: httpx.AsyncClient, runner: Runner) -> None:
    metadata = (await run(client, runner, said(_TEA)))["metadata"]
    assert metadata["modelCallCount"] == 1
    assert "cost" not in metadata


async def test_a_dry_run_costs_as_much(client: httpx.AsyncClient, runner: Runner) -> None:
    metadata = (await run(client, runner, said(_TEA), validateOnly=True))["metadata"]
    assert metadata["cost"]["amount"] > 0
    assert (await _usage(client))["total"]["callCount"] == 1
    assert await listed(client) == []


@pytest.mark.parametrize(
    "script", [[Unavailable("The provider is away.", Reason.MODEL_UNAVAILABLE)]]
)
async def test_work_that_failed_has_its_costs_too(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    path = await start(client, said(_TEA))
    await runner.run_pending()
    operation = ok(await client.get(path))
    assert operation["error"]["details"][0]["reason"] == Reason.MODEL_UNAVAILABLE
    metadata = operation["metadata"]
    assert metadata["modelCallCount"] == 1
    total = (await _usage(client))["total"]
    assert total["inputTokenCount"] == metadata["inputTokenCount"] > 0


async def _spend(client: httpx.AsyncClient, runner: Runner) -> None:
    """Use the budget up with one long conversation."""
    await run(client, runner, said(_TEA, *["And I go for a walk in the park."] * 1_000))


async def test_a_generation_beyond_the_budget_is_refused_at_once(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await _spend(client, runner)
    answer = await client.post("/memories:generate", json={"scope": USER, **said("I like rum.")})
    assert refusal(answer) == _REFUSED
    assert answer.headers["retry-after"] == str(12 * 3_600)
    message = answer.json()["error"]["message"]
    assert message.startswith("reasoningEngines/1 has used ")
    assert "of its 10000 tokens of 2026-01-15 (UTC)" in message


async def test_a_generation_that_waited_while_the_budget_went_ends_with_the_reason(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    first = await start(client, said(_TEA, *["And I go for a walk in the park."] * 1_000))
    second = await start(client, said("I like rum."))
    await runner.run_pending()
    assert "response" in ok(await client.get(first))
    error = ok(await client.get(second))["error"]
    assert error["code"] == 8
    assert error["details"][0]["reason"] == Reason.TOKEN_BUDGET_EXHAUSTED


async def test_what_calls_no_model_needs_no_budget(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    await _spend(client, runner)
    body = {"fact": "I like rum.", "scope": USER}
    assert (await client.post("/memories", json=body)).status_code == 200


async def _summed(client: httpx.AsyncClient, text: str = "") -> Json:
    return ok(await client.get("/operations:usage", params={"filter": text}))


async def test_the_kept_operations_of_a_scope_are_summed_up(
    app: FastAPI, client: httpx.AsyncClient, runner: Runner, clock: FixedClock, database: Database
) -> None:
    first = await run(client, runner, said(_TEA))
    clock.advance(timedelta(minutes=1))
    second = await run(client, runner, said(_TEA))
    await run(client, runner, said(_TEA), scope={"user_id": "7"})
    found = await _summed(client, 'scope.user_id="42"')
    parts = [first["metadata"], second["metadata"]]
    cost = {
        "amount": pytest.approx(sum(part["cost"]["amount"] for part in parts)),
        "currency": "USD",
    }
    assert found == {
        "operationCount": 2,
        "firstTime": first["metadata"]["genericMetadata"]["createTime"],
        "callCount": sum(part["modelCallCount"] for part in parts),
        "inputTokenCount": sum(part["inputTokenCount"] for part in parts),
        "outputTokenCount": sum(part["outputTokenCount"] for part in parts),
        "modelMilliseconds": sum(part["modelMilliseconds"] for part in parts),
        "cost": cost,
        "knownCost": cost,
        "unpricedCallCount": 0,
    }
    assert (await _summed(client))["operationCount"] == 3
    ok(await client.delete(path_of(first["name"])))
    left = await _summed(client, 'scope.user_id="42"')
    assert left["firstTime"] == second["metadata"]["genericMetadata"]["createTime"]
    assert left["cost"] == second["metadata"]["cost"]
    bound = await make_key(database, clock.now(), "viewer", scope_conditions={"user_id": ["7"]})
    async with client_with(app, bound) as other:
        assert (await _summed(other))["operationCount"] == 1
        assert await _summed(other, 'scope.user_id="42"') == _NOTHING


_NOTHING = {
    "operationCount": 0,
    "callCount": 0,
    "inputTokenCount": 0,
    "outputTokenCount": 0,
    "modelMilliseconds": 0,
    "unpricedCallCount": 0,
}


@pytest.mark.parametrize(
    "cost",
    [None, {"amount": 1, "currency": "EUR"}, {"amount": 1}],
    ids=["no price", "another currency", "no currency"],
)
async def test_a_sum_tells_of_calls_without_a_known_cost(
    client: httpx.AsyncClient, runner: Runner, database: Database, cost: Json | None
) -> None:
    priced = await run(client, runner, said(_TEA))
    other = await run(client, runner, said(_TEA))
    details = {"modelCallCount": 3, "inputTokenCount": "many"}
    await overwrite(database, other["name"].rpartition("/")[2], details={**details, "cost": cost})
    found = await _summed(client)
    assert found["knownCost"] == priced["metadata"]["cost"]
    assert "cost" not in found
    assert (found["callCount"], found["unpricedCallCount"]) == (4, 3)
    assert found["inputTokenCount"] == priced["metadata"]["inputTokenCount"]


async def test_a_sum_refuses_what_the_list_refuses(client: httpx.AsyncClient) -> None:
    assert await _summed(client, "name=none") == _NOTHING
    answer = await client.get("/operations:usage", params={"filter": "fact=x"})
    assert refusal(answer) == (400, "INVALID_ARGUMENT", Reason.FILTER_INVALID)
    answer = await client.get(f"{ENGINE_URL}7/operations:usage")
    assert refusal(answer) == (404, "NOT_FOUND", Reason.RESOURCE_NOT_FOUND)
