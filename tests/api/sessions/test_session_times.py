"""The time that a session shows is that of its newest event; its place in lists is not.

Source: google-adk, whose session services set the time of a session so.
"""

from datetime import datetime, timedelta

import httpx

from app.kernel.clock import FixedClock
from tests.support.bank import Json, ok, wire
from tests.support.sessions import append, create_session, event, ids, new_path

_MINUTE = timedelta(minutes=1)


async def _shown(client: httpx.AsyncClient, path: str) -> str:
    found: str = ok(await client.get(path))["updateTime"]
    return found


def _at(moment: datetime) -> Json:
    return {"timestamp": wire(moment)}


async def test_a_session_shows_the_time_of_its_newest_event(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = await new_path(client)
    start = clock.now()
    clock.advance(10 * _MINUTE)
    # The newest is the one that came last, whatever its time.
    for minutes in (5, 7, 3):
        moment = start + minutes * _MINUTE + timedelta(microseconds=1)
        await append(client, path, **_at(moment))
        assert await _shown(client, path) == wire(moment)
        (listed,) = ok(await client.get("/sessions"))["sessions"]
        assert listed["updateTime"] == wire(moment)
    batch = [event("a", **_at(start + 9 * _MINUTE)), event("b", **_at(start + 2 * _MINUTE))]
    ok(await client.post(f"{path}/events:batch", json={"events": batch}))
    assert await _shown(client, path) == wire(start + 2 * _MINUTE)
    body = {"input": "a", "output": "b", **_at(start + 4 * _MINUTE)}
    ok(await client.post(f"{path}/exchanges", json=body))
    assert await _shown(client, path) == wire(start + 4 * _MINUTE)


async def test_it_is_within_the_life_of_the_session(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    path = await new_path(client)
    start = clock.now()
    clock.advance(10 * _MINUTE)
    await append(client, path, **_at(start - _MINUTE))
    assert await _shown(client, path) == wire(start)
    await append(client, path, **_at(clock.now() + _MINUTE))
    shown = await _shown(client, path)
    assert shown == wire(clock.now())
    clock.advance(5 * _MINUTE)
    assert await _shown(client, path) == shown


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
    assert await _shown(client, path) == wire(start + 2 * _MINUTE)
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
    assert await _shown(client, "/sessions/a") == wire(start + 5 * _MINUTE)
    assert await _shown(client, "/sessions/b") == wire(start + 2 * _MINUTE)
    assert await ids(client, orderBy="update_time desc") == ["b", "a"]
    late = f'update_time>"{wire(start + 6 * _MINUTE)}"'
    assert await ids(client, filter=late) == ["b"]
    read = ok(await client.get("/sessions/b"))
    assert (read["etag"], read["expireTime"]) == ("2", expiry)
