"""Rates, quotas and sizes of batches and imports."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.kernel.clock import FixedClock
from app.memory.bulk.logic import CHUNK_LINES
from app.settings.settings import Settings
from tests.support.bank import Json, field_of, listed, ok
from tests.support.operations import USER


def _new(fact: str = "I like tea.", **fields: Any) -> Json:
    return {"fact": fact, "scope": USER, **fields}


async def _batch(client: httpx.AsyncClient, count: int, **fields: Any) -> httpx.Response:
    requests = [{"memory": _new(f"Fact {n}.")} for n in range(count)]
    return await client.post("/memories:batchCreate", json={"requests": requests, **fields})


async def _import(client: httpx.AsyncClient, count: int) -> httpx.Response:
    body = "\n".join(json.dumps(_new(f"Fact {n}.")) for n in range(count))
    headers = {"content-type": "application/x-ndjson"}
    return await client.post("/memories:import", content=body, headers=headers)


def _refused(answer: httpx.Response) -> Json:
    assert answer.status_code == 429, answer.text
    info: Json = answer.json()["error"]["details"][0]
    assert info["reason"] == "QUOTA_EXHAUSTED"
    metadata: Json = info["metadata"]
    return metadata


class TestQuotas:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"engine_max_memories": 300})

    async def test_a_batch_does_not_pass_a_quota(self, client: httpx.AsyncClient) -> None:
        ok(await _batch(client, 100))
        for atomic in (True, False):
            refused = _refused(await _batch(client, 201, atomic=atomic))
            assert refused == {"quota": "memories", "limit": "300"}
        assert len(await listed(client, pageSize=1_000)) == 100
        ok(await _batch(client, 200))
        _refused(await _batch(client, 1))

    async def test_an_import_ends_at_the_quota(self, client: httpx.AsyncClient) -> None:
        refused = _refused(await _import(client, 600))
        assert refused == {
            "quota": "memories",
            "limit": "300",
            "lines": "250",
            "imported": "250",
            "existing": "0",
            "expired": "0",
            "restored": "0",
            "changedHere": "0",
            "overwritten": "0",
            "failed": "0",
        }
        assert len(await listed(client, pageSize=1_000)) == 250


class TestBytes:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"engine_max_bytes": 5_000})

    async def test_a_full_engine_takes_no_batch(self, client: httpx.AsyncClient) -> None:
        ok(await _batch(client, 200))
        assert _refused(await _batch(client, 1))["quota"] == "bytes"
        assert _refused(await _import(client, 1))["quota"] == "bytes"


class TestRates:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        update = {"key_rate_units_per_second": 10, "rate_burst_seconds": 4}
        return settings.model_copy(update=update)

    async def test_a_batch_costs_as_much_as_anything(self, client: httpx.AsyncClient) -> None:
        answers = [(await _batch(client, 1)).status_code for _ in range(3)]
        assert answers == [200, 200, 429]

    async def test_an_import_waits_for_its_rate(
        self, client: httpx.AsyncClient, clock: FixedClock
    ) -> None:
        began = clock.now()
        importing = asyncio.create_task(_import(client, 4 * CHUNK_LINES))
        while not importing.done():
            await asyncio.sleep(0.01)
            clock.advance(timedelta(seconds=1))
        assert ok(importing.result())["imported"] == 4 * CHUNK_LINES
        # Of 80 units there were 40 at first, and 10 come a second.
        assert clock.now() - began >= timedelta(seconds=4)


class TestSizes:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        update = {"max_scope_value_chars": 5, "max_metadata_entries": 1}
        return settings.model_copy(update=update)

    async def test_the_sizes_of_the_settings_hold(self, client: httpx.AsyncClient) -> None:
        metadata = {name: {"boolValue": True} for name in "ab"}
        wrong = {"scope": _new(scope={"user_id": "123456"}), "metadata": _new(metadata=metadata)}
        for field, memory in wrong.items():
            body = {"requests": [{"memory": _new()}, {"memory": memory}]}
            answer = await client.post("/memories:batchCreate", json=body)
            assert field_of(answer) == f"requests[1].memory.{field}"
            headers = {"content-type": "application/x-ndjson"}
            content = json.dumps(memory)
            found = ok(await client.post("/memories:import", content=content, headers=headers))
            assert found["errors"][0]["error"]["message"].startswith(f"{field}: ")
