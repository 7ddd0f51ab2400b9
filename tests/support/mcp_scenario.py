"""One use of memory over MCP, from the first fact to its return, by the official SDK's client."""

import itertools
import uuid
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from typing_extensions import override


class Alternating(httpx2.AsyncBaseTransport):
    """Sends each request to the next of several servers, as a balancer does."""

    def __init__(self, *ports: int) -> None:
        self._ports = itertools.cycle(ports)
        self._inner = httpx2.AsyncHTTPTransport()

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(port=next(self._ports))
        return await self._inner.handle_async_request(request)

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()


async def over_http(ports: list[int], path: str, mode: str, key: str) -> str:
    """Run the scenario through several servers in turn; return the version that was spoken."""
    async with (
        httpx2.AsyncClient(
            transport=Alternating(*ports), headers={"Authorization": f"Bearer {key}"}, timeout=60
        ) as http,
        Client(
            streamable_http_client(f"http://127.0.0.1:1{path}", http_client=http), mode=mode
        ) as client,
    ):
        await scenario(client)
        return client.protocol_version


async def told(client: Client, name: str, **arguments: Any) -> Any:
    """Call a tool that must succeed; return the result as JSON."""
    answer = await client.call_tool(name, arguments)
    assert not answer.is_error, (name, answer.content)
    assert answer.content[0].type == "text"
    assert answer.content[0].text
    return answer.structured_content


async def scenario(client: Client) -> None:
    """Remember, search, update, look back, forget, restore and list."""
    tools = (await client.list_tools()).tools
    assert len(tools) == 8
    assert not any("scope" in tool.input_schema["properties"] for tool in tools)
    word = uuid.uuid4().hex
    fact, better = f"I drink {word} tea.", f"I drink {word} coffee."
    [memory] = (await told(client, "remember", facts=[fact]))["memories"]
    assert (memory["action"], memory["fact"]) == ("CREATED", fact)
    [again] = (await told(client, "remember", facts=[fact]))["memories"]
    assert (again["action"], again["id"]) == ("ALREADY_KNOWN", memory["id"])
    found = await told(client, "search_memories", query=f"{word}?", limit=1)
    assert found["memories"][0]["id"] == memory["id"]
    changed = await told(client, "update_memory", id=memory["id"], fact=better)
    assert changed == {"before": fact, "after": better}
    history = await told(client, "memory_history", id=memory["id"])
    assert history["revisions"][0]["words_added"] == ["coffee."]
    asked = await told(client, "forget_memory", query=word)
    assert memory["id"] in {one["id"] for one in asked["candidates"]}
    forgotten = await told(client, "forget_memory", ids=[memory["id"]])
    assert forgotten["forgotten"] == [{"id": memory["id"], "fact": better}]
    assert await told(client, "restore_memory", id=memory["id"]) == {"fact": better}
    listed = await told(client, "list_memories", limit=1)
    assert [one["fact"] for one in listed["memories"]] == [better]
    resource = (await client.read_resource("memory://recent")).contents[0]
    assert better in getattr(resource, "text", "")
    assert len((await client.list_prompts()).prompts) == 3
