"""The permissions of each tool: exactly those that its calls of the API demand."""

from collections.abc import Callable

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.tools import ToolName
from app.platform.operations.services.runner import Runner
from app.surfaces.tools.catalogue import TOOLS
from tests.support.bank import Json, ok
from tests.support.errors import refusal
from tests.support.keys import client_with, make_key
from tests.support.tools import call, made, while_working

BOUND = {"user_id": ["42"]}
ARGUMENTS: dict[ToolName, Callable[[str], Json]] = {
    ToolName.SEARCH_MEMORIES: lambda _: {"query": "coffee"},
    ToolName.LIST_MEMORIES: lambda _: {},
    ToolName.MEMORY_HISTORY: lambda memory: {"id": memory},
    ToolName.REMEMBER: lambda _: {"facts": ["I like milk."]},
    ToolName.LEARN_FROM_CONVERSATION: lambda _: {
        "messages": [{"role": "user", "text": "I live in Oslo."}]
    },
    ToolName.UPDATE_MEMORY: lambda memory: {"id": memory, "fact": "I like rice."},
    ToolName.FORGET_MEMORY: lambda memory: {"ids": [memory]},
    ToolName.RESTORE_MEMORY: lambda memory: {"id": memory},
    ToolName.RECALL_CONVERSATION: lambda _: {"query": "parcel", "session": "mine"},
}
"""Arguments of a call that succeeds, by the id of a memory that was updated once."""
FOUND = {
    ToolName.SEARCH_MEMORIES: "I like coffee.",
    ToolName.LIST_MEMORIES: "I like coffee.",
    ToolName.MEMORY_HISTORY: "I like tea.",
    ToolName.REMEMBER: "Stored: I like milk.",
    ToolName.LEARN_FROM_CONVERSATION: "Oslo",
    ToolName.UPDATE_MEMORY: "Updated: I like rice.",
    ToolName.FORGET_MEMORY: "Forgotten: I like coffee.",
    ToolName.RESTORE_MEMORY: "Restored: I like tea.",
    ToolName.RECALL_CONVERSATION: "The parcel is green.",
}
"""A part of each call's text."""


@pytest.mark.parametrize("name", TOOLS)
async def test_a_key_with_exactly_these_permissions_uses_the_tool(
    app: FastAPI,
    client: httpx.AsyncClient,
    database: Database,
    clock: FixedClock,
    runner: Runner,
    name: ToolName,
) -> None:
    memory = await made(client, "I like tea.")
    await call(client, "update_memory", {"id": memory, "fact": "I like coffee."})
    await client.post("sessions", params={"sessionId": "mine"}, json={"userId": "42"})
    exchange = {"input": "The parcel is green.", "output": "Noted."}
    await client.post("sessions/mine/exchanges", json=exchange)
    needed, arguments = TOOLS[name].permissions, ARGUMENTS[name](memory)
    for missing in needed:
        fewer = [permission.value for permission in needed - {missing}]
        key = await make_key(database, clock.now(), permissions=fewer, scope_conditions=BOUND)
        async with client_with(app, key) as lacking:
            answer = await call(lacking, name, arguments)
            assert refusal(answer) == (404, "NOT_FOUND", "TOOL_UNKNOWN"), missing
    exact = [permission.value for permission in needed]
    key = await make_key(database, clock.now(), permissions=exact, scope_conditions=BOUND)
    async with client_with(app, key) as bound:
        told = ok(await while_working(runner, call(bound, name, arguments)))
    assert told["isError"] is False, told["text"]
    assert FOUND[name] in told["text"]
