"""`POST {E}/contextCosts:estimate`."""

from typing import Any

import httpx
import pytest

from tests.support.cases import in_one_test
from tests.support.engines import FIRST
from tests.support.errors import BAD_FIELD, NOT_FOUND, refusal, violations

_URL = f"{FIRST}/contextCosts:estimate"


async def _estimate(client: httpx.AsyncClient, body: dict[str, Any] | None = None) -> Any:
    answer = await client.post(_URL, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_row_has_tokens_as_numbers_and_money_as_decimal_strings(
    client: httpx.AsyncClient,
) -> None:
    body = {
        "messages": [100],
        "contextWindow": 4_096,
        "strategies": [{"strategy": "abstraction_inclusive", "cap": 51, "framing": False}],
        "findBestCap": True,
    }
    assert await _estimate(client, body) == {
        "accounting": "per_prompt",
        "rows": [
            {
                "strategy": "abstraction_inclusive",
                "policy": {"strategy": "abstraction_inclusive", "cap": 51, "framing": False},
                "messages": 100,
                "lastPromptTokens": 5_550,
                "largestPromptTokens": 5_550,
                "totalTokens": 312_730,
                "billedTokens": {
                    "promptIn": 307_350,
                    "promptOut": 0,
                    "summaryIn": 5_130,
                    "summaryOut": 250,
                },
                "cost": "0.62546",
                "summaries": 1,
                "firstOverflowMessage": 37,
                "savedVsInclusive": "0.426183",
                "bestCap": {"cap": 18, "totalTokens": 198_900, "cost": "0.3978"},
            }
        ],
    }


async def test_both_spellings_are_read(client: httpx.AsyncClient) -> None:
    snake = {
        "message_tokens": {"user": 10, "assistant": 90},
        "summary_overhead_tokens": 1,
        "prices": {"input_per_1k": "1", "summary_output_per_1k": "2"},
        "find_best_cap": True,
        "strategies": [{"strategy": "fully_abstracted", "keep_recent": 2}],
    }
    camel = {
        "messageTokens": {"user": 10, "assistant": 90},
        "summaryOverheadTokens": 1,
        "prices": {"inputPer1k": "1", "summaryOutputPer1k": "2"},
        "findBestCap": True,
        "strategies": [{"strategy": "fully_abstracted", "keepRecent": 2}],
    }
    assert await _estimate(client, snake) == await _estimate(client, camel)


async def test_nothing_need_be_said(client: httpx.AsyncClient) -> None:
    rows = (await _estimate(client, {}))["rows"]
    assert len(rows) == 9
    assert rows[0]["cost"] == "0.117"
    answer = await client.post(_URL)
    assert answer.json()["rows"] == rows


async def test_the_published_accounting_says_what_is_wrong_with_it(
    client: httpx.AsyncClient,
) -> None:
    body = {"accounting": "published_tables", "messages": [30]}
    found = await _estimate(client, body)
    assert "not what a provider bills" in found["note"]
    first = found["rows"][0]
    assert (first["finalTokens"], first["lastCost"], first["cost"]) == (58_500, "0.1178", "1.388")
    assert "billedTokens" not in first


@in_one_test(
    ("body", "field"),
    [
        ({"messages": [0]}, "messages[0]"),
        ({"messageTokens": "many"}, "messageTokens"),
        ({"prices": {"inputPer1k": 0.002}}, "prices.inputPer1k"),
        ({"strategies": [{"strategy": "all"}]}, "strategies[0].strategy"),
        ({"strategies": [{"strategy": "agent_summary"}]}, "contextWindow"),
        ({"models": {"a": {"inputPer1k": "1", "outputPer1k": "1"}}, "model": "b"}, "model"),
    ],
)
async def test_what_cannot_be_counted_is_400_and_named(
    client: httpx.AsyncClient, body: dict[str, Any], field: str
) -> None:
    answer = await client.post(_URL, json=body)
    assert refusal(answer) == BAD_FIELD
    assert list(violations(answer)) == [field]


async def test_an_engine_that_is_not_there_is_404(client: httpx.AsyncClient) -> None:
    answer = await client.post(_URL.replace("/1/", "/404/"), json={})
    assert refusal(answer) == NOT_FOUND


async def test_what_would_take_longest_is_answered(client: httpx.AsyncClient) -> None:
    body = {
        "messages": [100_000 - place for place in range(10)],
        "contextWindow": 8_000,
        "findBestCap": True,
        "strategies": [
            {"strategy": "agent_summary"},
            {"strategy": "every_n", "keepRecent": 3, "maxAbstractions": 4},
        ],
    }
    rows = (await _estimate(client, body))["rows"]
    assert len(rows) == 20
    assert all("." not in str(row["totalTokens"]) for row in rows)


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        ({"strategy": "inclusive", "counter": "canary"}, "strategies[1].counter"),
        ({"strategy": "every_n", "summaryModel": "canary"}, "strategies[1].summaryModel"),
    ],
)
async def test_what_a_strategy_names_must_be_there(
    client: httpx.AsyncClient, policy: dict[str, Any], field: str
) -> None:
    answer = await client.post(_URL, json={"strategies": [{"strategy": "none"}, policy]})
    assert refusal(answer) == BAD_FIELD
    assert list(violations(answer)) == [field]
    assert "canary" not in answer.text


async def test_a_counter_that_is_there_may_be_named(client: httpx.AsyncClient) -> None:
    policy = {"strategy": "inclusive", "counter": "declared"}
    assert (await _estimate(client, {"strategies": [policy]}))["rows"][0]["policy"] == policy
