"""Use the memory bank over MCP, with the client of the official SDK."""

import asyncio
import os

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

URL = os.environ.get("MEMORY_BANK_CLIENT_URL", "http://127.0.0.1:8000")
ENGINE = os.environ.get("RECIPE_ENGINE", "1").rpartition("/")[2]
HEADERS = {"Authorization": f"Bearer {os.environ.get('MEMORY_BANK_CLIENT_KEY', '')}"}


async def call(tool: str, **arguments: object) -> str:
    """Call one tool in a connection of its own, and return what the model would read."""
    async with httpx2.AsyncClient(headers=HEADERS) as http:
        # A key that is bound to one user needs no `scope` in the address.
        transport = streamable_http_client(f"{URL}/mcp/{ENGINE}", http_client=http)
        async with Client(transport) as client:
            result = await client.call_tool(tool, arguments)
    return " ".join(getattr(block, "text", "") for block in result.content)


async def main() -> None:
    """Remember in one connection, find in the next."""
    print(await call("remember", facts=["I prefer window seats."]))
    found = await call("search_memories", query="Where does the user like to sit?")
    print(found.partition(" (id")[0])


asyncio.run(main())

# prints: 1. I prefer window seats.
