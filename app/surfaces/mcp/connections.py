"""MCP connections: an engine, a scope and the offered tools."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from app.adapters.logs import request_id
from app.adapters.resources import Resources
from app.kernel.auth import Caller
from app.kernel.errors import NotFound, Reason
from app.kernel.names import WILDCARD, EngineName, parse_engine_id
from app.surfaces.mcp.paths import PAIRS
from app.surfaces.tools import catalogue, scopes
from app.surfaces.tools.bank import Bank, check_engine, engine_path, open_bank
from app.surfaces.tools.catalogue import Tool
from app.surfaces.tools.running import Outcome, ToolCall

SURFACE = "mcp"
CONNECTION = "mcp_connection"
"""Name of the connection in the state of a request."""


@dataclass(frozen=True)
class McpConnection:
    """One request of an MCP client; no state is kept for the next request."""

    request: Request
    engine: int
    scope: scopes.ChosenScope

    @classmethod
    async def of(cls, request: Request, engine: str | None) -> "McpConnection":
        """Return the connection of a request.

        Raises:
            InvalidArgument: the scope is invalid.
            NotFound: the engine does not exist, or the key has no access to it.
            PermissionDenied: the key has no access to the scope.
        """
        caller: Caller = request.state.caller
        engine_id = parse_engine_id(engine) if engine is not None else _engine_of(request, caller)
        try:
            await check_engine(request, EngineName(WILDCARD, WILDCARD, engine_id))
        except NotFound:
            if engine is None:
                raise _no_engine() from None
            raise
        pairs: Mapping[str, str] = getattr(request.state, PAIRS)
        # Repeated headers are joined with commas; the result is invalid JSON and is refused.
        lines = request.headers.getlist(scopes.HEADER)
        given = scopes.of_request(pairs, ", ".join(lines) if lines else None)
        return cls(request, engine_id, scopes.choose(caller.reach.conditions, given))

    @property
    def tools(self) -> list[Tool]:
        """The tools that the settings enable and the key may use."""
        resources: Resources = self.request.app.state.resources
        return catalogue.shown(self.request.state.caller, resources.settings.mcp_tools)

    def tool(self, name: str) -> Tool | None:
        """Return the tool with this name; None: it is unknown, or the key may not use it."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def bank(self, what: str) -> Bank:
        """Return the bank of the scope; `what` names the use in the audit log."""
        path = engine_path(str(self.engine))
        return open_bank(self.request, path, self.scope.pairs, f"{SURFACE}/{what}")

    async def call(self, tool: Tool, arguments: Mapping[str, Any] | None) -> Outcome:
        """Call a tool and return the outcome."""
        call = ToolCall(
            tool,
            arguments or {},
            self.scope,
            takes_scope=True,
            surface=SURFACE,
            request_id=request_id() or "",
        )
        return await call.run(self.bank(tool.name))


def _engine_of(request: Request, caller: Caller) -> int:
    """Return the engine of `/mcp`: the key's only engine, or the one from the settings."""
    engines = caller.reach.engines
    if engines is not None and len(engines) == 1:
        return next(iter(engines))
    resources: Resources = request.app.state.resources
    return parse_engine_id(resources.settings.mcp_engine)


def _no_engine() -> NotFound:
    """Return the error for a request to `/mcp` if the key has no access to the default engine."""
    message = "This key does not reach the engine of /mcp; name another: /mcp/ENGINE."
    return NotFound(message, Reason.RESOURCE_NOT_FOUND)
