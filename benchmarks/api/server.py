"""The service in a process of its own, with a trivial route and bare ones beside its own."""

import asyncio
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from functools import partial
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from psycopg_pool import AsyncConnectionPool
from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import JSONResponse

import app.process.serving
import app.process.start
from app.adapters.logs import configure_logs
from app.adapters.resources import Resources
from app.process.main import create_app
from app.settings.settings import EmbedderChoice, Settings
from benchmarks.api.statements import Recorded, recording, send
from benchmarks.surroundings import data_folder

KEY = "benchmark-admin-key"
ENGINE = "/v1beta1/projects/default/locations/local/reasoningEngines/1"
_CONNECTIONS = 10
"""As the service has them by default."""


def _with_routes(resources: Resources) -> FastAPI:
    """Return the application with routes that do less than its own. All need a key, as all do."""
    found = create_app(resources)
    # Plans as the service has them for these statements.
    options = {"options": "-c plan_cache_mode=force_generic_plan"}
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
        resources.database_url,
        min_size=_CONNECTIONS,
        max_size=_CONNECTIONS,
        kwargs=options,
        open=False,
    )
    kept: dict[str, Recorded] = {}

    async def trivial(_: Request) -> JSONResponse:
        return JSONResponse({"ok": True})

    async def record(request: Request) -> JSONResponse:
        """Note what the next requests send, until it is asked to stop."""
        name = request.path_params["name"]
        kept[name] = Recorded()
        noting = recording(kept[name])
        noting.__enter__()
        asyncio.get_running_loop().call_later(1, noting.__exit__, None, None, None)
        await pool.open()
        return JSONResponse({})

    async def bare(request: Request) -> JSONResponse:
        rows = await send(pool, kept[request.path_params["name"]].again())
        return JSONResponse({"rows": len(rows)})

    found.add_route("/v1/trivial", trivial)
    found.add_route("/v1/record/{name}", record)
    found.add_route("/v1/bare/{name}", bare, methods=["GET", "POST"])
    return found


def _run(pipe: Pipe, settings: Settings) -> None:
    async def serve() -> None:
        app.process.serving.create_app = _with_routes  # type: ignore[attr-defined]  # in its place
        async with (
            app.process.start.open_process(settings) as process,
            app.process.serving.serving(settings, process.resources) as (port, _),
        ):
            await process.resources.embedder.warm()
            pipe.send((port, os.getpid()))
            await asyncio.get_running_loop().run_in_executor(None, pipe.recv)

    # Lines are made as a server makes them, and read by nobody.
    with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
        configure_logs(settings)
        app.process.serving.run(serve)


@contextmanager
def server(settings: Callable[[], Settings]) -> Iterator[tuple[int, int]]:
    """Serve beside the block; yield the port and the id of the process.

    Raises:
        RuntimeError: it has ended before it served; it has said why.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_run, args=(there, settings()))
    process.start()
    # That end is the process's alone, so that the pipe ends with it.
    there.close()
    try:
        listening = here.recv()
    except EOFError:
        process.join()
        raise RuntimeError("The server has ended.") from None
    try:
        yield listening
    finally:
        with suppress(BrokenPipeError):
            here.send(None)
        process.join()


@contextmanager
def serving(embedder: EmbedderChoice) -> Iterator[tuple[int, int]]:
    """Serve beside the block; yield the port and the id of the process."""
    with data_folder() as folder:
        settings = partial(
            Settings,
            data_dir=folder,
            port=0,
            admin_key=SecretStr(KEY),
            embedder=embedder,
            key_rate_units_per_second=0,
            engine_rate_units_per_second=0,
        )
        with server(settings) as found:
            yield found


def client_of(port: int) -> httpx.Client:
    """Return a client with the administrator's key."""
    headers = {"Authorization": f"Bearer {KEY}"}
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=30)


def bound_key(client: httpx.Client, users: Sequence[str]) -> str:
    """Return the secret of a new key that is bound to users."""
    key = {"displayName": "bound", "roles": ["editor"], "scopeConditions": {"user_id": [*users]}}
    answer = client.post("/v1/keys", json=key).raise_for_status().json()
    secret: str = answer["secret"]
    return secret
