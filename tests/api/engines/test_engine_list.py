"""Listing engines. Source: wire specification, sections 2.6, 12.1 and 14."""

from datetime import timedelta

import httpx
import pytest

from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from tests.support.cases import in_one_test
from tests.support.engines import API, COLLECTION, FIRST, create_engine, get_engine, names
from tests.support.errors import BAD_FIELD, refusal, violations

_P, _Q = "projects/p/locations/l", "projects/q/locations/l"
_LIST = f"{API}/{_P}/reasoningEngines"


async def _bank(client: httpx.AsyncClient, clock: FixedClock, name: str, **fields: object) -> str:
    clock.advance(timedelta(minutes=1))
    return str((await create_engine(client, _P, displayName=name, **fields))["name"])


async def test_engines_are_listed_newest_first_as_they_are_read(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    config = {"memoryBankConfig": {"disableMemoryRevisions": True}}
    old = await _bank(client, clock, "old", contextSpec=config)
    new = await _bank(client, clock, "new", labels={"k": "v"})
    answer = await client.get(_LIST)
    assert answer.json() == {
        "reasoningEngines": [await get_engine(client, new), await get_engine(client, old)]
    }


async def test_a_location_without_engines_has_an_empty_list(client: httpx.AsyncClient) -> None:
    assert (await client.get(_LIST)).json() == {"reasoningEngines": []}


@pytest.fixture
async def banks(client: httpx.AsyncClient, clock: FixedClock) -> None:
    """Three engines in an order of their own."""
    await _bank(client, clock, "Bank", labels={"team": "a"})
    await _bank(client, clock, "Bänke")
    await _bank(client, clock, "Other", labels={"team": "b"}, description='a "quoted" one')


@pytest.mark.usefixtures("banks")
@in_one_test(
    ("text", "expected"),
    [
        ('display_name="Bank"', ["Bank"]),
        ('displayName = "Bank"', ["Bank"]),
        ('display_name!="Bank"', ["Other", "Bänke"]),
        ("display_name:an", ["Bank"]),
        ('display_name=~"B.*"', ["Bänke", "Bank"]),
        ('description="a \\"quoted\\" one"', ["Other"]),
        ('labels.team="a"', ["Bank"]),
        ("labels:team", ["Other", "Bank"]),
        ("NOT labels:team", ["Bänke"]),
        ('create_time>="2026-01-15T12:02:00Z"', ["Other", "Bänke"]),
        ('update_time<"2026-01-15T12:02:00Z"', ["Bank"]),
        ('labels.team="a" OR display_name="Other"', ["Other", "Bank"]),
        ("", ["Other", "Bänke", "Bank"]),
        ("   ", ["Other", "Bänke", "Bank"]),
    ],
)
async def test_engines_are_filtered(
    client: httpx.AsyncClient, text: str, expected: list[str]
) -> None:
    answer = await client.get(_LIST, params={"filter": text})
    found = [engine["displayName"] for engine in answer.json()["reasoningEngines"]]
    assert found == expected


@in_one_test(
    ("text", "column"),
    [("etag=1", "1"), ("display_name", "13"), ('display_name="a" bank="b"', "18"), ("(", "2")],
)
async def test_a_filter_that_cannot_be_read_gives_its_column(
    client: httpx.AsyncClient, text: str, column: str
) -> None:
    answer = await client.get(COLLECTION, params={"filter": text})
    assert refusal(answer) == (400, "INVALID_ARGUMENT", Reason.FILTER_INVALID)
    assert answer.json()["error"]["details"][0]["metadata"] == {"column": column}
    assert list(violations(answer)) == ["filter"]


async def test_pages_give_each_engine_once_even_at_equal_times(client: httpx.AsyncClient) -> None:
    made = [(await create_engine(client, _P))["name"] for _ in range(5)]
    found: list[str] = []
    params: dict[str, str | int] = {"pageSize": 2, "filter": "create_time>0"}
    while True:
        page = (await client.get(_LIST, params=params)).json()
        found += [engine["name"] for engine in page["reasoningEngines"]]
        if "nextPageToken" not in page:
            break
        assert len(page["reasoningEngines"]) == 2
        params["pageToken"] = page["nextPageToken"]
    assert found == list(reversed(made))


async def test_a_page_that_ends_the_list_has_no_token(client: httpx.AsyncClient) -> None:
    for _ in range(2):
        await create_engine(client, _P)
    page = (await client.get(_LIST, params={"pageSize": 2})).json()
    assert len(page["reasoningEngines"]) == 2
    assert "nextPageToken" not in page


@pytest.mark.parametrize("size", ["0", "1001", str(10**30)])
async def test_page_sizes_are_coerced(client: httpx.AsyncClient, size: str) -> None:
    assert await names(client, pageSize=size) == [FIRST.removeprefix(f"{API}/")]


@pytest.mark.parametrize("size", ["-1", "x", "1.5"])
async def test_page_sizes_that_are_none_are_refused(client: httpx.AsyncClient, size: str) -> None:
    answer = await client.get(COLLECTION, params={"pageSize": size})
    assert refusal(answer) == BAD_FIELD
    assert list(violations(answer)) == ["pageSize"]


async def test_a_token_of_another_query_is_refused(client: httpx.AsyncClient) -> None:
    for _ in range(2):
        await create_engine(client, _P)
    page = await client.get(_LIST, params={"pageSize": 1})
    token = page.json()["nextPageToken"]
    others = [
        (_LIST, {"pageToken": token, "filter": "create_time>0"}),
        (f"{API}/{_Q}/reasoningEngines", {"pageToken": token}),
        (_LIST, {"pageToken": token[:-1]}),
        (_LIST, {"pageToken": "W251bGxd"}),
        (f"{FIRST}/memories", {"pageToken": token}),
    ]
    for url, params in others:
        answer = await client.get(url, params=params)
        assert refusal(answer) == (400, "INVALID_ARGUMENT", Reason.PAGE_TOKEN_INVALID)


async def test_a_list_holds_the_engines_of_its_location(client: httpx.AsyncClient) -> None:
    in_p = (await create_engine(client, _P))["name"]
    in_p2 = (await create_engine(client, "projects/p/locations/l2"))["name"]
    in_q = (await create_engine(client, _Q))["name"]
    first = FIRST.removeprefix(f"{API}/")
    expected = {
        f"{API}/{_P}/reasoningEngines": [in_p],
        f"{API}/{_P}/memoryBanks": [in_p],
        f"{API}/projects/p/locations/-/reasoningEngines": [in_p2, in_p],
        f"{API}/projects/-/locations/l/reasoningEngines": [in_q, in_p],
        f"{API}/projects/-/locations/-/reasoningEngines": [in_q, in_p2, in_p, first],
        "http://test/v1/reasoningEngines": [in_q, in_p2, in_p, first],
    }
    assert {url: await names(client, url) for url in expected} == expected


async def test_a_deleted_engine_is_not_listed(client: httpx.AsyncClient) -> None:
    engine = await create_engine(client, _P)
    assert (await client.delete(f"{API}/{engine['name']}")).status_code == 200
    assert await names(client, _LIST) == []
