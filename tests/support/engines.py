"""Engines, by absolute addresses: the client's own paths are those of the first engine."""

from typing import Any

import httpx

API = "http://test/v1beta1"
LOCATION = "projects/default/locations/local"
COLLECTION = f"{API}/{LOCATION}/reasoningEngines"
FIRST = f"{COLLECTION}/1"

_TYPES = "type.googleapis.com/google.cloud.aiplatform.v1beta1."
NOW = "2026-01-15T12:00:00Z"


async def create_engine(
    client: httpx.AsyncClient, location: str = LOCATION, **fields: Any
) -> dict[str, Any]:
    """Create an engine and return it."""
    answer = await client.post(f"{API}/{location}/reasoningEngines", json=fields)
    assert answer.status_code == 200, answer.text
    engine: dict[str, Any] = answer.json()["response"]
    assert engine.pop("@type") == _TYPES + "ReasoningEngine"
    return engine


async def get_engine(client: httpx.AsyncClient, name: str) -> dict[str, Any]:
    answer = await client.get(f"{API}/{name}")
    assert answer.status_code == 200, answer.text
    engine: dict[str, Any] = answer.json()
    return engine


async def update_engine(
    client: httpx.AsyncClient, name: str, mask: str | None = None, **fields: Any
) -> dict[str, Any]:
    """Update an engine and return what the operation answered."""
    params = {} if mask is None else {"updateMask": mask}
    answer = await client.patch(f"{API}/{name}", params=params, json=fields)
    assert answer.status_code == 200, answer.text
    engine: dict[str, Any] = answer.json()["response"]
    assert engine.pop("@type") == _TYPES + "ReasoningEngine"
    return engine


async def names(client: httpx.AsyncClient, url: str = COLLECTION, **params: Any) -> list[str]:
    """Return the names of a listing's first page."""
    answer = await client.get(url, params=params)
    assert answer.status_code == 200, answer.text
    return [engine["name"] for engine in answer.json()["reasoningEngines"]]
