"""The documentation for browsers, with local scripts: no other host is needed."""

import asyncio
from importlib.util import find_spec
from pathlib import Path

from fastapi import Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.staticfiles import StaticFiles

from app.web.demands import Demand
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
