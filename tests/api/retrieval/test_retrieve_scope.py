"""Retrieval by scope alone: wire specification, sections 7.1 to 7.3."""

from datetime import timedelta

import httpx

from app.kernel.clock import FixedClock
from tests.support.bank import GONE, Json, field_of, ok, refusal, retrieve, retrieved
from tests.support.operations import USER, create_memories, create_memory, path_of


async def _spaced(client: httpx.AsyncClient, clock: FixedClock, count: int) -> list[Json]:
    found = []
    for number in range(count):
        clock.advance(timedelta(minutes=1))
        found.append(await create_memory(client, str(number)))
    return found


async def _page(client: httpx.AsyncClient, params: Json, **body: object) -> tuple[list[str], str]:
    """Return the facts of a page and its token, or an empty one."""
    request = {"scope": USER, "simpleRetrievalParams": params, **body}
    page = ok(await client.post("/memories:retrieve", json=request))
    assert all("distance" not in one for one in page["retrievedMemories"])
    facts = [one["memory"]["fact"] for one in page["retrievedMemories"]]
    return facts, page.get("nextPageToken", "")


async def test_the_answer_holds_whole_memories_newest_first(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    first, second = await _spaced(client, clock, 2)
    answer = ok(await client.post("/memories:retrieve", json={"scope": USER}))
    assert answer == {"retrievedMemories": [{"memory": second}, {"memory": first}]}


async def test_an_empty_scope_s_answer_is_an_empty_list(client: httpx.AsyncClient) -> None:
    answer = ok(await client.post("/memories:retrieve", json={"scope": {"nobody": "1"}}))
    assert answer == {"retrievedMemories": []}


async def test_only_exactly_this_scope_is_seen(client: httpx.AsyncClient) -> None:
    scopes = [
        {"user_id": "1"},
        {"user_id": "1", "app": "x"},
        {"user_id": "2"},
        {"User_id": "1"},
        {"user_id": "A"},
        {"user_id": "a"},
        {"app": "1"},
        {"a": 'x","b":"y'},
        {"a": "x", "b": "y"},
    ]
    for number, scope in enumerate(scopes):
        await create_memory(client, str(number), scope)
    for number, scope in enumerate(scopes):
        backwards = dict(reversed(scope.items()))
        for search in ({}, {"similaritySearchParams": {"searchQuery": "q"}}):
            assert await retrieved(client, scope=backwards, **search) == [str(number)]
    assert await retrieved(client, scope={"app": "x"}) == []


async def test_the_scope_is_required_and_checked(client: httpx.AsyncClient) -> None:
    assert field_of(await client.post("/memories:retrieve", json={})) == "scope"
    for scope in ({}, {"user_id": "*"}, {str(n): "x" for n in range(6)}):
        answer = await client.post("/memories:retrieve", json={"scope": scope})
        assert field_of(answer) == "scope"


async def test_without_parameters_up_to_100_and_never_a_token(client: httpx.AsyncClient) -> None:
    # Section 7.3: a token would break the client's pager.
    await create_memories(client, *map(str, range(101)))
    answer = ok(await client.post("/memories:retrieve", json={"scope": USER}))
    assert len(answer["retrievedMemories"]) == 100
    assert "nextPageToken" not in answer
    # A page's size defaults to 3 and is coerced to 100.
    assert len((await _page(client, {}))[0]) == 3
    assert len((await _page(client, {"page_size": 0}))[0]) == 3
    for size in (101, 1_000_000):
        facts, token = await _page(client, {"pageSize": size, "pageToken": ""})
        assert len(facts) == 100
        rest, end = await _page(client, {"pageSize": size, "pageToken": token})
        assert (len(rest), end) == (1, "")


async def test_a_token_is_answered_to_one_that_was_sent(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    """An empty one asks for the first page; the official client's pager can send none."""
    await _spaced(client, clock, 4)
    unpaged: tuple[Json, ...] = ({}, {"page_size": 3}, {"page_size": 3, "page_token": None})
    for params in unpaged:
        assert await _page(client, params) == (["3", "2", "1"], "")
    paged: tuple[Json, ...] = ({"page_token": ""}, {"pageSize": 3, "pageToken": ""})
    for params in paged:
        facts, token = await _page(client, params)
        assert facts == ["3", "2", "1"]
        assert await _page(client, {"page_token": token}) == (["0"], "")


async def test_pages_hold_each_memory_once_while_rows_are_inserted(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _spaced(client, clock, 5)
    seen: list[str] = []
    token = ""
    while True:
        facts, token = await _page(client, {"page_size": 2, "page_token": token})
        seen += facts
        if not token:
            break
        await create_memory(client, "late")
    assert seen == ["4", "3", "2", "1", "0"]


async def test_a_token_is_bound_to_scope_and_filters(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _spaced(client, clock, 3)
    _, token = await _page(client, {"page_size": 1, "page_token": ""})
    paged: Json = {"pageToken": token, "pageSize": 1}
    assert (await _page(client, paged))[0] == ["1"]
    for other in ({"scope": {"user_id": "7"}}, {"filter": 'fact="1"'}):
        change = {"simpleRetrievalParams": paged, "scope": USER, **other}
        answer = await client.post("/memories:retrieve", json=change)
        assert field_of(answer) == "pageToken"
    bad = {"scope": USER, "simpleRetrievalParams": {"pageToken": "x"}}
    assert field_of(await client.post("/memories:retrieve", json=bad)) == "pageToken"


async def test_deleted_and_expired_memories_are_hidden(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    _, deleted, _ = await _spaced(client, clock, 3)
    await create_memory(client, "short", ttl="60s")
    ok(await client.delete(path_of(deleted["name"])))
    search = {"similaritySearchParams": {"searchQuery": "q", "topK": 10}}
    assert await retrieved(client) == ["short", "2", "0"]
    assert sorted(await retrieved(client, **search)) == ["0", "2", "short"]
    clock.advance(timedelta(seconds=60))
    assert await retrieved(client) == ["2", "0"]
    assert sorted(await retrieved(client, **search)) == ["0", "2"]


async def test_memory_types(client: httpx.AsyncClient) -> None:
    natural = await create_memory(client, "said")
    content = {"data": {"a": 1}, "schemaId": "s"}
    profile = await create_memory(
        client, "kept", memoryType="STRUCTURED_PROFILE", structuredContent=content
    )
    await create_memory(client, "other", {"user_id": "7"}, memoryType="STRUCTURED_PROFILE")

    async def names(*types: str) -> set[str]:
        body = {"memoryTypes": list(types)} if types else {}
        return {one["memory"]["name"] for one in await retrieve(client, **body)}

    # Nothing given means natural language only.
    assert await names() == {natural["name"]}
    assert await names("NATURAL_LANGUAGE_COLLECTION") == {natural["name"]}
    assert await names("MEMORY_TYPE_UNSPECIFIED") == {natural["name"]}
    assert await names("STRUCTURED_PROFILE") == {profile["name"]}
    both = await names("STRUCTURED_PROFILE", "NATURAL_LANGUAGE_COLLECTION")
    assert both == {natural["name"], profile["name"]}
    body = {"scope": USER, "memory_types": ["OTHER"]}
    answer = await client.post("/memories:retrieve", json=body)
    assert field_of(answer) == "memoryTypes[0]"


async def test_two_kinds_of_retrieval_at_once_are_refused(client: httpx.AsyncClient) -> None:
    body = {
        "scope": USER,
        "similaritySearchParams": {"searchQuery": "q"},
        "simpleRetrievalParams": {},
    }
    assert field_of(await client.post("/memories:retrieve", json=body)) == "body"
    for params, named in (
        ({"simpleRetrievalParams": {"pageSize": -1}}, "simpleRetrievalParams.pageSize"),
        ({"similaritySearchParams": {}}, "similaritySearchParams.searchQuery"),
        ({"similaritySearchParams": {"searchQuery": ""}}, "similaritySearchParams.searchQuery"),
        (
            {"similaritySearchParams": {"searchQuery": "q", "topK": -1}},
            "similaritySearchParams.topK",
        ),
        ({"pageToken": "x"}, "pageToken"),
    ):
        answer = await client.post("/memories:retrieve", json={"scope": USER, **params})
        assert field_of(answer) == named


async def test_the_engine_must_exist(client: httpx.AsyncClient) -> None:
    url = "http://test/v1/reasoningEngines/2/memories:retrieve"
    for search in ({}, {"similaritySearchParams": {"searchQuery": "q"}}):
        assert refusal(await client.post(url, json={"scope": USER, **search})) == GONE
