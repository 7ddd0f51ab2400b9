"""A proxy for clients that support MCP over standard input and output only.

Each message is a separate HTTP request, so the proxy survives restarts of the service.
"""

import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

import mcp_types as types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from app.adapters.api_client import client_with
from app.kernel.release import RELEASE
from app.surfaces.mcp.prompts import INSTRUCTIONS
from app.surfaces.tools.scopes import PREFIX

_VERSION = "2026-07-28"
"""The protocol revision without a handshake, which the service supports."""
_T = TypeVar("_T")
_Context = ServerRequestContext[Any, Any]
_Page = types.PaginatedRequestParams | None


async def run(url: str, scope: Mapping[str, str], key: str) -> None:
    """Serve until standard input ends."""
    pairs = urlencode({f"{PREFIX}{name}": value for name, value in scope.items()})
    separator = "&" if "?" in url else "?"
    server = _Remote(url + (f"{separator}{pairs}" if pairs else ""), url, key).server()
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


class _Unanswered(Exception):
    """The service is unreachable or refuses; the message explains the error to the user."""


@dataclass(frozen=True)
class _Remote:
    """The remote service, with the URL that messages show."""

    url: str
    shown: str
    key: str

    def server(self) -> Server[Any]:
        """Return a server that forwards every message."""
        return Server[Any](
            "open-memory-bank",
            version=RELEASE,
            title="Open Memory Bank",
            instructions=INSTRUCTIONS,
            get_tool_input_schema=lambda _: None,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )

    async def _ask(self, work: Callable[[Client], Awaitable[_T]]) -> _T:
        """Send one message and return the answer; `_Unanswered`: there was none in the protocol."""
        refusals: list[str] = []
        fault: Exception
        try:
            async with (
                client_with(self.key, refusals.append) as http,
                Client(
                    streamable_http_client(self.url, http_client=http), mode=_VERSION, cache=None
                ) as client,
            ):
                try:
                    return await work(client)
                except MCPError as error:
                    # Raised outside the block, because the client's task groups would wrap it.
                    fault = error
        except Exception as error:  # noqa: BLE001 - whatever the transport raises
            fault = error
        if refusals:
            raise _Unanswered(refusals[-1])
        if isinstance(fault, MCPError) and fault.code != types.CONNECTION_CLOSED:
            raise fault
        # Standard output is reserved for the protocol.
        sys.stderr.write(f"{type(fault).__name__} at {self.shown}\n")
        raise _Unanswered(f"cannot reach {self.shown}")

    async def _result(self, work: Callable[[Client], Awaitable[_T]]) -> _T:
        try:
            return await self._ask(work)
        except _Unanswered as refused:
            raise MCPError(types.INTERNAL_ERROR, str(refused)) from None

    async def _list_tools(self, _: _Context, page: _Page) -> types.ListToolsResult:
        return await self._result(lambda client: client.list_tools(cursor=_cursor(page)))

    async def _call_tool(
        self, _: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            return await self._ask(
                lambda client: client.call_tool(params.name, params.arguments or {})
            )
        except _Unanswered as refused:
            # A tool result reaches the model, which can inform the user.
            text = types.TextContent(type="text", text=str(refused))
            return types.CallToolResult(content=[text], is_error=True)

    async def _list_resources(self, _: _Context, page: _Page) -> types.ListResourcesResult:
        return await self._result(lambda client: client.list_resources(cursor=_cursor(page)))

    async def _list_templates(self, _: _Context, page: _Page) -> types.ListResourceTemplatesResult:
        return await self._result(
            lambda client: client.list_resource_templates(cursor=_cursor(page))
        )

    async def _read_resource(
        self, _: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await self._result(lambda client: client.read_resource(str(params.uri)))

    async def _list_prompts(self, _: _Context, page: _Page) -> types.ListPromptsResult:
        return await self._result(lambda client: client.list_prompts(cursor=_cursor(page)))

    async def _get_prompt(
        self, _: _Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        return await self._result(lambda client: client.get_prompt(params.name, params.arguments))


def _cursor(page: _Page) -> str | None:
    return None if page is None else page.cursor
