"""Calls of tools, over the API and over MCP, in one process."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx
from fastapi import FastAPI

from app.adapters.concurrency import in_background
from app.adapters.resources import Resources
from app.platform.operations.services.runner import Runner
from app.process.main import create_app

SCOPE = {"user_id": "42"}
_PAUSE_SECONDS = 0.02
_MODERN = "2026-07-28"


def app_with(resources: Resources, **settings: Any) -> FastAPI:
    """Return an application with other settings."""
    changed = resources.settings.model_copy(update=settings)
    return create_app(replace(resources, settings=changed))


async def call(
    client: httpx.AsyncClient, name: str, arguments: object = None, **fields: Any
) -> httpx.Response:
    """Call a tool by the method of the API; `client` has the engine's address."""
    body = {"name": name, "arguments": {} if arguments is None else arguments, "scope": SCOPE}
    return await client.post("./memoryTools:call", json={**body, **fields})


async def while_working(runner: Runner, work: Any) -> Any:
    """Return what `work` gives while a worker runs what it starts."""

    async def run() -> None:
        while True:
            await runner.run_pending()
            await asyncio.sleep(_PAUSE_SECONDS)

    async with in_background(run()):
        return await work


async def made(client: httpx.AsyncClient, fact: str, user: str = "42") -> str:
    """Create a memory; return its id."""
    scope = {"user_id": user}
    answer = await client.post("memories", json={"fact": fact, "scope": scope})
    return str(answer.json()["response"]["name"].rpartition("/")[2])


def mcp_message(
    method: str, params: Mapping[str, Any] | None = None
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the headers and the body of a message of the revision that has no handshake."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": _MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {
        "Accept": "application/json",
        "MCP-Protocol-Version": _MODERN,
        "Mcp-Method": method,
        **({"Mcp-Name": str(params["name"])} if params and "name" in params else {}),
    }
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": method,
        "params": {**(params or {}), "_meta": meta},
    }
    return headers, body


async def mcp(
    app: FastAPI,
    key: str,
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    path: str = "/mcp",
    headers: Mapping[str, str] | None = None,
) -> httpx.Response:
    """Send one message of the revision that has no handshake."""
    of_message, body = mcp_message(method, params)
    sent = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        **of_message,
        **(headers or {}),
    }
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        return await client.post(path, content=json.dumps(body), headers=sent)


async def mcp_call(
    app: FastAPI, key: str, name: str, arguments: object, **options: Any
) -> dict[str, Any]:
    """Call a tool over MCP; return its result, or the error of the protocol."""
    answer = await mcp(app, key, "tools/call", {"name": name, "arguments": arguments}, **options)
    body = answer.json()
    told: dict[str, Any] = body.get("result") or body["error"]
    return told
