"""The time that a session shows is just after its latest event; its place in lists is not.

Source: google-adk, whose session services set the time of a session so.
"""

from datetime import datetime, timedelta

import httpx

from app.kernel.clock import FixedClock
from tests.support.bank import Json, ok, wire
from tests.support.sessions import append, create_session, event, ids, new_path

_MINUTE = timedelta(minutes=1)
_TICK = timedelta(microseconds=1)


async def _shown(client: httpx.AsyncClient, path: str) -> str:
    found: str = ok(await client.get(path))["updateTime"]
    return found


def _at(moment: datetime) -> Json:
    return {"timestamp": wire(moment)}


async def test_a_session_shows_the_latest_time_of_its_events(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = await new_path(client)
    start = clock.now()
    clock.advance(10 * _MINUTE)
    # An event that comes late, with an early time, does not set it back.
    for minutes, latest in ((5, 5), (7, 7), (3, 7)):
        await append(client, path, **_at(start + minutes * _MINUTE))
        assert await _shown(client, path) == wire(start + latest * _MINUTE + _TICK)
        (listed,) = ok(await client.get("/sessions"))["sessions"]
        assert listed["updateTime"] == wire(start + latest * _MINUTE + _TICK)
    batch = [event("a", **_at(start + 9 * _MINUTE)), event("b", **_at(start + 2 * _MINUTE))]
    ok(await client.post(f"{path}/events:batch", json={"events": batch}))
    assert await _shown(client, path) == wire(start + 9 * _MINUTE + _TICK)
    body = {"input": "a", "output": "b", **_at(start + 4 * _MINUTE)}
    ok(await client.post(f"{path}/exchanges", json=body))
    assert await _shown(client, path) == wire(start + 9 * _MINUTE + _TICK)
    before = f'timestamp<"{await _shown(client, path)}"'
    found = ok(await client.get(f"{path}/events", params={"filter": before}))
    assert len(found["sessionEvents"]) == 7


async def test_it_is_not_before_the_session_nor_before_an_event_of_a_fast_clock(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = await new_path(client)
    start = clock.now()
    clock.advance(10 * _MINUTE)
    await append(client, path, **_at(start - _MINUTE))
    assert await _shown(client, path) == wire(start)
    await append(client, path, **_at(clock.now() + _MINUTE))
    assert await _shown(client, path) == wire(clock.now() + _MINUTE + _TICK)
    await append(client, path, timestamp="9999-12-31T23:59:59.999999Z")
    assert await _shown(client, path) == "9999-12-31T23:59:59.999999Z"
    changed = ok(await client.patch(path, json={"displayName": "Trip"}))
    assert changed["updateTime"] == "9999-12-31T23:59:59.999999Z"


async def test_events_before_it_are_all_events(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = await new_path(client)
    clock.advance(_MINUTE)
    for ahead in (timedelta(), _MINUTE):
        await append(client, path, **_at(clock.now() + ahead))
        before = f'timestamp<"{await _shown(client, path)}"'
        said = ok(await client.get(f"{path}/events"))["sessionEvents"]
        found = ok(await client.get(f"{path}/events", params={"filter": before}))
        assert found["sessionEvents"] == said


async def test_changes_beside_events_are_shown_too(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = await new_path(client)
    start = clock.now()
    clock.advance(10 * _MINUTE)
    await append(client, path, **_at(start + _MINUTE))
    (said,) = ok(await client.get(f"{path}/events"))["sessionEvents"]
    changed = ok(await client.patch(path, json={"displayName": "Trip"}))
    assert changed["updateTime"] == wire(clock.now())
    await append(client, path, **_at(start + 2 * _MINUTE))
    assert await _shown(client, path) == wire(clock.now())
    clock.advance(_MINUTE)
    ok(await client.delete(f"{path}/events/{said['name'].rpartition('/')[2]}"))
    assert await _shown(client, path) == wire(clock.now())


async def test_order_filter_etag_and_expiry_do_not_follow(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    for name in ("a", "b"):
        await create_session(client, name, ttl="3600s")
    start = clock.now()
    expiry = wire(start + 60 * _MINUTE)
    for minutes, name in ((8, "a"), (2, "b")):
        clock.advance(5 * _MINUTE)
        await append(client, f"/sessions/{name}", **_at(start + minutes * _MINUTE))
    assert await _shown(client, "/sessions/a") == wire(start + 8 * _MINUTE + _TICK)
    assert await _shown(client, "/sessions/b") == wire(start + 2 * _MINUTE + _TICK)
    assert await ids(client, orderBy="update_time desc") == ["b", "a"]
    late = f'update_time>"{wire(start + 6 * _MINUTE)}"'
    assert await ids(client, filter=late) == ["b"]
    read = ok(await client.get("/sessions/b"))
    assert (read["etag"], read["expireTime"]) == ("2", expiry)
