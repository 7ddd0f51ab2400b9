"""Profiles of a bank that keeps nothing else."""

import httpx

from tests.support.bank import Json, configure, ok
from tests.support.operations import USER


async def keep_profiles(client: httpx.AsyncClient, schema: Json) -> None:
    """Have the bank keep profiles `person` of this schema, and no memories in sentences."""
    entry = {"schemaConfigs": [{"id": "person", "schema": schema}]}
    config = {"disableNaturalLanguageMemories": True}
    await configure(client, structuredMemoryConfigs=[entry], customizationConfigs=[config])


async def profile_of(client: httpx.AsyncClient) -> Json:
    """Return the user's profile `person`; empty: there is none."""
    answer = ok(await client.post("/memories:retrieveProfiles", json={"scope": USER}))
    found: Json = answer.get("profiles", {}).get("person", {}).get("profile", {})
    return found
