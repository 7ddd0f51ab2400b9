"""Keys that end: revoked, rotated and expired, in every process that serves one database."""

from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.process.main import create_app
from tests.conftest import ADMIN_KEY
from tests.support.bank import id_of, ok
from tests.support.cases import in_one_test
from tests.support.engines import FIRST, NOW
from tests.support.errors import refusal, violations
from tests.support.keys import client_with

_KEYS = "http://test/v1/keys"
_INVALID = (401, "UNAUTHENTICATED", Reason.CREDENTIAL_INVALID)
_LAST = (400, "FAILED_PRECONDITION", Reason.LAST_ADMIN_KEY)
_ENDED = (400, "FAILED_PRECONDITION", Reason.KEY_ENDED)
_SECOND = timedelta(seconds=1)


async def _create(client: httpx.AsyncClient, *roles: str, **fields: Any) -> dict[str, Any]:
    return ok(await client.post(_KEYS, json={"displayName": "one", "roles": roles, **fields}))


def _verb(key: dict[str, Any], verb: str) -> str:
    return f"http://test/v1/{key['name']}:{verb}"


async def _gets_in(app: FastAPI, secret: str) -> bool:
    async with client_with(app, secret) as holder:
        answer = await holder.get(FIRST)
    assert answer.status_code == 200 or refusal(answer) == _INVALID
    return answer.status_code == 200


@pytest.fixture
def apps(resources: Resources) -> list[FastAPI]:
    """Two processes on one database."""
    return [create_app(resources), create_app(resources)]


async def test_a_revoked_key_ends_within_a_second_in_every_process(
    client: httpx.AsyncClient, apps: list[FastAPI], clock: FixedClock
) -> None:
    made = await _create(client, "viewer")
    for app in apps:
        assert await _gets_in(app, made["secret"])
        await app.state.authenticator.uses.settle()
    revoked = ok(await client.post(_verb(made, "revoke")))
    secret = made.pop("secret")
    assert revoked == {**made, "lastUseTime": NOW, "revokeTime": NOW}
    clock.advance(_SECOND)
    assert [await _gets_in(app, secret) for app in apps] == [False, False]
    assert ok(await client.post(_verb(made, "revoke"))) == revoked


async def test_a_rotated_secret_ends_and_the_new_one_works_at_once(
    client: httpx.AsyncClient, apps: list[FastAPI], clock: FixedClock
) -> None:
    made = await _create(client, "viewer", scopeConditions={"user_id": "42"})
    assert await _gets_in(apps[0], made["secret"])
    await apps[0].state.authenticator.uses.settle()
    rotated = ok(await client.post(_verb(made, "rotate")))
    former, secret = made.pop("secret"), rotated.pop("secret")
    assert rotated == {**made, "lastUseTime": NOW}
    for app in apps:
        assert await _gets_in(app, secret)
    clock.advance(_SECOND)
    for app in apps:
        assert not await _gets_in(app, former)
        assert await _gets_in(app, secret)


async def test_former_secrets_work_until_the_grace_period_ends(
    client: httpx.AsyncClient, app: FastAPI, clock: FixedClock
) -> None:
    made = await _create(client, "viewer")
    second = ok(await client.post(_verb(made, "rotate"), json={"gracePeriod": "60s"}))
    clock.advance(timedelta(seconds=59))
    assert await _gets_in(app, made["secret"])
    # Another rotation makes nothing last longer than it would have.
    third = ok(await client.post(_verb(made, "rotate"), json={"grace_period": "3600s"}))
    clock.advance(_SECOND)
    assert not await _gets_in(app, made["secret"])
    assert await _gets_in(app, second["secret"])
    fourth = ok(await client.post(_verb(made, "rotate"), json={}))
    clock.advance(_SECOND)
    working = [await _gets_in(app, one["secret"]) for one in (second, third, fourth)]
    assert working == [False, False, True]


@in_one_test("grace", ["-1s", "2592001s", "1d", 60])
async def test_a_grace_period_is_at_most_thirty_days(
    client: httpx.AsyncClient, grace: object
) -> None:
    made = await _create(client, "viewer")
    answer = await client.post(_verb(made, "rotate"), json={"gracePeriod": grace})
    assert violations(answer).keys() == {"gracePeriod"}
    ok(await client.post(_verb(made, "rotate"), json={"gracePeriod": "2592000s"}))


async def test_a_key_that_expires_is_refused_at_once_though_it_is_known(
    client: httpx.AsyncClient, app: FastAPI, clock: FixedClock
) -> None:
    made = await _create(client, "viewer", ttl="0.2s")
    assert await _gets_in(app, made["secret"])
    clock.advance(timedelta(milliseconds=199))
    assert await _gets_in(app, made["secret"])
    clock.advance(timedelta(milliseconds=1))
    assert not await _gets_in(app, made["secret"])


async def test_a_key_that_has_ended_is_not_rotated(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    expired = await _create(client, "viewer", ttl="60s")
    revoked = await _create(client, "viewer")
    ok(await client.post(_verb(revoked, "revoke")))
    clock.advance(timedelta(seconds=60))
    for key in (expired, revoked):
        assert refusal(await client.post(_verb(key, "rotate"))) == _ENDED


async def _own(client: httpx.AsyncClient) -> dict[str, Any]:
    found: dict[str, Any] = ok(await client.get(_KEYS))["keys"][-1]
    return found


async def test_the_last_key_that_manages_keys_is_not_revoked(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    own = await _own(client)
    # None of these could make another key.
    await _create(client, "editor")
    await _create(client, "admin", projects=["default"])
    await _create(client, "admin", engines=["1"])
    await _create(client, "admin", scopeConditions={"user_id": "42"})
    expiring = await _create(client, "admin", ttl="60s")
    ended = await _create(client, "admin")
    ok(await client.post(_verb(ended, "revoke")))
    clock.advance(timedelta(seconds=60))
    answer = await client.post(_verb(own, "revoke"))
    assert refusal(answer) == _LAST
    assert own["name"] in answer.json()["error"]["message"]
    ok(await client.post(_verb(expiring, "revoke")))
    ok(await client.get(_KEYS))


async def test_a_key_revokes_itself_where_another_can_manage_keys(
    client: httpx.AsyncClient, app: FastAPI, clock: FixedClock
) -> None:
    own = await _own(client)
    other = await _create(client, "viewer", permissions=["keys.manage"])
    ok(await client.post(_verb(own, "revoke")))
    clock.advance(_SECOND)
    assert not await _gets_in(app, ADMIN_KEY)
    async with client_with(app, other["secret"]) as manager:
        assert refusal(await manager.post(_verb(other, "revoke"))) == _LAST
        assert id_of(other) in {id_of(key) for key in ok(await manager.get(_KEYS))["keys"]}


async def test_the_administrators_key_can_be_rotated_away(
    client: httpx.AsyncClient, app: FastAPI, clock: FixedClock
) -> None:
    rotated = ok(await client.post(_verb(await _own(client), "rotate")))
    clock.advance(_SECOND)
    assert not await _gets_in(app, ADMIN_KEY)
    assert await _gets_in(app, rotated["secret"])
