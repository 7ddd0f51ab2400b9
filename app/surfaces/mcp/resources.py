"""Memories as resources of MCP, for connections whose scope is fixed."""

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from app.kernel.errors import InvalidArgument, ServiceError
from app.kernel.names import parse_text_id
from app.kernel.permissions import Permission
from app.surfaces.api import ApiRefusal, Json
from app.surfaces.mcp.connections import McpConnection
from app.surfaces.tools import arguments, calls, texts
from app.surfaces.tools.bank import Bank

_RECENT = "memory://recent"
_PROFILE = re.compile(r"memory://profile/([^/?#]{1,256})")
_OPERATION = re.compile(r"memory://operation/([^/?#]{1,128})")
_MARKDOWN, _JSON = "text/markdown", "application/json"
_RECENT_MEMORIES = 20
_NOT_FOUND = -32_002
"""The code of a resource that does not exist. Source: MCP, server resources, error handling."""


async def listed(connection: McpConnection) -> list[types.Resource]:
    """Return the resources of a connection; there are none unless its scope is fixed."""
    if not connection.scope.is_fixed:
        return []
    resources = []
    caller = connection.request.state.caller
    if caller.may(Permission.MEMORIES_LIST):
        resources.append(
            types.Resource(
                uri=_RECENT,
                name="recent",
                title="Recent memories",
                description=f"The {_RECENT_MEMORIES} memories changed last.",
                mime_type=_MARKDOWN,
            )
        )
    if caller.may(Permission.MEMORIES_RETRIEVE):
        profiles = await _answered(_profiles(connection.bank("resources")))
        resources += [
            types.Resource(
                uri=f"memory://profile/{schema}",
                name=f"profile {schema}",
                title=f"Profile {schema}",
                mime_type=_JSON,
            )
            for schema in profiles
        ]
    return resources


def templates(connection: McpConnection) -> list[types.ResourceTemplate]:
    """Return the URI templates of resources that are not listed."""
    if not connection.scope.is_fixed:
        return []
    return [
        types.ResourceTemplate(
            uri_template="memory://operation/{id}",
            name="operation",
            title="Operation",
            description="State and result of an operation.",
            mime_type=_JSON,
        )
    ]


async def read(connection: McpConnection, uri: str) -> types.TextResourceContents:
    """Return the content of a resource.

    Raises:
        MCPError: there is no such resource, or the API refuses.
    """
    reader = _reader(uri) if connection.scope.is_fixed else None
    if reader is None:
        raise _missing()
    kind, content = reader
    text = await _answered(content(connection.bank("resources")))
    return types.TextResourceContents(uri=uri, mime_type=kind, text=text)


_Reader = tuple[str, Callable[[Bank], Awaitable[str]]]


def _reader(uri: str) -> _Reader | None:
    if uri == _RECENT:
        return _MARKDOWN, _recent
    if profile := _PROFILE.fullmatch(uri):
        return _JSON, lambda bank: _profile(bank, profile[1])
    if operation := _OPERATION.fullmatch(uri):
        return _JSON, lambda bank: _operation(bank, operation[1])
    return None


async def _recent(bank: Bank) -> str:
    answer = await calls.list_memories(bank, arguments.ListArguments(limit=_RECENT_MEMORIES))
    lines = map(texts.memory_line, answer.result["memories"])
    return "\n".join(f"- {line}" for line in lines) or texts.NOTHING_STORED


async def _profile(bank: Bank, schema: str) -> str:
    profiles = await _profiles(bank)
    if schema not in profiles:
        raise _missing()
    return _written(profiles[schema]["profile"])


async def _profiles(bank: Bank) -> Json:
    path = f"{bank.engine}/memories:retrieveProfiles"
    return (await bank.api.ask(path, {"scope": bank.scope}))["profiles"] or Json()


async def _operation(bank: Bank, operation: str) -> str:
    read = await bank.api.get(f"{bank.engine}/operations/{parse_text_id('operations', operation)}")
    error = read["error"] or Json()
    outcome: dict[str, Any] = {"done": bool(read["done"])}
    if error:
        outcome["error"] = error["message"]
    return _written({**outcome, "memories": await bank.changes(read)})


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _missing() -> MCPError:
    return MCPError(_NOT_FOUND, "No such resource.")


async def _answered(work: Awaitable[Any]) -> Any:  # noqa: ANN401 - whatever the work gives
    try:
        return await work
    except InvalidArgument as error:
        raise MCPError(types.INVALID_PARAMS, error.message) from None
    except ServiceError:
        raise _missing() from None
    except ApiRefusal as refused:
        if refused.status == 404:
            raise _missing() from None
        code = types.INVALID_PARAMS if refused.status < 500 else types.INTERNAL_ERROR
        raise MCPError(code, refused.message) from None
