"""Every route, with every kind of key. A route that is not classified fails."""

import pytest
from fastapi import FastAPI
from starlette.routing import Mount

from app.process.main import create_app
from app.process.start import offline_resources
from app.settings.settings import Settings
from tests.access.routes import PUBLIC, ROUTES
from tests.access.service import Asked, Service, bearer
from tests.access.sweep import Sweep
from tests.support.errors import refusal


@pytest.fixture(scope="module")
def offline_app() -> FastAPI:
    return create_app(offline_resources(Settings()))


def _served(app: FastAPI) -> set[tuple[str, str]]:
    """Return method and path of all that the application can be asked for."""
    found = {(method, route.path) for route in app.state.routes for method in route.methods}
    for path, operations in app.openapi()["paths"].items():
        found |= {(method.upper(), path) for method in operations}
    for route in app.routes:
        if isinstance(route, Mount):
            found.add(("GET", route.path))
        elif path := getattr(route, "path", ""):
            found |= {(method, path) for method in getattr(route, "methods", None) or {"GET"}}
    return found


def _classified(app: FastAPI) -> set[tuple[str, str]]:
    mounts = [route.path for route in app.routes if isinstance(route, Mount)]
    found = set(PUBLIC)
    for route in ROUTES:
        mount = next((path for path in mounts if route.template.startswith(f"{path}/")), None)
        found.add((route.method, mount or route.template))
    return found


def test_every_route_is_classified(offline_app: FastAPI) -> None:
    unclassified = _served(offline_app) - _classified(offline_app)
    assert not unclassified, f"classify in tests/access/routes.py: {sorted(unclassified)}"


def test_every_classified_route_is_served(offline_app: FastAPI) -> None:
    assert not _classified(offline_app) - _served(offline_app)


def test_the_document_names_the_permission_of_each_route(offline_app: FastAPI) -> None:
    paths = offline_app.openapi()["paths"]
    for route in ROUTES:
        operation = paths.get(route.template, {}).get(route.method.lower(), {})
        if operation:
            assert operation.get("x-permission") == next(iter(route.permissions), None), route
            assert operation.get("security") != [], route


async def test_only_who_belongs_there_gets_in(service: Service, *, is_nightly: bool) -> None:
    assert await Sweep(service, is_whole=is_nightly).run() == []


async def test_what_is_not_served_is_401_before_it_is_404(service: Service) -> None:
    sweep = Sweep(service)
    await sweep.prepare()
    for path in ("/nothing", "/v1/nothing", "/docs/assets/../../x", "/v1beta1/projects/p"):
        for headers in sweep.no_keys.values():
            answer = await sweep.service.send(Asked("GET", path), headers)
            assert refusal(answer)[0] == 401, path
        answer = await sweep.service.send(Asked("GET", path), bearer(sweep.roles["no role"]))
        assert refusal(answer)[0] == 404, path
