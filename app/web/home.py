"""The front page, for anyone who opens the service's address."""

from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from app.settings.settings import Settings

router = APIRouter(include_in_schema=False)

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


@router.head("/")
@router.get("/", operation_id="getHome")
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
