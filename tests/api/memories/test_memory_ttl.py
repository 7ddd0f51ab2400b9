"""Which life wins: wire specification, sections 5.2, 5.5, 8.3 and 12.2."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.kernel.clock import FixedClock
from tests.support.bank import Json, after, configure, field_of, ok
from tests.support.cases import in_one_test
from tests.support.operations import USER, create_memory, path_of

DEFAULT = {"defaultTtl": "100s"}
GRANULAR = {"granularTtlConfig": {"createTtl": "200s"}}


def _expiry(memory: Json, clock: FixedClock) -> float | None:
    """Return in how many whole seconds of the clock a memory expires."""
    moments = {after(clock, seconds=seconds): float(seconds) for seconds in range(1000)}
    return moments[memory["expireTime"]] if "expireTime" in memory else None


@in_one_test(
    ("bank", "given", "seconds"),
    [
        ({}, {}, None),
        (DEFAULT, {}, 100),
        (GRANULAR, {}, 200),
        ({"granular_ttl": {"create_ttl": "300s"}}, {}, 300),
        ({"granularTtlConfig": {"generateCreatedTtl": "400s"}}, {}, None),
        (DEFAULT, {"ttl": "50s"}, 50),
        (GRANULAR, {"ttl": "50s"}, 50),
        (GRANULAR, {"expireTime": "2026-01-15T12:01:10Z"}, 70),
    ],
)
async def test_creation_takes_the_request_then_granular_then_default(
    client: httpx.AsyncClient,
    clock: FixedClock,
    bank: dict[str, Any],
    given: dict[str, Any],
    seconds: float | None,
) -> None:
    await configure(client, ttlConfig=bank)
    assert _expiry(await create_memory(client, "x", **given), clock) == seconds


@pytest.mark.parametrize(
    ("bank", "given", "seconds"),
    [
        ({}, {}, 490),
        (DEFAULT, {}, 100),
        (GRANULAR, {}, 490),
        (DEFAULT, {"ttl": "50s"}, 50),
        (GRANULAR, {"ttl": "50s"}, 50),
        (DEFAULT, {"expireTime": "2026-01-15T12:01:10Z"}, 60),
    ],
)
async def test_an_update_takes_the_request_then_default_and_else_leaves_it(
    client: httpx.AsyncClient,
    clock: FixedClock,
    bank: dict[str, Any],
    given: dict[str, Any],
    seconds: float,
) -> None:
    memory = await create_memory(client, "x", ttl="500s")
    await configure(client, ttlConfig=bank)
    clock.advance(timedelta(seconds=10))
    body = {"fact": "y", **given}
    updated = ok(await client.patch(path_of(memory["name"]), json=body))["response"]
    assert _expiry(updated, clock) == seconds


async def test_an_update_without_any_ttl_leaves_a_memory_everlasting(
    client: httpx.AsyncClient,
) -> None:
    memory = await create_memory(client, "x")
    updated = ok(await client.patch(path_of(memory["name"]), json={"fact": "y"}))["response"]
    assert "expireTime" not in updated


async def test_a_ttl_that_the_mask_leaves_out_has_no_effect(client: httpx.AsyncClient) -> None:
    memory = await create_memory(client, "x")
    answer = await client.patch(
        path_of(memory["name"]), json={"fact": "y", "ttl": "60s"}, params={"updateMask": "fact"}
    )
    assert "expireTime" not in ok(answer)["response"]


async def test_a_mask_without_a_value_leaves_the_bank_s_default(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    memory = await create_memory(client, "x", ttl="500s")
    path = path_of(memory["name"])
    for bank, seconds in ((DEFAULT, 100), (GRANULAR, None)):
        await configure(client, ttlConfig=bank)
        for mask in ("ttl", "expireTime", "*"):
            ok(await client.patch(path, json={"ttl": "500s"}))
            body = {"fact": "y"}
            answer = await client.patch(path, json=body, params={"updateMask": mask})
            assert _expiry(ok(answer)["response"], clock) == seconds


async def test_a_bank_has_one_kind_of_ttl(client: httpx.AsyncClient) -> None:
    body = {"contextSpec": {"memoryBankConfig": {"ttlConfig": {**DEFAULT, **GRANULAR}}}}
    url = "http://test/v1beta1/reasoningEngines/1"
    answer = await client.patch(url, json=body, params={"updateMask": "context_spec"})
    assert field_of(answer) == "contextSpec.memoryBankConfig.ttlConfig"


async def test_the_configuration_of_now_counts(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await configure(client, ttlConfig=DEFAULT)
    first = await create_memory(client, "x")
    await configure(client)
    second = await create_memory(client, "y", USER)
    assert _expiry(ok(await client.get(path_of(first["name"]))), clock) == 100
    assert "expireTime" not in second
