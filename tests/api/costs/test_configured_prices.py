"""Estimates at the prices in the settings of the service."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.adapters.llm.models import TextModels
from app.adapters.resources import Resources
from app.settings.settings import ModelPrice, Settings
from tests.support.bank import ok
from tests.support.engines import FIRST
from tests.support.errors import BAD_FIELD, refusal, violations
from tests.support.scripted_models import ScriptedTextModel
from tests.support.usage import LOCAL, MINI

_URL = f"{FIRST}/contextCosts:estimate"
_TALK = {"messages": [30], "messageTokens": {"user": 60, "assistant": 40}, "configuredPrices": True}
_CELL = {"strategy": "fully_abstracted", "cap": 10}


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    prices = {MINI: ModelPrice(input=0.25, output=2)}
    return Settings(data_dir=data_dir, model_prices=prices, price_currency="EUR")


@pytest.fixture
async def resources(resources: Resources) -> Resources:
    small = ScriptedTextModel([], model_id=LOCAL)
    models = TextModels(default=small, aliases={"large": ScriptedTextModel([], model_id=MINI)})
    return replace(resources, models=models)


async def _estimate(client: httpx.AsyncClient, **asked: Any) -> Any:
    return ok(await client.post(_URL, json={**_TALK, "strategies": [_CELL], **asked}))


async def test_they_are_those_of_the_same_prices_in_the_request(client: httpx.AsyncClient) -> None:
    prices = {"inputPer1k": "0.00025", "outputPer1k": "0.002"}
    asked = {**_TALK, "strategies": [_CELL], "models": {MINI: prices}, "model": MINI}
    given = ok(await client.post(_URL, json={**asked, "configuredPrices": False}))
    for name in (MINI, "large"):
        found = await _estimate(client, model=name, summaryModel=name)
        assert found["rows"] == given["rows"]
        assert (found["model"], found["currency"]) == (name, "EUR")
        assert found["pricedModels"] == [MINI]
        assert "unpricedModels" not in found


async def test_models_without_a_price_are_named(client: httpx.AsyncClient) -> None:
    own = await _estimate(client)
    assert (own["model"], own["unpricedModels"], own["rows"][0]["cost"]) == (LOCAL, [LOCAL], "0")
    by_default = await _estimate(client, model=MINI)
    assert by_default["unpricedModels"] == [LOCAL]
    assert float(by_default["rows"][0]["cost"]) > 0
    for strategy in ({"strategy": "inclusive"}, {**_CELL, "summaryModel": "builtin"}):
        found = await _estimate(client, model=MINI, strategies=[strategy])
        assert "unpricedModels" not in found


async def test_other_prices_beside_them_are_refused(client: httpx.AsyncClient) -> None:
    priced = {"inputPer1k": "1", "outputPer1k": "1"}
    for field, value in (("prices", priced), ("models", {"m": priced})):
        answer = await client.post(_URL, json={**_TALK, "model": "m", field: value})
        assert refusal(answer) == BAD_FIELD
        assert list(violations(answer)) == [field]
