"""The model that an engine names for its memories: one that exists, or Google's."""

import json
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.engines import API, COLLECTION, FIRST, create_engine, get_engine, update_engine
from tests.support.errors import BAD_FIELD, refusal, violations

FIELD = "contextSpec.memoryBankConfig.generationConfig.model"
GOOGLES = "projects/p/locations/l/publishers/google/models/gemini-2.5-flash"


def named(model: str) -> dict[str, Any]:
    return {"contextSpec": {"memoryBankConfig": {"generationConfig": {"model": model}}}}


@pytest.mark.parametrize("model", [GOOGLES, "gemini-2.5-flash"])
async def test_a_name_of_googles_is_taken(client: httpx.AsyncClient, model: str) -> None:
    engine = await create_engine(client, **named(model))
    assert engine["contextSpec"] == named(model)["contextSpec"]


async def test_another_name_is_refused_where_it_is_set(client: httpx.AsyncClient) -> None:
    created = await client.post(COLLECTION, json=named("gpt-5"))
    updated = await client.patch(FIRST, json=named("gpt-5"))
    checked = await client.post(f"{FIRST}:validate", json=named("gpt-5"))
    for refused in (created, updated, checked):
        assert refusal(refused) == BAD_FIELD
        ((field, said),) = violations(refused).items()
        assert field == FIELD
        assert "must be a name of Google's such as gemini-2.5-flash, for which" in said


async def test_a_name_that_is_stored_stays(client: httpx.AsyncClient, database_url: str) -> None:
    """A former release took it, or a restore has brought it."""
    engine = await create_engine(client, **named("gemini-x"))
    stored = json.dumps(named("gone")["contextSpec"]["memoryBankConfig"])
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        await connection.execute(
            "UPDATE engines SET bank_config = %s WHERE engine_id = %s",
            (stored, engine["name"].rpartition("/")[2]),
        )

    await update_engine(client, engine["name"], displayName="after", **named("gone"))

    kept = await get_engine(client, engine["name"])
    assert kept["contextSpec"] == named("gone")["contextSpec"]
    other = await client.patch(f"{API}/{engine['name']}", json=named("other"))
    assert refusal(other) == BAD_FIELD
