"""What the connection guard uses of uvicorn, most of it private, is there as it was.

An upgrade that changes any of it fails here by name. What a connection does is in
tests/api/web/test_web_connections.py.
"""

import ast
import asyncio
import inspect
import textwrap
from collections import deque
from collections.abc import Callable
from typing import Any

import httptools
import uvicorn
from uvicorn import _types
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from app.adapters.uvicorn.connections import Connection

_OVERRIDDEN = {
    "__init__": "(self, config, server_state, app_state, _loop=None)",
    "_start_asgi_task": "(self, cycle, app)",
    "_unsupported_upgrade_warning": "(self)",
    "connection_lost": "(self, exc)",
    "connection_made": "(self, transport)",
    "data_received": "(self, data)",
    "on_body": "(self, body)",
    "on_headers_complete": "(self)",
    "on_message_begin": "(self)",
    "on_message_complete": "(self)",
    "on_response_complete": "(self)",
    "pause_writing": "(self)",
    "resume_writing": "(self)",
    "send_400_response": "(self, msg)",
    "timeout_keep_alive_handler": "(self)",
}
_CALLED = {"_unset_keepalive_if_required": "(self)"}
_LEADS = {
    "_start_asgi_task": {"on_headers_complete", "on_response_complete"},
    "_unsupported_upgrade_warning": {"data_received"},
    "on_response_complete": {"on_headers_complete"},
    "send_400_response": {"data_received"},
    "timeout_keep_alive_handler": {"on_response_complete"},
}
"""Overridden methods that neither the loop nor the parser calls, and uvicorn's that do."""
_ATTRIBUTES = {
    "cycle": type(None),
    "flow": type(None),
    "headers": type(None),
    "loop": asyncio.AbstractEventLoop,
    "parser": httptools.HttpRequestParser,
    "pipeline": deque,
    "scope": type(None),
    "server_state": ServerState,
    "timeout_keep_alive": int,
    "transport": type(None),
}
"""The attributes of a new connection that the guard uses, with their types."""
_ASSIGNED = {"headers", "timeout_keep_alive"}
"""Those of them that the guard assigns."""
_CYCLE = {
    "disconnected": False,
    "expected_content_length": 0,
    "keep_alive": True,
    "message_event": asyncio.Event,
    "response_complete": False,
    "response_started": False,
    "transport": None,
}


def _protocol() -> HttpToolsProtocol:
    config = uvicorn.Config(lambda: None, log_config=None)
    return HttpToolsProtocol(config, ServerState(), {})


def _signature(function: Callable[..., Any]) -> str:
    """Return the parameters of a function, without annotations."""
    given = inspect.signature(function).parameters.values()
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in given]
    return str(inspect.Signature(bare))


def _uses(code: Callable[..., Any], owner: str, of: type[ast.expr_context] = ast.Load) -> list[str]:
    """Return the attributes of `owner` that a function or a class reads or assigns, in order."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    uses = [node for node in nodes if ast.unparse(node.value) == owner and isinstance(node.ctx, of)]
    return [node.attr for node in sorted(uses, key=lambda node: (node.lineno, node.col_offset))]


def _overrides() -> set[str]:
    marked = {name for name, it in vars(Connection).items() if hasattr(it, "__override__")}
    return marked | {"__init__"}


def test_every_override_is_checked_here() -> None:
    assert _overrides() == _OVERRIDDEN.keys()


def test_methods_have_the_parameters_that_they_are_called_with() -> None:
    expected = _OVERRIDDEN | _CALLED
    methods = {name: getattr(HttpToolsProtocol, name, None) for name in expected}
    assert {name: it and _signature(it) for name, it in methods.items()} == expected


def test_overridden_methods_are_called() -> None:
    callers = {
        name: {by for by in (*_OVERRIDDEN, "on_url", "on_header") if _calls(by, name)}
        for name in _LEADS
    }
    assert callers == _LEADS


def _calls(method: str, name: str) -> bool:
    return name in _uses(getattr(HttpToolsProtocol, method, _signature), "self")


async def test_a_connection_has_the_attributes_that_are_used() -> None:
    protocol = _protocol()
    kinds = {
        name: kind
        for name, kind in _ATTRIBUTES.items()
        if isinstance(getattr(protocol, name, ...), kind)
    }
    assert kinds == _ATTRIBUTES
    assert callable(protocol.parser.get_http_version)
    assert callable(protocol.parser.should_upgrade)
    assert protocol.server_state.default_headers == []
    assert _signature(FlowControl.pause_reading) == "(self)"


def test_no_name_of_the_guard_is_one_of_uvicorns() -> None:
    own = {name for name in vars(Connection) if not name.startswith("__")} - _overrides()
    own |= set(_uses(Connection, "self", ast.Store)) - _ASSIGNED
    theirs = {*dir(HttpToolsProtocol), *_uses(HttpToolsProtocol, "self", ast.Store)}
    assert own & theirs == set()


async def test_a_request_has_the_attributes_that_are_used() -> None:
    given: dict[str, Any] = dict.fromkeys(inspect.signature(RequestResponseCycle).parameters)
    cycle = RequestResponseCycle(**given | {"keep_alive": True, "message_event": asyncio.Event})
    assert {name: getattr(cycle, name, "none") for name in _CYCLE} == _CYCLE


def test_a_request_uses_of_its_transport_what_it_is_given() -> None:
    assert set(_uses(RequestResponseCycle, "self.transport")) == {"write", "is_closing", "close"}


def test_a_request_closes_its_transport_before_it_reports_its_end() -> None:
    steps = _uses(RequestResponseCycle.send, "self")
    assert steps[-3:] == ["keep_alive", "transport", "on_response"]


def test_the_server_is_stopped_as_the_process_does_it() -> None:
    assert _signature(uvicorn.Server.serve) == "(self, sockets=None)"
    assert _signature(uvicorn.Server.capture_signals) == "(self)"
    assert "capture_signals" in _uses(uvicorn.Server.serve, "self")
    assert uvicorn.Server(uvicorn.Config(lambda: None, log_config=None)).should_exit is False


def test_names_that_are_imported_are_what_they_were() -> None:
    assert STATUS_LINE[400] == b"HTTP/1.1 400 Bad Request\r\n"
    assert hasattr(_types, "ASGI3Application")
