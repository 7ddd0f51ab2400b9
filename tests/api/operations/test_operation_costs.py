"""What operations tell of their costs, where these are summed, and the budget that ends them."""

from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from app.adapters.llm.models import TextModels
from app.adapters.resources import Resources
from app.kernel.errors import Reason, Unavailable
from app.platform.operations.services.runner import Runner
from app.settings.settings import ModelPrice, Settings
from tests.support.bank import Json, listed, ok
from tests.support.engines import FIRST
from tests.support.errors import refusal
from tests.support.generation import run, said, start
from tests.support.operations import USER
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
