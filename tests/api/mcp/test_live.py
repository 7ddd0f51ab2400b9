"""MCP as agents use it: the SDK's client, two servers behind a balancer, the proxy, the command."""

import asyncio
import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from app.adapters.postgres.server import find_running
from tests.packaging.checkout import scratch_folder
from tests.support import forks, live
from tests.support.live import LiveServer
from tests.support.mcp_scenario import over_http, scenario, told

_SECRET = re.compile(r"^API key, shown only this once: (\S+)$", re.MULTILINE)
_SETTINGS = {"MEMORY_BANK_EMBEDDER": "hash", "MEMORY_BANK_LOG_LEVEL": "WARNING"}
_SECOND = 1.0
_PAUSE_SECONDS = 0.02


@dataclass
class Deployment:
    """Two servers on one database, and the folder of that."""

    folder: Path
    first: LiveServer
    second: LiveServer

    @property
    def ports(self) -> list[int]:
        return [self.first.port, self.second.port]


@pytest.fixture(scope="module")
def deployment() -> Iterator[Deployment]:
    with scratch_folder() as folder, scratch_folder() as other:
        first = live.start(folder, None, **_SETTINGS)
        url = find_running(folder)
        assert url is not None
        second = live.start(other, None, MEMORY_BANK_DATABASE_URL=url, **_SETTINGS)
        found = Deployment(folder, first, second)
        try:
            yield found
        finally:
            live.stop(found.second)
            live.stop(found.first)


def _keys(deployment: Deployment, *options: str) -> str:
    arguments = ["-m", "app.process.cli", "keys", *options]
    variables = {**os.environ, "MEMORY_BANK_DATA_DIR": str(deployment.folder)}
    done = forks.run(arguments, variables, 120)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def _made(deployment: Deployment, user: str) -> str:
    match = _SECRET.search(_keys(deployment, "create", "--for-agent", user))
    assert match is not None
    return match[1]


@pytest.fixture(scope="module")
def key(deployment: Deployment) -> str:
    return _made(deployment, "42")


@pytest.mark.parametrize(
    ("mode", "path", "version"),
    [
        ("legacy", "/mcp", "2025-11-25"),
        ("auto", "/mcp/", "2026-07-28"),
        ("2026-07-28", "/mcp/1", "2026-07-28"),
    ],
)
async def test_the_scenario_passes_through_two_servers_in_turn(
    deployment: Deployment, key: str, mode: str, path: str, version: str
) -> None:
    assert await over_http(deployment.ports, path, mode, key) == version


async def test_the_audit_has_the_method_the_key_and_the_tool_of_each_change(
    deployment: Deployment,
) -> None:
    await over_http(deployment.ports, "/mcp", "auto", _made(deployment, "9"))
    async with httpx.AsyncClient(
        base_url=f"{deployment.first.url}/v1/", headers={"Authorization": f"Bearer {live.KEY}"}
    ) as admin:
        keys = (await admin.get("keys")).json()["keys"]
        [key] = [key["name"] for key in keys if key["displayName"] == "agent of 9"]
        query = {"filter": f'caller="{key.removeprefix("keys/")}"'}
        listed = await admin.get("reasoningEngines/1/auditEvents", params=query)
        events = listed.json()["auditEvents"]
    assert [(event["method"], event.get("surface")) for event in reversed(events)] == [
        ("generateMemories", "mcp/remember"),
        ("generation.generate", None),
        ("generateMemories", "mcp/remember"),
        ("generation.generate", None),
        ("updateMemory", "mcp/update_memory"),
        ("deleteMemory", "mcp/forget_memory"),
        ("undeleteMemory", "mcp/restore_memory"),
    ]


def test_the_lines_that_connect_agents_show_the_key_once(deployment: Deployment) -> None:
    printed = _keys(deployment, "create", "--for-agent", "7")
    match = _SECRET.search(printed)
    assert match is not None
    clients = ("Claude Code:", "Cursor, in", "VS Code, in", "Claude Desktop, in", "Codex, in")
    assert [client in printed for client in clients] == [True] * 5
    assert printed.count(match[1]) == 1
    assert printed.count("Bearer KEY") == 4
    headers = {"Authorization": f"Bearer {match[1]}"}
    told_of = httpx.get(f"{deployment.first.url}/v1/self", headers=headers).json()
    assert told_of["roles"] == ["editor"]
    assert told_of["scopeConditions"] == {"user_id": ["7"]}


