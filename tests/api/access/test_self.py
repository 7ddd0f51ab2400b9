"""`GET /v1/self`: who asks, and what will work."""

from collections.abc import Mapping
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.kernel.permissions import OF_ROLE, WHOLE_ENGINE, WHOLE_SERVICE, Permission, Role
from tests.conftest import ADMIN_KEY
from tests.support.bank import Json, ok, wire
from tests.support.errors import refusal
from tests.support.keys import client_with, id_of, make_key
from tests.support.tokens import SUBJECT, claims, publish, sign, token_app

_URL = "http://test/v1/self"
_VERSION = version("open-memory-bank")
_INVALID = (401, "UNAUTHENTICATED", Reason.CREDENTIAL_INVALID)


async def asked(app: FastAPI, secret: str) -> httpx.Response:
    async with client_with(app, secret) as caller:
        return await caller.get(_URL)


def names(permissions: frozenset[Permission]) -> list[str]:
    return sorted(permission.value for permission in permissions)


async def key_told(app: FastAPI, secret: str, **fields: object) -> None:
    """See that a key of the tests is told its name, its kind and these fields, and no more."""
    told = ok(await asked(app, secret))
    assert told == {
        "name": f"keys/{id_of(secret)}",
        "kind": "KEY",
        "displayName": "a test's",
        "version": _VERSION,
        **fields,
    }


async def test_a_key_is_told_its_role_and_what_that_allows(
    app: FastAPI, database: Database, clock: FixedClock
) -> None:
    for role in Role:
        secret = await make_key(database, clock.now(), role)
        await key_told(app, secret, roles=[role.value], permissions=names(OF_ROLE[role]))
    several = await make_key(
        database, clock.now(), "user", "viewer", permissions=["metrics.get", "of.a.newer.release"]
    )
    held = OF_ROLE[Role.USER] | {Permission.METRICS_GET}
    await key_told(app, several, roles=["viewer", "user"], permissions=names(held))
    powerless = await make_key(database, clock.now())
    await key_told(app, powerless, permissions=[])
    told = ok(await asked(app, ADMIN_KEY))
    assert (told["displayName"], told["permissions"]) == ("configured", names(OF_ROLE[Role.ADMIN]))
    assert ADMIN_KEY not in str(told)


async def test_what_the_reach_of_a_key_withholds_is_left_out(
    app: FastAPI, database: Database, clock: FixedClock
) -> None:
    every = OF_ROLE[Role.ADMIN]
    bounds: list[tuple[Mapping[str, Any], Json, frozenset[Permission]]] = [
        (
            {"scope_conditions": {"user_id": ["7", "42"]}},
            {"scopeConditions": {"user_id": ["42", "7"]}},
            every - WHOLE_ENGINE - WHOLE_SERVICE,
        ),
        ({"engines": ["12", "3"]}, {"engines": ["3", "12"]}, every - WHOLE_SERVICE),
        (
            {"projects": ["b", "a"]},
            {"projects": ["a", "b"]},
            every - WHOLE_SERVICE | {Permission.ENGINES_CREATE},
        ),
        ({"engines": []}, {"engines": []}, every - WHOLE_SERVICE),
    ]
    for bound, told, left in bounds:
        secret = await make_key(database, clock.now(), "admin", **bound)
        await key_told(app, secret, roles=["admin"], permissions=names(left), **told)


async def test_a_key_is_told_when_it_or_its_secret_ends(
    app: FastAPI, client: httpx.AsyncClient, clock: FixedClock
) -> None:
    made = ok(
        await client.post(
            "http://test/v1/keys", json={"displayName": "k", "roles": ["viewer"], "ttl": "7200s"}
        )
    )
    told = ok(await asked(app, made["secret"]))
    assert told["expireTime"] == made["expireTime"] == wire(clock.now() + timedelta(hours=2))
    rotated = ok(
        await client.post(f"http://test/v1/{made['name']}:rotate", json={"gracePeriod": "3600s"})
    )
    clock.advance(timedelta(seconds=1))
    ends = wire(clock.now() + timedelta(seconds=3_599))
    assert ok(await asked(app, made["secret"]))["expireTime"] == ends
    assert ok(await asked(app, rotated["secret"]))["expireTime"] == made["expireTime"]
    ok(await client.post(f"http://test/v1/{made['name']}:revoke"))
    clock.advance(timedelta(seconds=1))
    for secret in (made["secret"], rotated["secret"], "nobody's"):
        assert refusal(await asked(app, secret)) == _INVALID


async def test_a_token_is_told_its_subject_and_its_own_end(
    resources: Resources, tmp_path: Path, clock: FixedClock
) -> None:
    app = token_app(resources, publish(tmp_path / "jwks.json"))
    bound = {"roles": ["viewer", "editor"], "scope_conditions": {"user_id": "42"}}
    told = ok(await asked(app, sign(claims(clock.now(), **bound))))
    assert told == {
        "name": f"jwt:{SUBJECT}",
        "kind": "TOKEN",
        "roles": ["viewer", "editor"],
        "permissions": names(OF_ROLE[Role.EDITOR] - WHOLE_ENGINE),
        "scopeConditions": {"user_id": ["42"]},
        "expireTime": wire(clock.now() + timedelta(minutes=5)),
        "version": _VERSION,
    }
