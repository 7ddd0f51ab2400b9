"""Searches past the session: what they find is what all others find."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from app.adapters.db.session import Database
from tests.support.bank import configure, ok
from tests.support.statements import beside_admission, statements_on

SCOPE = {"user_id": "42"}
FACTS = (
    "Anna moved to Paris in May 2024.",
    "I like green tea in the morning.",
    "My sister Anna has two dogs.",
    "Do you like tea?",
    "Work on the garden is due in March.",
)
QUERY = "Which tea do I like?"


@pytest.fixture
async def bank(client: httpx.AsyncClient) -> httpx.AsyncClient:
    for position, fact in enumerate(FACTS):
        metadata = {"source": {"stringValue": "chat"}, "position": {"doubleValue": position}}
        body = {"fact": fact, "scope": SCOPE, "metadata": metadata}
        ok(await client.post("memories", json=body))
    return client


@pytest.fixture
def statements(database: Database) -> Iterator[list[str]]:
    """What goes by way of the session."""
    with statements_on(database, "") as found:
        yield found


async def search(client: httpx.AsyncClient, query: str, **fields: Any) -> list[dict[str, Any]]:
    params = {"searchQuery": query, "topK": 4}
    body = {"scope": SCOPE, "similaritySearchParams": params, "explain": True, **fields}
    found: list[dict[str, Any]] = ok(await client.post("/memories:retrieve", json=body))[
        "retrievedMemories"
    ]
    return found


async def test_a_changed_configuration_counts_at_once(bank: httpx.AsyncClient) -> None:
    (first, *_) = await search(bank, QUERY)
    assert first["explanation"]["ranking"] == "hybrid"
    await configure(bank, similaritySearchConfig={"ranking": "vector"})
    (first, *_) = await search(bank, QUERY)
    assert first["explanation"]["ranking"] == "vector"


async def test_nothing_deleted_is_found(bank: httpx.AsyncClient) -> None:
    for _ in range(2):
        (first, *_) = await search(bank, QUERY)
        name = first["memory"]["name"].rpartition("/")[2]
        ok(await bank.delete(f"memories/{name}"))
        left = await search(bank, QUERY)
        assert name not in {one["memory"]["name"].rpartition("/")[2] for one in left}


async def test_an_empty_scope_and_a_deleted_engine_are_told_apart(bank: httpx.AsyncClient) -> None:
    await search(bank, QUERY)
    assert await search(bank, QUERY, scope={"user_id": "nobody"}) == []
    assert (await bank.delete(str(bank.base_url).rstrip("/") + "?force=true")).is_success
    params = {"searchQuery": QUERY}
    gone = await bank.post(
        "/memories:retrieve", json={"scope": SCOPE, "similaritySearchParams": params}
    )
    assert gone.status_code == 404


async def newest(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    return ok(await client.post("/memories:retrieve", json={"scope": SCOPE, **fields}))


async def test_the_newest_and_their_pages_are_those_of_a_filtered_retrieval(
    bank: httpx.AsyncClient, statements: list[str]
) -> None:
    params = {"simpleRetrievalParams": {"pageSize": 2, "pageToken": ""}}
    filtered = await newest(bank, filter='create_time>"2000-01-01T00:00:00Z"', **params)
    assert any("memories" in one for one in statements)
    statements.clear()
    page = await newest(bank, **params)
    assert beside_admission(statements) == []
    assert page["retrievedMemories"] == filtered["retrievedMemories"]
    whole = await newest(bank)
    assert beside_admission(statements) == []
    assert "nextPageToken" not in whole
    following = {"pageSize": 4, "pageToken": page["nextPageToken"]}
    rest = await newest(bank, simpleRetrievalParams=following)
    assert "nextPageToken" not in rest
    assert page["retrievedMemories"] + rest["retrievedMemories"] == whole["retrievedMemories"]
    assert len(whole["retrievedMemories"]) == len(FACTS)


async def test_a_scope_without_memories_and_a_deleted_engine_have_no_newest(
    bank: httpx.AsyncClient,
) -> None:
    for one in (await newest(bank))["retrievedMemories"]:
        ok(await bank.delete("memories/" + one["memory"]["name"].rpartition("/")[2]))
    assert await newest(bank) == {"retrievedMemories": []}
    assert (await bank.delete(str(bank.base_url).rstrip("/") + "?force=true")).is_success
    gone = await bank.post("/memories:retrieve", json={"scope": SCOPE})
    assert gone.status_code == 404
