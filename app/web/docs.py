"""Pages for people: the front page, and the OpenAPI document with local scripts."""

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic.json_schema import models_json_schema
from starlette.staticfiles import StaticFiles

from app.settings.settings import Settings
from app.web.auth import PUBLIC_PATHS
from app.web.demands import Demand
from app.web.errors import ErrorBody
from app.web.routing import Router

ASSETS_PATH = "/docs/assets"
ASSETS_FORM = f"{ASSETS_PATH}/{{file}}"
"""The path template of an asset."""
router = Router(
    include_in_schema=False,
    demands={
        "getOpenApi": Demand(None),
        "getDocs": Demand(None),
    },
)
Schema = dict[str, Any]
_FRAMEWORK_ERRORS = ("HTTPValidationError", "ValidationError")
_NULL = {"type": "null"}
TAGS = {
    "memories": "Facts about somebody or something, and their deletion.",
    "revisions": "The history of memories, and the way back.",
    "retrieval": "Memories of a scope, by meaning or by age, and profiles.",
    "generation": "Memories from conversations, at once or as events come in.",
    "sessions": "Conversations, with their events and their state.",
    "contexts": "Prompts from a conversation: strategies, summaries, recall, costs.",
    "memory tools": "Memories as tools for models that call functions.",
    "task memory": "Outputs of tools that are kept off the prompt, and their readers.",
    "operations": "Work with a result: waiting for it, cancelling, retrying, undoing.",
    "engines": "Memory banks with their configuration, and methods for a whole bank.",
    "usage": "Calls of models by day, and the use of an engine's quotas.",
    "keys": "API keys, with their permissions and their reach.",
    "audit": "The log of changes and refusals, each with its caller.",
    "service": "The running service: health, metrics, processes.",
}
"""Groups of methods in the order of use, with their descriptions."""
home_router = APIRouter(include_in_schema=False)
CONSOLE = "/console"
"""The path of the console."""
_HTML = "text/html"
_LINKS = {
    "documentation": "/docs",
    "openapi": "/openapi.json",
    "liveness": "/healthz",
    "readiness": "/readyz",
}
_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Open Memory Bank</title>
<style>body {font: 1em/1.5 sans-serif; max-width: 40em; margin: 3em auto; padding: 0 1em}</style>
<h1>Open Memory Bank</h1>
<p>A self-hosted memory service for AI agents. It speaks the Memory Bank API, under
<code>/v1</code> and <code>/v1beta1</code>.</p>
<p><a href="/docs">The documentation</a> asks for a user name and a password: any name, and an API
key. Its machine-readable form is <a href="/openapi.json">the OpenAPI document</a>.</p>
<p>Probes need no key: <a href="/healthz">liveness</a>, <a href="/readyz">readiness</a>.</p>
</html>
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


def assets() -> StaticFiles:
    """Return the scripts and styles of the documentation, from the installed package."""
    # Located without an import, which would build a second application.
    spec = find_spec("fastapi_offline")
    assert spec is not None
    assert spec.origin is not None
    return StaticFiles(directory=Path(spec.origin).parent / "static")


@router.get("/openapi.json", operation_id="getOpenApi")
async def get_openapi(request: Request) -> JSONResponse:
    """Return the OpenAPI document."""
    # In a thread: the first call takes a second and would block the event loop.
    return JSONResponse(await asyncio.to_thread(request.app.openapi))


@router.get("/docs", operation_id="getDocs")
async def get_docs() -> HTMLResponse:
    """Show the OpenAPI document."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Open Memory Bank",
        swagger_js_url=f"{ASSETS_PATH}/swagger-ui-bundle.js",
        swagger_css_url=f"{ASSETS_PATH}/swagger-ui.css",
        swagger_favicon_url=f"{ASSETS_PATH}/favicon.png",
    )
    # The browser may hold a key: no other page may trick the user into clicking here.
    page.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
    return page


def tidied(document: Schema) -> Schema:
    """Return the document without inaccurate or empty parts, and with the groups of methods."""
    # The removed parts are the framework's own validation errors, the null alternative of
    # optional bodies, the key of public paths, and titles generated from field names.
    schemas = document["components"]["schemas"]
    for name in _FRAMEWORK_ERRORS:
        schemas.pop(name, None)
    schemas |= _types_of_errors()
    for schema in schemas.values():
        for field in schema.get("properties", {}).values():
            field.pop("title", None)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            _tidy_operation(operation)
            if path in PUBLIC_PATHS:
                operation["security"] = []
    tags = [{"name": name, "description": text} for name, text in TAGS.items()]
    return document | {"servers": [{"url": "/"}], "tags": tags}


def _types_of_errors() -> Schema:
    # Routes reference the types by name only.
    template = "#/components/schemas/{model}"
    _, made = models_json_schema([(ErrorBody, "serialization")], ref_template=template)
    types: Schema = made["$defs"]
    return types


def _tidy_operation(operation: Schema) -> None:
    operation["responses"].pop("422", None)
    for parameter in operation.get("parameters", ()):
        parameter["schema"].pop("title", None)
    for media in operation.get("requestBody", {}).get("content", {}).values():
        media["schema"] = _without_null(media["schema"])


def _without_null(schema: Schema) -> Schema:
    choices = [choice for choice in schema.get("anyOf", ()) if choice != _NULL]
    return choices[0] if len(choices) == 1 else schema


@home_router.head("/")
@home_router.get("/", operation_id="getHome")
async def get_home(request: Request, accept: Annotated[str, Header()] = "") -> Response:
    """Send browsers to the console, or show them a page; return the same as JSON to others."""
    settings: Settings = request.app.state.resources.settings
    if _HTML in accept:
        if settings.console:
            return RedirectResponse(CONSOLE, status_code=303, headers={"Vary": "Accept"})
        headers = {"Content-Security-Policy": _POLICY, "Vary": "Accept"}
        return HTMLResponse(_PAGE, headers=headers)
    console = {"console": CONSOLE} if settings.console else {}
    content = {"name": "Open Memory Bank", **console, **_LINKS}
    return JSONResponse(content, headers={"Vary": "Accept"})
