"""A service in this process over a Postgres of its own, and a client that asks it over REST."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from app.adapters.resources import Resources
from app.process.main import create_app
from app.process.start import open_process
from app.settings.settings import Settings

_KEY = "benchmark-admin-key"
ENGINES = "http://bank/v1beta1/projects/default/locations/local/reasoningEngines"


@asynccontextmanager
async def in_process(
    folder: Path, chosen: Mapping[str, Any], base_url: str = f"{ENGINES}/1"
) -> AsyncIterator[tuple[Resources, httpx.AsyncClient]]:
    """Open a service with its database in the folder; yield its resources and the client.

    `chosen` are settings. A database that the environment names is not used: it is no benchmark's.
    """
    settings = Settings(data_dir=folder, database_url=None, admin_key=_KEY, **chosen)
    async with open_process(settings) as found:
        await found.resources.embedder.warm()
        transport = httpx.ASGITransport(create_app(found.resources))
        headers = {"Authorization": f"Bearer {_KEY}"}
        async with httpx.AsyncClient(
            transport=transport, base_url=base_url, headers=headers
        ) as client:
            yield found.resources, client


def body(answer: httpx.Response) -> dict[str, Any]:
    """Return the body of an answer, which must be a success."""
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found
