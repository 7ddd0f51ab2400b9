"""GET of the list of sessions: wire specification, sections 2.6, 13.1 and 14.1."""

from datetime import timedelta

import httpx

from app.kernel.clock import FixedClock
from tests.support.bank import field_of, ok
from tests.support.sessions import append, create_session, ids


async def _fill(client: httpx.AsyncClient, clock: FixedClock) -> None:
    """Create three sessions a minute apart; the first is then written to."""
    await create_session(client, "a", userId='u"1', displayName="first", labels={"k": "v"})
    clock.advance(timedelta(minutes=1))
    await create_session(client, "b", userId="7", labels={"k": "w"})
    clock.advance(timedelta(minutes=1))
    await create_session(client, "c", userId="7", ttl="3600s")
    clock.advance(timedelta(minutes=1))
    await append(client, "/sessions/a")


async def test_an_empty_list_is_a_list(client: httpx.AsyncClient) -> None:
    assert ok(await client.get("/sessions")) == {"sessions": []}


async def test_sessions_are_listed_newest_first(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    await _fill(client, clock)
    assert await ids(client) == ["c", "b", "a"]
    first = ok(await client.get("/sessions"))["sessions"][0]
    assert first == ok(await client.get("/sessions/c"))
    clock.advance(timedelta(hours=1))
    assert await ids(client) == ["b", "a"]


_ORDERS = {
    "create_time": ["a", "b", "c"],
    "createTime desc": ["c", "b", "a"],
    "update_time": ["b", "c", "a"],
    "updateTime asc": ["b", "c", "a"],
    "update_time desc": ["a", "c", "b"],
}


async def test_order_by(client: httpx.AsyncClient, clock: FixedClock) -> None:
    await _fill(client, clock)
    assert {order: await ids(client, orderBy=order) for order in _ORDERS} == _ORDERS
    for order in ("user_id", "create_time down", "desc"):
        assert field_of(await client.get("/sessions", params={"orderBy": order})) == "orderBy"


_FILTERS = {
    r'user_id="u\"1"': ["a"],
    'user_id="7"': ["c", "b"],
    'userId="7" AND labels.k="w"': ["b"],
    'display_name="first"': ["a"],
    'display_name:"irs"': ["a"],
    'labels.k="v"': ["a"],
    "labels:k": ["b", "a"],
    'create_time>="2026-01-15T12:01:00Z"': ["c", "b"],
    'update_time>"2026-01-15T12:02:00Z"': ["a"],
    'expire_time<"2026-01-16T00:00:00Z"': ["c"],
    'NOT user_id="7"': ["a"],
}


async def test_filters(client: httpx.AsyncClient, clock: FixedClock) -> None:
    await _fill(client, clock)
    assert {text: await ids(client, filter=text) for text in _FILTERS} == _FILTERS
    for text in ("session_state.k=1", 'user_id>"1"', "user_id"):
        assert field_of(await client.get("/sessions", params={"filter": text})) == "filter"


async def test_pages_are_of_one_query(client: httpx.AsyncClient, clock: FixedClock) -> None:
    await _fill(client, clock)
    params: dict[str, str | int] = {}
    for order, expected in _ORDERS.items():
        params = {"orderBy": order, "pageSize": 1}
        found = []
        while True:
            page = ok(await client.get("/sessions", params=params))
            found += [one["name"].rpartition("/")[2] for one in page["sessions"]]
            if "nextPageToken" not in page:
                break
            params["pageToken"] = page["nextPageToken"]
        assert found == expected
    other = {**params, "filter": 'user_id="7"'}
    assert field_of(await client.get("/sessions", params=other)) == "pageToken"


async def test_a_page_has_at_most_100_sessions(client: httpx.AsyncClient) -> None:
    for _ in range(101):
        await create_session(client)
    for params in ({}, {"pageSize": 0}, {"pageSize": 1000}):
        assert len(await ids(client, **params)) == 100
    assert field_of(await client.get("/sessions", params={"pageSize": -1})) == "pageSize"