def _ping(server: LiveServer, key: str) -> httpx.Response:
    return httpx.post(
        f"{server.url}/mcp",
        headers={"Authorization": f"Bearer {key}", "Accept": "application/json"},
        json={"jsonrpc": "2.0", "id": 1, "method": "ping"},
    )


def test_a_revoked_key_is_refused_within_a_second(deployment: Deployment) -> None:
    key = _made(deployment, "8")
    servers = (deployment.first, deployment.second)
    assert [_ping(server, key).status_code for server in servers] == [200, 200]
    _keys(deployment, "revoke", "agent of 8")
    deadline = time.monotonic() + _SECOND
    for server in servers:
        while (answer := _ping(server, key)).is_success and time.monotonic() < deadline:
            time.sleep(_PAUSE_SECONDS)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer ")


def _proxy(url: str, key: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "app.process.cli", "mcp", "--url", url],
        env={**os.environ, "MEMORY_BANK_CLIENT_KEY": key},
    )


async def _text(client: Client, name: str, **arguments: Any) -> tuple[bool, str]:
    answer = await client.call_tool(name, arguments)
    return answer.is_error, getattr(answer.content[0], "text", "")


async def test_the_proxy_outlives_a_restart_of_the_service(
    deployment: Deployment, key: str
) -> None:
    url = f"{deployment.second.url}/mcp"
    async with Client(_proxy(url, key)) as client:
        await scenario(client)
        await asyncio.to_thread(live.stop, deployment.second)
        assert await _text(client, "list_memories") == (True, f"cannot reach {url}")
        with scratch_folder() as folder:
            deployment.second = await asyncio.to_thread(
                _start_again, deployment, folder, deployment.second.port
            )
            assert "memories" in await told(client, "list_memories")


def _start_again(deployment: Deployment, folder: Path, port: int) -> LiveServer:
    url = find_running(deployment.folder)
    assert url is not None
    return live.start(folder, port, MEMORY_BANK_DATABASE_URL=url, **_SETTINGS)


async def test_the_proxy_repeats_the_sentence_of_a_refusal(deployment: Deployment) -> None:
    async with Client(_proxy(f"{deployment.first.url}/mcp", "omb_wrong")) as client:
        assert await _text(client, "list_memories") == (True, "The API key is not valid.")


async def test_the_proxy_tells_the_status_of_what_is_not_the_service() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as before:
        port = before.sockets[0].getsockname()[1]
        async with Client(_proxy(f"http://127.0.0.1:{port}/mcp", "omb_any")) as client:
            told = await _text(client, "list_memories")
    assert told == (True, "The service answers with status 502.")


async def test_the_proxy_hands_on_errors_of_the_protocol(deployment: Deployment, key: str) -> None:
    async with Client(_proxy(f"{deployment.first.url}/mcp", key)) as client:
        with pytest.raises(MCPError, match="Unknown tool: nothing") as no_tool:
            await client.call_tool("nothing", {})
        with pytest.raises(MCPError, match="Unknown prompt: nothing") as no_prompt:
            await client.get_prompt("nothing")
        with pytest.raises(MCPError, match="No such resource") as no_resource:
            await client.read_resource("memory://nothing")
    codes = [refused.value.code for refused in (no_tool, no_prompt, no_resource)]
    assert codes == [-32_602, -32_602, -32_002]


def test_the_proxy_needs_a_key() -> None:
    variables = {name: value for name, value in os.environ.items() if "CLIENT_KEY" not in name}
    done = forks.run(["-m", "app.process.cli", "mcp"], variables, 60)
    assert done.returncode == 2
    assert done.stderr.startswith("Set MEMORY_BANK_CLIENT_KEY to a key")
    assert done.stderr.count("\n") == 1


def test_a_server_that_is_not_asked_for_mcp_does_not_import_it() -> None:
    program = (
        "import sys; from app.process.main import create_app;"
        " from app.process.start import offline_resources;"
        " from app.settings.settings import Settings;"
        " create_app(offline_resources(Settings()));"
        " print([name for name in sys.modules if name.partition('.')[0] in ('mcp', 'mcp_types')])"
    )
    done = forks.run(["-c", program], os.environ, 120)
    assert done.stdout.strip() == "[]", done.stderr
