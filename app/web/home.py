"""The front page, for anyone who opens the service's address."""

from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.responses import HTMLResponse, JSONResponse, Response

router = APIRouter(include_in_schema=False)

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
async def get_home(accept: Annotated[str, Header()] = "") -> Response:
    """Return a page to browsers, and the same as JSON to other clients."""
    if _HTML in accept:
        headers = {"Content-Security-Policy": _POLICY, "Vary": "Accept"}
        return HTMLResponse(_PAGE, headers=headers)
    content = {"name": "Open Memory Bank", **_LINKS}
    return JSONResponse(content, headers={"Vary": "Accept"})
