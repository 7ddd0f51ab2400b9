"""CPU time of authentication: the same requests to the application with it and without it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app.adapters.resources import Resources
from app.kernel.auth import Caller
from app.kernel.permissions import Permission
from app.platform.access.schemas import CreateKeyRequest
from app.platform.access.services.access import KeyService
from app.process.main import create_app
from app.process.start import open_process
from app.settings.settings import EmbedderChoice, Settings
from app.web.auth import Authentication
from tests.support.asgi import Sent, call
from tests.support.tokens import claims, publish, sign, token_settings

_REQUESTS = 500
"""Of one round, in each of its two halves."""
_KEYS = 1_000
_NOWHERE = b"/v1/nothing"
"""Little happens after authentication, so that little hides it: the router knows no such path."""
_NOBODY = Caller("nobody", frozenset(Permission))

_AUTHENTICATION: Any = Authentication

Secrets = Callable[[], Iterator[str]]


class _Everyone:
    """What stands in the place of authentication: everyone is known."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["caller"] = _NOBODY
        await self._app(scope, receive, send)


def _without_authentication(resources: Resources) -> FastAPI:
    app = create_app(resources)
    app.user_middleware = [
        Middleware(_Everyone) if found.cls is _AUTHENTICATION else found
        for found in app.user_middleware
    ]
    return app


async def measure_cpu(folder: Path, rounds: int) -> dict[str, float]:
    """Return the milliseconds of CPU that authentication takes of a request, by who asks."""
    settings = Settings(data_dir=folder, embedder=EmbedderChoice.HASH)
    async with open_process(settings) as process:
        own = token_settings(settings, publish(folder / "jwks.json"))
        resources = replace(process.resources, settings=own)
        apps = (create_app(resources), _without_authentication(resources))
        keys = await _keys(resources)
        token = sign(claims(resources.clock.now()))
        variants: dict[str, Secrets] = {
            "one key": lambda: cycle(keys[:1]),
            f"{_KEYS} keys in turn": lambda: cycle(keys),
            "one token": lambda: cycle([token]),
        }
        return {title: await _median(apps, secrets, rounds) for title, secrets in variants.items()}


async def _keys(resources: Resources) -> list[str]:
    service = KeyService.of(resources)
    request = CreateKeyRequest.model_validate(
        {"displayName": "one of many", "roles": ["user"], "scopeConditions": {"user_id": "42"}}
    )
    made = [(await service.create(request)).secret for _ in range(_KEYS)]
    return [secret for secret in made if secret is not None]


async def _median(apps: tuple[FastAPI, FastAPI], secrets: Secrets, rounds: int) -> float:
    turns = secrets()
    for app in apps:
        # Long enough to meet every secret once.
        await _spent(app, turns, 2 * _KEYS)
    costs = []
    for turn in range(rounds):
        # Which of the two is first changes with every round.
        order = apps if turn % 2 else apps[::-1]
        spent = {app: await _spent(app, turns, _REQUESTS) for app in order}
        costs.append(spent[apps[0]] - spent[apps[1]])
    return median(costs) / _REQUESTS * 1_000


async def _spent(app: FastAPI, secrets: Iterator[str], requests: int) -> float:
    """Return the seconds of CPU that so many requests took."""
    sent = [
        Sent("GET", _NOWHERE, headers=((b"authorization", b"Bearer " + next(secrets).encode()),))
        for _ in range(requests)
    ]
    began = process_time()
    for one in sent:
        assert (await call(app, one)).status == 404
    return process_time() - began
