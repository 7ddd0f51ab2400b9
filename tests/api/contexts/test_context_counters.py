"""By what the tokens of contexts are counted, and what they would cost."""

from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from app.kernel.clock import FixedClock
from app.settings.settings import ModelPrice, Settings
from tests.conftest import ADMIN_KEY
from tests.support.bank import ok
from tests.support.contexts import SYSTEM, context, of_exchanges, said, talk
from tests.support.encodings import write_encoding
from tests.support.sessions import new_path


@pytest.fixture
def settings(data_dir: Path, tmp_path: Path) -> Settings:
    write_encoding(tmp_path, "cl100k_base", "hello")
    prices = {"openai:big": ModelPrice(input=2, output=8)}
    return Settings(
        data_dir=data_dir, admin_key=ADMIN_KEY, tiktoken_dir=tmp_path, model_prices=prices
    )


async def test_the_counter_of_the_policy_counts_and_is_named(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    await talk(client, path, [said("user", "hello hello"), said("agent", "hello")])
    for counter, tokens in (("chars4", 5), ("cl100k_base", 4), ("declared", 5)):
        found = await context(client, path, policy={"strategy": "inclusive", "counter": counter})
        assert (found["tokens"]["counter"], found["tokens"]["events"]) == (counter, tokens)


async def test_declared_tokens_are_the_senders(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    body = {"input": "x" * 40, "output": "y" * 40, "inputTokenCount": 3}
    ok(await client.post(f"{path}/exchanges", json=body))
    policy = {"strategy": "inclusive", "counter": "declared", "perMessageOverhead": 4}
    found = await context(client, path, policy=policy, systemPrompt="z" * 8)
    assert found["tokens"]["events"] == 3 + 10 + 2 * 4
    assert found["tokens"]["system"] == 2 + 4


async def test_long_texts_are_counted_too(client: httpx.AsyncClient) -> None:
    path = await new_path(client)
    await talk(client, path, [said("user", "hello " * 50_000)])
    found = await context(client, path, policy={"strategy": "window", "counter": "cl100k_base"})
    # It is counted in pieces, and each cut may add some.
    assert 100_000 <= found["tokens"]["events"] <= 100_010


async def test_an_abstraction_keeps_what_weighs_most_by_any_counter(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    # Each character is a token.
    talkative = [said("user", f"Well {n}, so it is, you know.") for n in range(12)]
    await talk(client, await new_path(client), [*talkative, said("user", "My budget is 900 EUR.")])
    clock.advance(timedelta(minutes=1))
    carried = {"carryOver": "ABSTRACTION", "carryOverTokens": 60, "counter": "cl100k_base"}
    path = await new_path(client, memoryPolicy={"strategy": "inclusive", **carried})
    found = await context(client, path)
    assert "Human: My budget is 900 EUR." in found["messages"][0]["content"].splitlines()
    assert found["tokens"]["carriedOver"] <= 60


async def test_a_price_makes_an_estimate(client: httpx.AsyncClient) -> None:
    path = await of_exchanges(client, 1)
    found = await context(client, path, systemPrompt=SYSTEM, model="openai:big")
    assert found["tokens"]["total"] == 500
    assert found["estimatedCost"] == {"amount": 0.001, "currency": "USD"}
    assert "estimatedCost" not in await context(client, path, model="openai:other")
    assert "estimatedCost" not in await context(client, path)
