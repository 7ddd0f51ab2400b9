"""One set of routes for every spelling of a path.

    /v1/... and /v1beta1/...                               are one API
    projects/{p}/locations/{l}/reasoningEngines/{e}        the canonical form
    reasoningEngines/{e}                                   the engine by its id alone
    memoryBanks/{b}                                        an alias of the collection
    {engine}/memories/{m}/operations/{o}                   an operation of the engine
    .../memories/                                          a trailing slash is ignored
    /v1/keys..., /v1/auditEvents..., /v1/self, /v1/server  of the service; /v1beta1/... too

Source: wire specification, sections 2.5 and 3.
"""

import re

from starlette.types import Receive, Scope, Send
from typing_extensions import override

from app.kernel.names import WILDCARD
from app.web.headers import HttpMiddleware

PREFIX = "/v1beta1/projects/{project}/locations/{location}"
"""The prefix of paths within a project and location."""
ENGINE = PREFIX + "/reasoningEngines/{engine}"
"""The path of an engine."""

SERVICE = "/v1"
"""The prefix of paths of the service as a whole."""

_OF_SERVICE = re.compile(r"\A/v1beta1/(?=(?:keys|auditEvents|self|server)(?:[/:]|$))")
_VERSION = re.compile(r"/v1(?:beta1)?/(?=projects/|reasoningEngines|memoryBanks)")
_LOCATION = re.compile(r"projects/[^/]+/locations/[^/]+/")
_COLLECTION = re.compile(r"(?:reasoningEngines|memoryBanks)(?=/|$)")
_CHILD_OPERATION = re.compile(r"(reasoningEngines/[^/]+)/(?:memories|sessions)/[^/]+/operations/")


def canonical(path: str) -> str:
    """Return the canonical form of an API path; other paths unchanged."""
    version = _VERSION.match(path)
    if version is None:
        return _OF_SERVICE.sub(f"{SERVICE}/", path)
    rest = path[version.end() :]
    location = _LOCATION.match(rest)
    if location is None and rest.startswith("projects/"):
        return f"/v1beta1/{rest}"
    head = location.group() if location else f"projects/{WILDCARD}/locations/{WILDCARD}/"
    tail = rest[location.end() :] if location else rest
    tail = _COLLECTION.sub("reasoningEngines", tail, count=1)
    return "/v1beta1/" + head + _CHILD_OPERATION.sub(r"\1/operations/", tail)


class CanonicalPath(HttpMiddleware):
    """ASGI middleware that rewrites the path before routing."""

    @override
    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        # In place: the outer middleware reads the route from the same scope. A slash encoded as %2F
        # is part of an id.
        has_slash = scope["raw_path"].endswith(b"/") and scope["path"] != "/"
        scope["path"] = canonical(scope["path"].removesuffix("/" if has_slash else ""))
        scope["raw_path"] = scope["path"].encode()
        await self._app(scope, receive, send)
