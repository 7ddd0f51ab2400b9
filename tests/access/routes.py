"""Every route of the service, with who may use it: written by hand from what the roles are for.

    viewer  get, list, retrieve
    user    also generate, ingest, create; sessions and events
    editor  also update, delete, roll back, undo
    admin   also engines, purge, keys, audit, everything

Nothing here is read from the service's own tables: where those are wrong, the sweep finds it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path

from typing_extensions import override

from tests.access.names import (
    ENGINE,
    ENGINES,
    Names,
    event,
    with_artifact,
    with_deleted_memory,
    with_engine,
    with_event,
    with_failed_operation,
    with_key,
    with_memory,
    with_revision,
    with_session,
    with_summary,
    with_tool_policy,
    with_waiting_operation,
)
from tests.access.service import Asked, Json, Service

ROLES = ("viewer", "user", "editor", "admin")
"""In their order: each may do what the one before it may."""


class Told(Enum):
    """What a key is told that has the permission, but does not reach what the request is about."""

    GONE = "404, as for what was never there"
    NOTHING = "200, with nothing of it"
    DENIED = "403: the method is about more than the key reaches"
    ALL = "the same as anyone"


_Make = Callable[[Service, Names], Awaitable[Names]]


async def _as_it_is(_: Service, place: Names) -> Names:
    return place


@dataclass(frozen=True)
class Route:
    """A route, and a request to it that succeeds.

    Attributes:
        method: the HTTP method.
        template: the path, as the application has it.
        permissions: the names of those that it takes.
        role: the least role that has them; without any, every key will do.
        scope: what a key is told that is bound to other scopes of the same engine.
        engine: what one is told that is bound to other engines.
        project: what one is told that is bound to other projects.
        make: creates what the request names.
        status: of the success.
        of_named: those of the permissions that depend on the kind of what is named; with the others
            a key may see it, and is told that something else is not there.
    """

    method: str
    template: str
    permissions: tuple[str, ...]
    role: str | None
    scope: Told
    engine: Told = Told.GONE
    project: Told = Told.GONE
    make: _Make = _as_it_is
    params: Callable[[Names], dict[str, str]] = lambda _: {}
    body: Callable[[Names], Json | None] = lambda _: None
    status: int = 200
    of_named: tuple[str, ...] = ()

    def asked(self, names: Names) -> Asked:
        path = names.path(self.template)
        return Asked(self.method, path, self.params(names), self.body(names))

    @property
    def id(self) -> str:
        return f"{self.method} {self.template}"

    @property
    def is_read(self) -> bool:
        return self.method == "GET" or self.role == "viewer"

    @override
    def __str__(self) -> str:
        return f"{self.id} {'+'.join(self.permissions)}"


PUBLIC = {(method, path) for method in ("GET", "HEAD") for path in ("/", "/healthz", "/readyz")}
"""What needs no key: the front page and probes, which say nothing of any tenant."""

_MEMORIES = ENGINE + "/memories"
_MEMORY = _MEMORIES + "/{memory}"
_SESSIONS = ENGINE + "/sessions"
_SESSION = _SESSIONS + "/{session}"
_OPERATION = ENGINE + "/operations/{operation}"
_KEY = "/v1/keys/{key}"
EXPORTS, IMPORTS = "exports", "imports"
"""The sink and the source that the service has."""
_LOADED = "note.md"
"""A file in the source."""
_TASK_MEMORIES = ENGINE + "/taskMemories"
_TASK_MEMORY = _TASK_MEMORIES + "/{task_memory}"
_TOOL_POLICY = _TASK_MEMORY + "/toolPolicies/{tool}"
_NAMESPACE = _TASK_MEMORY + "/namespaces/{namespace}"
_ARTIFACT = _NAMESPACE + "/artifacts/{artifact}"


def task_folders(folder: Path) -> dict[str, dict[str, Path]]:
    """Make the folders of sink and source; return the settings that name them."""
    sink, source = folder / "out", folder / "in"
    for made in (sink, source):
        made.mkdir()
    (source / _LOADED).write_text("I like tea.")
    return {"task_export_sinks": {EXPORTS: sink}, "task_import_sources": {IMPORTS: source}}


def _scope(names: Names) -> Json:
    return {"scope": dict(names.scope)}


def _memory(names: Names) -> Json:
    return {"fact": "I like tea.", **_scope(names)}


def _batch(names: Names) -> Json:
    return {"requests": [{"memory": _memory(names)}]}


def _said(names: Names) -> Json:
    return {"directContentsSource": {"events": [event("I like tea.")]}, **_scope(names)}


def _flushed(names: Names) -> Json:
    return {"streamId": names.stream, **_scope(names)}


def _appended(_: Names) -> Json:
    base = {"author": "user", "invocationId": "i", "timestamp": "2026-01-15T12:00:00Z"}
    return {**base, **event("I like tea.")}


def _exchanged(_: Names) -> Json:
    return {"input": "I like tea.", "output": "Noted."}


def _appended_at_once(names: Names) -> Json:
    return {"events": [_appended(names)]}


def _context(_: Names) -> Json:
    policy = {"strategy": "every_n", "every": 1, "carryOver": "ALL"}
    return {"pendingMessage": "Tea?", "tokenLimit": 4_000, "policy": policy}


def _recalled(_: Names) -> Json:
    return {"query": "Tea?"}


def _recalled_of_user(names: Names) -> Json:
    return {**_recalled(names), "userId": names.user}


def _recalled_of_scope(names: Names) -> Json:
    return {**_recalled(names), **_scope(names)}


def _purged(names: Names) -> Json:
    return {"filter": f'display_name="{names.memory}"', "force": True}


def _erased(names: Names) -> Json:
    return {**_scope(names), "validateOnly": True}


def _scanned(names: Names) -> Json:
    return {**_scope(names), "action": "REPORT", "kinds": ["EMAIL"]}


def _made(_: Names) -> Json:
    return {"displayName": "k", "roles": ["viewer"]}


def _output(_: Names) -> Json:
    return {"kind": "text", "text": "I like tea."}


def _processed(names: Names) -> Json:
    said = {"tool": "web", "activity": "fetch", "offPrompt": True}
    return {**said, "output": _output(names), "userId": names.user}


def _stored(names: Names) -> Json:
    return {"artifacts": [_output(names)], "userId": names.user}


ROWS: Json = {"type": "object", "properties": {"item": {}, "text": {"type": "string"}}}
"""The schema of rows that are extracted."""


def _queried(_: Names) -> Json:
    return {"query": "What do I like?"}


def _displayed(_: Names) -> Json:
    return {"displayName": "d"}


_any_key = partial(
    Route,
    "GET",
    permissions=(),
    role=None,
    scope=Told.ALL,
    engine=Told.ALL,
    project=Told.ALL,
)
_ANY_KEY = [
    _any_key("/openapi.json"),
    _any_key("/docs"),
    _any_key("/docs/assets/swagger-ui.css"),
    _any_key("/v1/self"),
]

# Any key may speak to them; their tools, which call other routes, are tried in tests/api/tools.
_TOOLS = [
    Route(
        "POST",
        "/mcp",
        (),
        None,
        Told.ALL,
        # The engine that such a key is bound to would be served, but there is none.
        body=lambda _: {"jsonrpc": "2.0", "id": 1, "method": "ping"},
    ),
    Route(
        "POST",
        "/mcp/{engine}",
        (),
        None,
        Told.ALL,
        body=lambda _: {"jsonrpc": "2.0", "id": 1, "method": "ping"},
    ),
    Route(
        "POST",
        ENGINE + "/memoryTools:call",
        (),
        None,
        Told.ALL,
        body=lambda _: {"name": "nothing"},
        status=404,
    ),
]

_list = partial(Route, "GET", role="viewer", scope=Told.NOTHING)
_get = partial(Route, "GET", role="viewer", scope=Told.GONE)
_ask = partial(Route, "POST", role="viewer", scope=Told.NOTHING, make=with_memory, body=_scope)
_VIEWER = [
    Route("GET", ENGINES, ("engines.list",), "viewer", Told.ALL, engine=Told.NOTHING),
    Route("GET", ENGINE, ("engines.get",), "viewer", Told.ALL),
    Route("GET", ENGINE + ":usage", ("usage.get",), "viewer", Told.DENIED),
    Route("POST", ENGINE + "/contextCosts:estimate", ("engines.get",), "viewer", Told.ALL),
    _list(ENGINE + "/operations", ("operations.list",), make=with_memory),
    _list(ENGINE + "/operations:usage", ("operations.list",), make=with_memory),
    _list(ENGINE + "/operations:groupFailures", ("operations.list",), make=with_failed_operation),
    _get(_OPERATION, ("operations.get",), make=with_memory),
    Route(
        "POST",
        _OPERATION + ":wait",
        ("operations.get",),
        "viewer",
        Told.GONE,
        make=with_memory,
        params=lambda _: {"timeout": "0s"},
    ),
    _list(_MEMORIES, ("memories.list",), make=with_memory),
    _list(_MEMORIES + ":listScopes", ("memories.list",), make=with_memory),
    _get(_MEMORY, ("memories.get",), make=with_memory),
    # What was deleted is history.
    _list(
        _MEMORIES,
        ("memories.list", "revisions.list"),
        make=with_deleted_memory,
        params=lambda _: {"showDeleted": "true"},
    ),
    _get(
        _MEMORY,
        ("memories.get", "revisions.list"),
        make=with_deleted_memory,
        params=lambda _: {"showDeleted": "true"},
    ),
    _ask(
        ENGINE + "/resources:find",
        ("engines.get",),
        make=with_memory,
        body=lambda names: {"text": names.memory},
    ),
    _ask(_MEMORIES + ":retrieve", ("memories.retrieve",)),
    _ask(_MEMORIES + ":retrieveProfiles", ("memories.retrieve",)),
    _ask(_MEMORIES + ":recall", ("memories.retrieve",), body=_recalled_of_scope),
    _ask(
        _MEMORIES + ":recall",
        ("memories.retrieve", "events.list"),
        body=lambda names: {**_recalled_of_scope(names), "includeSessions": True},
    ),
    _list(_MEMORIES + "/-/revisions", ("revisions.list",), make=with_memory),
    _list(_MEMORIES + "/-/revisions:export", ("revisions.list",), make=with_memory),
    _list(_MEMORIES + "/-/revisions:listLabels", ("revisions.list",), make=with_memory),
    _get(_MEMORY + "/revisions", ("revisions.list",), make=with_memory),
    _get(_MEMORY + "/revisions/{revision}", ("revisions.get",), make=with_revision),
    _list(_SESSIONS, ("sessions.list",), make=with_session),
    _get(_SESSION, ("sessions.get",), make=with_session),
    _list(ENGINE + "/streams", ("operations.list",), make=with_waiting_operation),
    _get(_SESSION + "/events", ("events.list",), make=with_session),
    _get(_SESSION + "/usage", ("sessions.get",), make=with_session),
    _get(_SESSION + "/summaries", ("events.list",), make=with_summary),
    _get(_SESSION + "/summaries/{summary}", ("events.list",), make=with_summary),
    Route(
        "POST",
        _SESSIONS + "/-:recall",
        ("events.list",),
        "viewer",
        Told.NOTHING,
        make=with_event,
        body=_recalled_of_user,
    ),
    Route(
        "POST",
        _SESSION + ":recall",
        ("events.list",),
        "viewer",
        Told.GONE,
        make=with_event,
        body=_recalled,
    ),
    _list(_TASK_MEMORIES, ("artifacts.reference",), make=with_artifact),
    _get(_TASK_MEMORY, ("artifacts.reference",), make=with_artifact),
    _list(_TASK_MEMORY + "/toolPolicies", ("artifacts.reference",), make=with_tool_policy),
    _get(_TOOL_POLICY, ("artifacts.reference",), make=with_tool_policy),
    _list(_TASK_MEMORY + "/namespaces", ("artifacts.reference",), make=with_artifact),
    _get(_NAMESPACE, ("artifacts.reference",), make=with_artifact),
    _get(_NAMESPACE + "/artifacts", ("artifacts.reference",), make=with_artifact),
    _get(_ARTIFACT, ("artifacts.reference",), make=with_artifact),
    Route("GET", ENGINE + "/toolSpecs", ("artifacts.reference",), "viewer", Told.ALL),
    Route(
        "POST",
        ENGINE + "/taskTools:call",
        ("artifacts.reference",),
        "viewer",
        Told.ALL,
        body=lambda _: {"name": "list_task_memory", "arguments": {"memory": "tools"}},
    ),
    Route("GET", ENGINE + "/memoryToolSpecs", ("engines.get",), "viewer", Told.ALL),
]

_user = partial(Route, role="user", scope=Told.GONE)
_USER = [
    _user("POST", _MEMORIES, ("memories.create",), body=_memory),
    _user("POST", _MEMORIES + ":batchCreate", ("memories.create",), body=_batch),
    # A line for itself is told that its scope is not there.
    Route(
        "POST",
        _MEMORIES + ":import",
        ("memories.create",),
        "user",
        Told.NOTHING,
        body=_memory,
    ),
    _user("POST", _MEMORIES + ":generate", ("memories.generate",), body=_said),
    _user("POST", _MEMORIES + ":ingestEvents", ("memories.ingest",), body=_said),
    _user("POST", ENGINE + ":ingestEvents", ("memories.ingest",), body=_said),
    _user(
        "POST",
        ENGINE + "/streams:flush",
        ("memories.ingest",),
        make=with_waiting_operation,
        body=_flushed,
    ),
    _user("POST", _SESSIONS, ("sessions.create",), body=lambda names: {"userId": names.user}),
    _user("PATCH", _SESSION, ("sessions.update",), make=with_session, body=_displayed),
    _user("POST", _SESSION + ":appendEvent", ("events.append",), make=with_session, body=_appended),
    _user("POST", _SESSION + "/exchanges", ("events.append",), make=with_session, body=_exchanged),
    _user(
        "POST",
        _SESSION + "/events:batch",
        ("events.append",),
        make=with_session,
        body=_appended_at_once,
    ),
    _user("DELETE", _SESSION + "/events/{event}", ("sessions.update",), make=with_event),
    _user("POST", _SESSION + ":clear", ("sessions.update",), make=with_event),
    _user(
        "POST",
        _SESSION + ":context",
        ("events.list", "sessions.update"),
        make=with_event,
        body=_context,
    ),
    _user(
        "POST",
        _SESSION + "/summaries/{summary}:regenerate",
        ("sessions.update",),
        make=with_summary,
    ),
    # Known, and not served: it looks at no session.
    Route(
        "POST",
        _SESSION + ":compact",
        ("sessions.update",),
        "user",
        Told.ALL,
        make=with_session,
        status=501,
    ),
    _user("DELETE", _SESSION, ("sessions.delete",), make=with_session),
    _user("POST", _TASK_MEMORY + ":processOutput", ("artifacts.write",), body=_processed),
    _user(
        "POST",
        _NAMESPACE + ":export",
        ("artifacts.derive",),
        make=with_artifact,
        body=lambda _: {"sink": EXPORTS},
    ),
    _user(
        "POST",
        _NAMESPACE + ":load",
        ("artifacts.write",),
        make=with_artifact,
        body=lambda _: {"source": IMPORTS, "path": _LOADED},
    ),
    _user("POST", _NAMESPACE + ":query", ("artifacts.derive",), make=with_artifact, body=_queried),
    _user(
        "POST",
        _NAMESPACE + ":summarize",
        ("artifacts.derive",),
        make=with_artifact,
        body=lambda _: {},
    ),
    _user(
        "POST",
        _NAMESPACE + ":extract",
        ("artifacts.derive",),
        make=with_artifact,
        body=lambda _: {"schema": ROWS},
    ),
    _user("POST", _NAMESPACE + ":store", ("artifacts.write",), make=with_artifact, body=_stored),
    _user(
        "PUT",
        _ARTIFACT,
        ("artifacts.write",),
        params=lambda names: {"userId": names.user},
        body=_output,
    ),
    _user(
        "PATCH",
        _NAMESPACE,
        ("artifacts.write",),
        make=with_artifact,
        body=lambda _: {"sensitive": True},
    ),
    _user("DELETE", _ARTIFACT, ("artifacts.write",), make=with_artifact),
    _user("DELETE", _NAMESPACE, ("artifacts.write",), make=with_artifact),
    _user("DELETE", _TASK_MEMORY, ("artifacts.write",), make=with_artifact),
    # Who may start work may stop it.
    _user(
        "POST",
        _OPERATION + ":retry",
        ("operations.get", "memories.generate"),
        make=with_failed_operation,
        of_named=("memories.generate",),
    ),
    _user(
        "POST",
        ENGINE + "/operations:batchRetry",
        ("operations.list", "memories.generate"),
        scope=Told.NOTHING,
        make=with_failed_operation,
        body=lambda _: {"validateOnly": True},
    ),
    _user("POST", _OPERATION + ":cancel", ("operations.cancel",), make=with_waiting_operation),
]

_editor = partial(Route, role="editor", scope=Told.GONE, make=with_memory)
_EDITOR = [
    _editor("PATCH", _MEMORY, ("memories.update",), body=lambda _: {"fact": "I like coffee."}),
    _editor(
        "POST",
        _MEMORY + ":rollback",
        ("memories.rollback",),
        make=with_revision,
        body=lambda names: {"targetRevisionId": names.revision},
    ),
    _editor("POST", _MEMORY + ":undelete", ("memories.rollback",), make=with_deleted_memory),
    _editor("POST", _OPERATION + ":undo", ("operations.undo",)),
    _editor("DELETE", _OPERATION, ("operations.delete",)),
    _editor("DELETE", _MEMORY, ("memories.delete",)),
]

_service = partial(Route, role="admin", scope=Told.DENIED, engine=Told.DENIED, project=Told.DENIED)
_SERVICE = [
    _service("GET", "/metrics", ("metrics.get",)),
    _service("GET", "/v1/server", ("server.get",)),
    _service("GET", "/v1/server:usage", ("server.get",)),
    _service("GET", "/v1/auditEvents", ("audit.listAll",)),
    _service("GET", "/v1/auditEvents:export", ("audit.listAll",)),
    _service("GET", "/v1/keys", ("keys.manage",), make=with_key),
    _service("GET", _KEY, ("keys.manage",), make=with_key),
    _service("POST", "/v1/keys", ("keys.manage",), body=_made),
    _service("POST", _KEY + ":rotate", ("keys.manage",), make=with_key),
    _service("POST", _KEY + ":revoke", ("keys.manage",), make=with_key),
]

_admin = partial(Route, role="admin", scope=Told.DENIED)
_ADMIN = [
    _admin("GET", ENGINE + "/auditEvents", ("audit.list",), make=with_memory),
    _admin("GET", ENGINE + "/auditEvents:export", ("audit.list",), make=with_memory),
    _admin("GET", ENGINE + ":export", ("engines.export",), make=with_memory),
    _admin("PATCH", ENGINE, ("engines.update",), body=_displayed),
    _admin("POST", ENGINE + ":reembed", ("engines.update",)),
    _admin("POST", ENGINE + ":validate", ("engines.update",), body=_displayed),
    _admin("PUT", _TOOL_POLICY, ("engines.update",), body=lambda _: {"offPrompt": "auto"}),
    _admin("DELETE", _TOOL_POLICY, ("engines.update",), make=with_tool_policy),
    Route(
        "GET",
        _ARTIFACT + "/content",
        ("artifacts.content",),
        "admin",
        Told.GONE,
        make=with_artifact,
    ),
    Route(
        "GET",
        _ARTIFACT + ":text",
        ("artifacts.content",),
        "admin",
        Told.GONE,
        make=with_artifact,
    ),
    # The projects that a key is bound to are its own to fill.
    _admin("POST", ENGINES, ("engines.create",), engine=Told.DENIED, body=_displayed),
    Route(
        "POST",
        _MEMORIES + ":purge",
        ("memories.purge",),
        "admin",
        Told.NOTHING,
        make=with_memory,
        body=_purged,
    ),
    Route(
        "POST",
        ENGINE + ":eraseScope",
        ("memories.purge",),
        "admin",
        Told.GONE,
        make=with_memory,
        body=_erased,
    ),
    Route(
        "POST",
        ENGINE + ":scanPrivacy",
        ("memories.purge",),
        "admin",
        Told.GONE,
        make=with_memory,
        body=_scanned,
    ),
    # Erasing for good is a purge of one.
    Route(
        "DELETE",
        _MEMORY,
        ("memories.delete", "memories.purge"),
        "admin",
        Told.GONE,
        make=with_memory,
        params=lambda _: {"permanent": "true"},
    ),
    _admin("DELETE", ENGINE, ("engines.delete",), make=with_engine),
    # The sweep sends JSON, which is no archive: tests/api/transfer sends some.
    Route(
        "POST",
        ENGINE + ":restore",
        ("engines.restore",),
        "admin",
        Told.DENIED,
        make=with_engine,
        body=lambda _: {},
        status=415,
    ),
]

ROUTES = [*_ANY_KEY, *_TOOLS, *_VIEWER, *_USER, *_EDITOR, *_SERVICE, *_ADMIN]
"""Reads first, and what takes the most away last."""
