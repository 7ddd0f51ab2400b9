"""Retrieval by keys that are bound to scopes: issue 4, section 1."""

from typing import Any

import httpx
import pytest

from tests.support.bank import Json, configure, id_of, ok
from tests.support.bound import SCOPES, Bound
from tests.support.cases import in_one_test

SIMILAR: Json = {"similaritySearchParams": {"searchQuery": "About whom?", "topK": 9}}
PAGED: Json = {"simpleRetrievalParams": {"pageSize": 1, "pageToken": ""}}
WAYS: dict[str, Json] = {"similarity": SIMILAR, "simple": {}, "pages": PAGED}


async def _found(client: httpx.AsyncClient, scope: dict[str, str], **body: Any) -> Json:
    return ok(await client.post("/memories:retrieve", json={"scope": scope, **body}))


async def _assert_finds_its_own(bound: Bound, way: Json) -> None:
    nothing = await _found(bound.client, {"user_id": "nobody"}, **way)
    for memory_id, scope in SCOPES.items():
        answer = await _found(bound.client, scope, **way)
        if memory_id in bound.kind.memories:
            (found,) = answer["retrievedMemories"]
            assert id_of(found["memory"]) == memory_id
        else:
            # As in a scope in which nothing is.
            assert answer == nothing == {"retrievedMemories": []}


@in_one_test("way", WAYS)
async def test_a_search_finds_what_the_key_sees(bound: Bound, way: str) -> None:
    await _assert_finds_its_own(bound, WAYS[way])


async def test_a_search_by_distance_alone_finds_what_the_key_sees(
    bank: httpx.AsyncClient, bound: Bound
) -> None:
    await configure(bank, similaritySearchConfig={"ranking": "vector"})
    await _assert_finds_its_own(bound, SIMILAR)


async def test_a_search_of_many_memories_finds_what_the_key_sees(
    mine: httpx.AsyncClient, bank: httpx.AsyncClient
) -> None:
    for scope in (SCOPES["mine"], SCOPES["theirs"]):
        new = [{"memory": {"fact": f"Fact {n}.", "scope": scope}} for n in range(101)]
        for _ in range(2):
            for at in (0, 51):
                requests = new[at : at + 51]
                ok(await bank.post("/memories:batchCreate", json={"requests": requests}))
    # The second search uses what the first one has learnt of the scope.
    for _ in range(2):
        assert len((await _found(mine, SCOPES["mine"], **SIMILAR))["retrievedMemories"]) == 9
    assert await _found(mine, SCOPES["theirs"], **SIMILAR) == {"retrievedMemories": []}


@pytest.mark.parametrize("way", [SIMILAR, {}])
async def test_no_filter_lets_a_search_out(mine: httpx.AsyncClient, way: Json) -> None:
    for condition in ('fact="About theirs."', 'NOT fact="x"', 'scope.user_id="7"'):
        assert await _found(mine, SCOPES["theirs"], filter=condition, **way) == {
            "retrievedMemories": []
        }
    negated: Json = {"key": "a", "value": {"stringValue": "b"}, "negate": True}
    groups = [{"filters": [negated]}]
    assert await _found(mine, SCOPES["theirs"], filterGroups=groups, **way) == {
        "retrievedMemories": []
    }
    (found,) = (await _found(mine, SCOPES["mine"], filterGroups=groups, **way))["retrievedMemories"]
    assert id_of(found["memory"]) == "mine"


async def test_the_page_token_of_another_key_brings_nothing_of_others(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient
) -> None:
    for fact in ("One.", "Two."):
        body = {"fact": fact, "scope": SCOPES["theirs"]}
        ok(await bank.post("/memories", json=body))
    whole = await _found(bank, SCOPES["theirs"], **PAGED)
    params: Json = {"simpleRetrievalParams": {"pageToken": whole["nextPageToken"]}}
    assert await _found(mine, SCOPES["theirs"], **params) == {"retrievedMemories": []}


def _profile(user: str) -> Json:
    content = {"schemaId": "person", "data": {"name": f"Name of {user}"}}
    scope = {"user_id": user}
    return {"memoryType": "STRUCTURED_PROFILE", "structuredContent": content, "scope": scope}


async def test_profiles_are_those_that_the_key_sees(
    bank: httpx.AsyncClient, mine: httpx.AsyncClient
) -> None:
    for user in ("42", "7"):
        ok(await bank.post("/memories", json=_profile(user)))
    path = "/memories:retrieveProfiles"
    own = ok(await mine.post(path, json={"scope": SCOPES["mine"]}))
    assert own["profiles"]["person"]["profile"] == {"name": "Name of 42"}
    foreign = await mine.post(path, json={"scope": SCOPES["theirs"]})
    nothing = await mine.post(path, json={"scope": {"user_id": "nobody"}})
    assert ok(foreign) == {}
    assert foreign.text == nothing.text
