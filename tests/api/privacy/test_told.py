"""What an agent was told, and writes by a tool, is masked as its conversation is."""

from typing import Any

import httpx
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.platform.operations.services.runner import Runner
from tests.conftest import ADMIN_KEY
from tests.support.bank import Json, configure, listed
from tests.support.rows import rows_with
from tests.support.tools import call, made, mcp_call, while_working

CARD = "4111 1111 1111 1111"
TOLD = f"I pay for flights with {CARD}."
MASKED = "I pay for flights with [PAYMENT_CARD]."
ONLY = "My password is swordfish-99."
SAYS = "Masked as sensitive, and not stored: PAYMENT_CARD 1."
MINE = "/mcp?scope.user_id=42"


async def remembered(client: httpx.AsyncClient, runner: Runner, *facts: str) -> Json:
    answer: httpx.Response = await while_working(
        runner, call(client, "remember", {"facts": list(facts)})
    )
    body: Json = answer.json()
    assert body["isError"] is False, body
    return body


async def test_what_a_tool_remembers_is_masked_by_default_and_the_answer_says_so(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    told = await remembered(client, runner, TOLD, "I like tea.")
    assert told["text"].endswith(SAYS)
    assert told["result"]["masked"] == {"PAYMENT_CARD": 1}
    assert sorted(await listed(client)) == sorted([MASKED, "I like tea."])
    assert await rows_with(database, CARD) == {}


async def test_a_fact_that_is_all_mask_is_not_stored_as_in_a_conversation(
    client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    told = await remembered(client, runner, ONLY)
    assert told["result"]["not_stored"] == 1
    assert told["result"]["masked"] == {"CREDENTIAL": 1}
    assert await listed(client) == []
    assert await rows_with(database, "swordfish") == {}


async def test_mcp_masks_what_it_remembers_and_what_it_corrects(
    app: FastAPI, client: httpx.AsyncClient, runner: Runner, database: Database
) -> None:
    told: dict[str, Any] = await while_working(
        runner, mcp_call(app, ADMIN_KEY, "remember", {"facts": [TOLD]}, path=MINE)
    )
    assert told["content"][0]["text"].endswith(SAYS)
    memory = await made(client, "I like tea.")
    changed = {"id": memory, "fact": f"{TOLD} Really."}
    corrected = await mcp_call(app, ADMIN_KEY, "update_memory", changed, path=MINE)
    assert corrected["content"][0]["text"].endswith(SAYS)
    assert sorted(await listed(client)) == sorted([MASKED, f"{MASKED} Really."])
    assert await rows_with(database, CARD) == {}


async def test_rules_of_conversations_and_of_direct_writes_hold_for_tools(
    client: httpx.AsyncClient, runner: Runner
) -> None:
    rules = [
        {"kind": "PAYMENT_CARD", "action": "OFF"},
        {"kind": "EMAIL", "action": "MASK", "where": ["DIRECT"]},
        {"kind": "IBAN", "action": "REJECT", "where": ["GENERATION"]},
    ]
    await configure(client, privacyConfig={"rules": rules})
    told = await remembered(client, runner, f"{TOLD} Write to anna.k@example.com.")
    assert told["result"]["masked"] == {"EMAIL": 1}
    assert await listed(client) == [f"{TOLD} Write to [EMAIL]."]
    facts = {"facts": ["My IBAN is DE89 3704 0044 0532 0130 00."]}
    refused = (await call(client, "remember", facts)).json()
    assert refused["isError"] is True
    assert "SENSITIVE_CONTENT" in refused["text"]


async def test_memories_that_a_program_writes_stay_as_they_were_sent(
    client: httpx.AsyncClient,
) -> None:
    await made(client, TOLD)
    assert await listed(client) == [TOLD]
