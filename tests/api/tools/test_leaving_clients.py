"""Clients that leave before a tool has answered, over the API and over MCP."""

import asyncio
import json
import time
from typing import Any

import httpx
import pytest
from prometheus_client import REGISTRY

from app.adapters.resources import Resources
from tests.conftest import ADMIN_KEY
from tests.support.tools import app_with

_GONE_AFTER_SECONDS = 0.5
_GIVEN_UP_SECONDS = 30
_CALL: dict[str, Any] = {"name": "remember", "arguments": {"facts": ["I like tea."]}}
_LEFT = {
    "mcp": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": _CALL}),
    "tools": ("/v1/reasoningEngines/1/memoryTools:call", {**_CALL, "scope": {"user_id": "42"}}),
}


@pytest.mark.parametrize("surface", _LEFT)
async def test_a_call_is_given_up_when_its_client_goes(
    resources: Resources, client: httpx.AsyncClient, surface: str
) -> None:
    """Without a worker it would wait for its operation to the end."""
    assert client is not None
    app = app_with(resources, mcp_wait_seconds=60)
    path, message = _LEFT[surface]
    body = json.dumps(message).encode()
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    gone_at = time.monotonic() + _GONE_AFTER_SECONDS

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        # As a server does: nothing until then, and at once afterwards.
        if (left := gone_at - time.monotonic()) > 0:
            await asyncio.sleep(left)
        return {"type": "http.disconnect"}

    faults = _counted(surface, "error"), _counted(surface, "failed")
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = {
        "authorization": f"Bearer {ADMIN_KEY}",
        "accept": "application/json",
        "content-type": "application/json",
        "content-length": str(len(body)),
    }
    scope = {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"scope.user_id=42" if surface == "mcp" else b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
    }
    async with asyncio.timeout(_GIVEN_UP_SECONDS):
        await app(scope, receive, send)
    operations = (await client.get("operations")).json()["operations"]
    assert [one["metadata"]["kind"] for one in operations] == ["generation.generate"]
    # It is nobody's fault, and nothing was broken off.
    assert (_counted(surface, "error"), _counted(surface, "failed")) == faults


def _counted(surface: str, outcome: str) -> float:
    labels = {"surface": surface, "tool": "remember", "outcome": outcome}
    return REGISTRY.get_sample_value("memory_bank_tool_calls_total", labels) or 0
