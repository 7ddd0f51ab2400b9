"""The processes while they start, and when they stop: signals, a model and a server that fail."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import pytest
import uvicorn
from pydantic import SecretStr
from sqlalchemy import update
from structlog.testing import capture_logs
from typing_extensions import override

from app.adapters.db.session import Database
from app.adapters.llm.factory import embedders_with
from app.adapters.llm.ports import Vectors
from app.adapters.postgres.programs import open_private, try_lock
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.platform.engines.store.tables import EngineRow
from app.process import serving
from app.process.listening import ServeError
from app.process.start import open_process
from app.settings.settings import EmbedderChoice, Settings
from tests.conftest import ADMIN_KEY
from tests.support import forks
from tests.support.forks import Process
from tests.support.operations import USER
from tests.support.scripted_models import ScriptedEmbedder
from tests.support.variables import with_constants

_SIGNALS = [signal.SIGINT, signal.SIGTERM]
_CONNECT_SECONDS = 2
_SOON_SECONDS = 60
"""Longer than a start takes beside load: to fail by, not to measure with."""
_GRACE_SECONDS = 2


def run(output: Path, *options: str, **environment: str) -> Process:
    """Start a command of the service."""
    given = {f"MEMORY_BANK_{name.upper()}": value for name, value in environment.items()}
    variables = {**os.environ, **with_constants(given)}
    with output.open("wb") as said:
        return forks.start(["-m", "app.process.cli", *options], variables, said, said)


def ended(process: Process, output: Path, number: signal.Signals) -> tuple[int, str]:
    """Send a signal; return the status and everything that was said."""
    process.send_signal(number)
    try:
        code = process.wait(_SOON_SECONDS)
    finally:
        process.kill()
    return code, output.read_text()


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SOON_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.alone
@pytest.mark.parametrize("command", ["serve", "worker"])
@pytest.mark.parametrize("number", _SIGNALS)
def test_a_signal_ends_a_start_that_waits_for_a_silent_database(
    tmp_path: Path, command: str, number: signal.Signals
) -> None:
    output = tmp_path / "output"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process = run(
            output,
            command,
            database_url=f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/nothing",
            database_connect_timeout_seconds=str(_CONNECT_SECONDS),
        )
        silent.settimeout(_SOON_SECONDS)
        connection, _ = silent.accept()
        with connection:
            began = time.monotonic()
            assert ended(process, output, number) == (0, "")
            assert time.monotonic() - began < 5 * _CONNECT_SECONDS


@pytest.mark.parametrize("number", _SIGNALS)
def test_a_signal_ends_the_start_of_the_embedded_database(
    tmp_path: Path, number: signal.Signals
) -> None:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    output = tmp_path / "output"
    process = run(output, "serve", "--port", "0", data_dir=str(tmp_path), embedder="hash")
    # The server is being made; it serves some seconds later.
    eventually((tmp_path / "postgres" / "server.lock").exists)
    assert ended(process, output, number) == (0, f"New data folder: {tmp_path}\n")
    lock = open_private(tmp_path / "postgres" / "server.lock")
    try:
        assert try_lock(lock), "a process of the server lives"
    finally:
        os.close(lock)


class _Unloadable(ScriptedEmbedder):
    """An embedder whose model is not there."""

    @override
    async def warm(self) -> None:
        raise RuntimeError("a secret")


@pytest.fixture
def external(database: Database, database_url: str, settings: Settings) -> Settings:
    """The settings of a process on the tests' database."""
    del database  # which is empty, and emptied afterwards
    given = {
        "database_url": SecretStr(database_url),
        "embedder": EmbedderChoice.HASH,
        "port": 0,
        "shutdown_grace_seconds": _GRACE_SECONDS,
    }
    return settings.model_copy(update=given)


async def test_a_model_that_does_not_load_is_told_at_once_and_the_rest_is_served(
    external: Settings, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "app.adapters.resources.open_embedders", lambda _: embedders_with(_Unloadable())
    )
    with capture_logs() as lines:
        async with open_process(external, clock):
            await asyncio.sleep(0)
            (line,) = [line for line in lines if line["event"] == "embedder.warm_failed"]
    assert line["error"].startswith("RuntimeError at ")
    assert "secret" not in str(line)


async def test_a_start_tells_of_settings_for_encryption_that_have_no_effect(
    external: Settings, clock: FixedClock, database: Database
) -> None:
    for expected in (0, 1):
        with capture_logs() as lines:
            async with open_process(external, clock):
                pass
        told = [line for line in lines if line["event"] == "engine.encryption_spec_ignored"]
        assert len(told) == expected
        async with database.transaction() as session:
            await session.execute(update(EngineRow).values(encryption_spec={"kmsKeyName": "k"}))


async def test_a_server_that_ends_by_itself_ends_the_process(
    external: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise ValueError("a secret")

    monkeypatch.setattr(uvicorn.Server, "serve", fail)
    with capture_logs() as lines, pytest.raises(ServeError, match="ended by itself"):
        async with asyncio.timeout(_SOON_SECONDS):
            await serving.serve(external)
    (line,) = [line for line in lines if line["event"] == "server.failed"]
    assert line["error"].startswith("ValueError at ")


class _Stuck(ScriptedEmbedder):
    """An embedder that answers no more."""

    @override
    async def embed(self, texts: Sequence[str]) -> Vectors:
        await asyncio.sleep(10 * _SOON_SECONDS)
        return await super().embed(texts)


@pytest.mark.alone
async def test_server_and_worker_stop_at_the_same_time(
    external: Settings, resources: Resources
) -> None:
    """Each of them may take the whole period of grace; one after the other would take two."""
    alone = external.model_copy(update={"database_url": None})
    stuck = Resources(alone, resources.clock, resources.db, resources.database_url, _Stuck())
    facts = {"directMemories": [{"fact": "I like tea."}]}
    async with serving.serving(alone, stuck) as (port, _):
        base = f"http://127.0.0.1:{port}/v1beta1"
        headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
        client = httpx.AsyncClient(headers=headers, timeout=_SOON_SECONDS)
        body = {"scope": USER, "directMemoriesSource": facts}
        queued = await client.post(f"{base}/reasoningEngines/1/memories:generate", json=body)
        name = queued.json()["name"]
        waiting = asyncio.create_task(client.post(f"{base}/{name}:wait"))
        search = {"scope": USER, "similaritySearchParams": {"searchQuery": "tea"}}
        url = f"{base}/reasoningEngines/1/memories:retrieve"
        searching = asyncio.create_task(client.post(url, json=search))
        await asyncio.sleep(0.5)
        began = time.monotonic()
    took = time.monotonic() - began
    waited, searched = await asyncio.gather(waiting, searching)
    await client.aclose()
    assert waited.status_code == 200
    assert waited.json()["done"] is False
    assert searched.status_code == 503
    assert searched.json()["error"]["details"][0]["reason"] == Reason.SERVER_STOPPING
    assert "retry-after" in searched.headers
    assert _GRACE_SECONDS <= took < 1.75 * _GRACE_SECONDS
