"""The SDK's server and its handlers; imported late, since importing `mcp` takes a second."""

import logging
from typing import Any

import mcp_types as types
import structlog
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from app.adapters.logs import request_id
from app.adapters.resources import Resources
from app.kernel.errors import describe
from app.kernel.release import RELEASE
from app.surfaces.mcp import prompts, resources
from app.surfaces.mcp.connections import CONNECTION, McpConnection
from app.surfaces.mcp.prompts import INSTRUCTIONS
from app.surfaces.tools.catalogue import Tool

log = structlog.get_logger()
_Context = ServerRequestContext[Any, Any]
_LIST_MS = 60_000
# INFO messages repeat for each request, and error messages may quote a client's message.
logging.getLogger("mcp").setLevel(logging.CRITICAL)


async def serve(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request, whose state holds the connection."""
    resources: Resources = scope["app"].state.resources
    # One manager per request: without sessions, no state has to outlive the request.
    manager = StreamableHTTPSessionManager(
        app=_server,
        json_response=True,
        stateless=True,
        # The service has already checked the origin against the settings.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=resources.settings.max_body_bytes,
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)


def _connection(context: _Context) -> McpConnection:
    assert context.request is not None
    connection: McpConnection = getattr(context.request.state, CONNECTION)
    return connection


async def _list_tools(
    context: _Context, _: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    connection = _connection(context)
    return types.ListToolsResult(tools=[_declared(tool, connection) for tool in connection.tools])


def _declared(tool: Tool, connection: McpConnection) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema_for(connection.scope),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.is_read_only,
            destructive_hint=tool.is_destructive,
            idempotent_hint=tool.is_read_only or tool.is_idempotent,
            open_world_hint=False,
        ),
    )


async def _call_tool(
    context: _Context, params: types.CallToolRequestParams
) -> types.CallToolResult:
    connection = _connection(context)
    tool = connection.tool(params.name)
    if tool is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:80]}")
    outcome = await connection.call(tool, params.arguments)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=outcome.text)],
        structured_content=outcome.result,
        is_error=outcome.is_error,
    )


async def _list_resources(
    context: _Context, _: types.PaginatedRequestParams | None
) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=await resources.listed(_connection(context)))


async def _list_templates(
    context: _Context, _: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    templates = resources.templates(_connection(context))
    return types.ListResourceTemplatesResult(resource_templates=templates)


async def _read_resource(
    context: _Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    contents = await resources.read(_connection(context), str(params.uri))
    return types.ReadResourceResult(contents=[contents])


async def _list_prompts(
    context: _Context, _: types.PaginatedRequestParams | None
) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=prompts.listed(_connection(context)))


async def _get_prompt(
    context: _Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult:
    return prompts.get(_connection(context), params.name, params.arguments or {})


async def _without_faults(ctx: _Context, call_next: CallNext) -> HandlerResult:
    """Log an exception of a handler without its message, which may quote a memory."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception as error:  # noqa: BLE001 - the last place where a fault becomes an answer
        log.error("mcp.failed", method=ctx.method[:80], error=describe(error))  # noqa: TRY400 - as above
        message = f"The service failed; request id {request_id() or ''}."
        raise MCPError(types.INTERNAL_ERROR, message) from None


_PRIVATE = CacheHint(ttl_ms=_LIST_MS, scope="private")
_server = Server[Any](
    "open-memory-bank",
    version=RELEASE,
    title="Open Memory Bank",
    instructions=INSTRUCTIONS,
    cache_hints={
        "tools/list": _PRIVATE,
        "prompts/list": _PRIVATE,
        "resources/list": _PRIVATE,
        "resources/templates/list": _PRIVATE,
    },
    # Schemas are needed only for parameters in headers, and no tool has any.
    get_tool_input_schema=lambda _: None,
    on_list_tools=_list_tools,
    on_call_tool=_call_tool,
    on_list_resources=_list_resources,
    on_list_resource_templates=_list_templates,
    on_read_resource=_read_resource,
    on_list_prompts=_list_prompts,
    on_get_prompt=_get_prompt,
)
# Replaces the SDK's spans, which would quote the client's messages.
_server.middleware[:] = [_without_faults]
