"""Every tool with every kind of key: who is shown it, who may use it, and nothing of others.

The table is written by hand from what the roles are for, as that of the routes is.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.tools import ToolName
from app.process.main import create_app
from tests.access.routes import ROLES
from tests.support.errors import refusal
from tests.support.keys import client_with, make_key
from tests.support.tools import call, made, mcp, mcp_call

_LEAST = {
    "search_memories": "viewer",
    "list_memories": "viewer",
    "memory_history": "viewer",
    "recall_conversation": "viewer",
    "remember": "user",
    "learn_from_conversation": "user",
    "update_memory": "editor",
    "restore_memory": "editor",
    "forget_memory": "editor",
}
"""The least role that may use a tool, in an order in which one memory can go through them all."""
_ARGUMENTS = {
    "search_memories": {"query": "canary"},
    "list_memories": {},
    "memory_history": {"id": "ID"},
    "recall_conversation": {"query": "canary"},
    "remember": {"facts": ["I like tea."]},
    "learn_from_conversation": {"messages": [{"role": "user", "text": "I like tea."}]},
    "update_memory": {"id": "ID", "fact": "I like coffee."},
    "restore_memory": {"id": "ID"},
    "forget_memory": {"ids": ["ID"]},
}
_CANARY = "The canary sings at dawn."
_MINE = {"user_id": ["42"]}
_UNKNOWN_TOOL = -32_602


def _arguments(tool: str, memory: str) -> dict[str, Any]:
    """Return arguments that the tool takes, about a memory where it is about one."""
    arguments: dict[str, Any] = json.loads(json.dumps(_ARGUMENTS[tool]).replace("ID", memory))
    return arguments


@pytest.fixture
def app(resources: Resources) -> FastAPI:
    """The application with all tools, none of which waits for a worker."""
    update = {"mcp_wait_seconds": 0, "mcp_tools": tuple(ToolName)}
    changed = resources.settings.model_copy(update=update)
    return create_app(replace(resources, settings=changed))


def test_every_tool_is_here() -> None:
    assert set(_LEAST) == set(ToolName)


@pytest.mark.parametrize("conditions", [_MINE, {"user_id": ["41", "42"]}, None])
@pytest.mark.parametrize("role", ROLES)
async def test_a_role_is_shown_and_may_use_its_tools_and_no_others(
    app: FastAPI,
    client: httpx.AsyncClient,
    database: Database,
    clock: FixedClock,
    role: str,
    conditions: dict[str, list[str]] | None,
) -> None:
    key = await make_key(database, clock.now(), role, scope_conditions=conditions)
    path = "/mcp?scope.user_id=42"
    shown = (await mcp(app, key, "tools/list", path=path)).json()["result"]["tools"]
    expected = {tool for tool, least in _LEAST.items() if ROLES.index(least) <= ROLES.index(role)}
    assert {tool["name"] for tool in shown} == expected
    over_mcp, by_method = await made(client, "I like tea."), await made(client, "I like milk.")
    for tool in _LEAST:
        answer = await mcp_call(app, key, tool, _arguments(tool, over_mcp), path=path)
        async with client_with(app, key) as own:
            called = await call(own, tool, _arguments(tool, by_method))
        if tool in expected:
            assert answer["isError"] is False, answer
            assert called.json()["isError"] is False, called.text
        else:
            assert (answer["code"], answer["message"]) == (_UNKNOWN_TOOL, f"Unknown tool: {tool}")
            assert refusal(called) == (404, "NOT_FOUND", "TOOL_UNKNOWN")


@pytest.mark.parametrize("users", [["43"], ["43", "44"]])
async def test_nothing_of_another_scope_is_told_or_changed(
    app: FastAPI,
    client: httpx.AsyncClient,
    database: Database,
    clock: FixedClock,
    users: list[str],
) -> None:
    foreign = await made(client, _CANARY)
    absent = str(int(foreign) + 1)
    conditions = {"user_id": users}
    key = await make_key(database, clock.now(), "editor", scope_conditions=conditions)
    chosen: Mapping[str, Any] = {} if len(users) == 1 else {"scope": {"user_id": "43"}}
    for tool in _LEAST:
        answers = [
            await mcp_call(app, key, tool, {**_arguments(tool, memory), **chosen})
            for memory in (foreign, absent)
        ]
        texts = [answer["content"][0]["text"] for answer in answers]
        assert _CANARY not in str(answers)
        if "ID" in str(_ARGUMENTS[tool]):
            assert texts == [f"memories/{memory} does not exist." for memory in (foreign, absent)]
        reaching = {**_arguments(tool, foreign), "scope": {"user_id": "42"}}
        assert (await mcp_call(app, key, tool, reaching))["isError"] is True
    assert (await client.get(f"memories/{foreign}")).json()["fact"] == _CANARY


@pytest.mark.parametrize("tool", _LEAST)
async def test_a_revoked_key_and_one_of_another_engine_reach_no_tool(
    app: FastAPI, client: httpx.AsyncClient, database: Database, clock: FixedClock, tool: str
) -> None:
    memory = await made(client, _CANARY)
    now = clock.now()
    params = {"name": tool, "arguments": _arguments(tool, memory)}
    for key, expected in (
        (await make_key(database, now, "editor", scope_conditions=_MINE, revoke_time=now), 401),
        (await make_key(database, now, "editor", engines=["2"]), 404),
    ):
        for path in ("/mcp?scope.user_id=42", "/mcp/1?scope.user_id=42"):
            assert (await mcp(app, key, "tools/call", params, path=path)).status_code == expected
        async with client_with(app, key) as own:
            assert (await call(own, tool, params["arguments"])).status_code == expected
    assert (await client.get(f"memories/{memory}")).json()["fact"] == _CANARY
