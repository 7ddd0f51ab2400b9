"""API keys as a resource: made, read and listed by those who manage them."""

from datetime import timedelta
from typing import Any

import httpx
from fastapi import FastAPI
from sqlalchemy import text

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason
from app.kernel.permissions import Permission, Role
from tests.support.bank import id_of, ok
from tests.support.cases import in_one_test
from tests.support.engines import NOW
from tests.support.errors import BAD_FIELD, NO_PATH, NOT_FOUND, refusal, violations
from tests.support.keys import client_with

_KEYS = "http://test/v1/keys"
_ENGINE = "projects/default/locations/local/reasoningEngines/1"


async def _create(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    return ok(await client.post(_KEYS, json={"displayName": "one", "roles": ["user"], **fields}))


async def _own_id(client: httpx.AsyncClient) -> str:
    """Return the id of the key that the client has: the first that was made."""
    return id_of(ok(await client.get(_KEYS))["keys"][-1])


async def test_a_key_is_made_and_read_without_its_secret(
    client: httpx.AsyncClient, app: FastAPI
) -> None:
    creator = await _own_id(client)
    made = await _create(
        client,
        displayName="travel agent",
        roles=["user"],
        permissions=["metrics.get", "artifacts.write"],
        projects=["default", "other"],
        engines=["1", _ENGINE, "reasoningEngines/7", "memoryBanks/8", 9],
        scopeConditions={"user_id": "42", "app": ["a", "b", "a"]},
        ttl="3600s",
    )
    secret = made.pop("secret")
    name = made.pop("name")
    assert name.startswith("keys/")
    assert made == {
        "displayName": "travel agent",
        "roles": ["user"],
        "permissions": ["metrics.get", "artifacts.write"],
        "projects": ["default", "other"],
        "engines": ["1", "7", "8", "9"],
        "scopeConditions": {"user_id": ["42"], "app": ["a", "b"]},
        "creator": creator,
        "createTime": NOW,
        "expireTime": "2026-01-15T13:00:00Z",
    }
    assert ok(await client.get(f"http://test/v1/{name}")) == {"name": name, **made}
    async with client_with(app, secret) as holder:
        assert ok(await holder.get(f"http://test/v1/{_ENGINE}"))["name"] == _ENGINE
        assert refusal(await holder.get("http://test/v1/reasoningEngines/5")) == NOT_FOUND


async def test_an_unbound_key_says_nothing_of_bounds(client: httpx.AsyncClient) -> None:
    made = await _create(client, roles=["viewer"], expireTime="2026-01-16T00:00:00Z")
    assert made.keys() == {
        "name",
        "displayName",
        "roles",
        "creator",
        "createTime",
        "expireTime",
        "secret",
    }


async def test_a_key_can_hold_single_permissions_only(
    client: httpx.AsyncClient, app: FastAPI
) -> None:
    made = await _create(client, roles=None, permissions=["metrics.get"])
    assert "roles" not in made
    async with client_with(app, made["secret"], "http://test") as scraper:
        assert (await scraper.get("/metrics")).status_code == 200
        denied = await scraper.get("/v1/reasoningEngines/1")
        assert refusal(denied)[2] is Reason.PERMISSION_MISSING


async def test_both_versions_and_spellings_of_fields_are_one_api(
    client: httpx.AsyncClient,
) -> None:
    body = {"display_name": "one", "roles": ["user"], "scope_conditions": {"user_id": "42"}}
    made = ok(await client.post("http://test/v1beta1/keys", json=body))
    del made["secret"]
    for version in ("v1", "v1beta1"):
        assert ok(await client.get(f"http://test/{version}/{made['name']}")) == made
        page = ok(await client.get(f"http://test/{version}/keys", params={"page_size": 1}))
        assert page["keys"] == [made]


async def test_what_only_answers_have_is_ignored(client: httpx.AsyncClient) -> None:
    past = "2020-01-01T00:00:00Z"
    sent = {"name": "keys/7", "createTime": past, "revokeTime": past, "lastUseTime": past}
    made = await _create(client, **sent, creator="x")
    assert made["name"] != "keys/7"
    assert made["createTime"] == NOW
    assert "revokeTime" not in made


async def test_no_secret_is_stored_or_answered_again(
    client: httpx.AsyncClient, database: Database
) -> None:
    made = await _create(client)
    async with database.snapshot() as session:
        for table in ("api_keys", "api_key_secrets"):
            rows = await session.execute(text(f"select t::text from {table} t"))
            assert all(made["secret"][4:] not in row for row in rows.scalars())
    assert "secret" not in (await client.get(_KEYS)).text
    assert "secret" not in (await client.get(f"http://test/v1/{made['name']}")).text


async def test_keys_are_listed_newest_first_in_pages(
    client: httpx.AsyncClient, clock: FixedClock
) -> None:
    made = []
    for number in range(4):
        clock.advance(timedelta(seconds=number % 2))
        made.append((await _create(client, displayName=f"key {number}"))["name"])
    found, params = [], {"pageSize": 2}
    for _ in range(3):
        page = ok(await client.get(_KEYS, params=params))
        found += [key["name"] for key in page["keys"]]
        params = {"pageSize": 2, "pageToken": page.get("nextPageToken", "")}
    assert found[:4] == made[::-1]
    assert len(found) == 5
    assert not params["pageToken"]


async def test_keys_are_found_by_the_scopes_that_bind_them(client: httpx.AsyncClient) -> None:
    bounds = [{"user_id": ["4", "7"]}, {"user_id": ["7"], "app": ["x"]}, {"app": ["x"]}, {}]
    names = []
    for bound in bounds:
        conditions = {"scopeConditions": bound} if bound else {}
        names.append((await _create(client, **conditions))["name"])

    async def found(text: str) -> list[int]:
        listed = ok(await client.get(_KEYS, params={"filter": text}))["keys"]
        return sorted(names.index(key["name"]) for key in listed if key["name"] in names)

    assert await found('scope_conditions."user_id"="7"') == [0, 1]
    assert await found('scopeConditions.user_id="4"') == [0]
    assert await found("scope_conditions.app=x AND scope_conditions.user_id=7") == [1]
    assert await found("scope_conditions.user_id!=7") == [2, 3]
    assert await found("scope_conditions.app:*") == [1, 2]
    pages: dict[str, str | int] = {"filter": "scope_conditions.app=x", "pageSize": 1}
    first = ok(await client.get(_KEYS, params=pages))
    token = {"pageToken": first["nextPageToken"]}
    second = ok(await client.get(_KEYS, params={**pages, **token}))
    assert [key["name"] for key in first["keys"] + second["keys"]] == [names[2], names[1]]
    refused: list[dict[str, str]] = [token, {"filter": "roles=admin"}]
    for params in refused:
        assert (await client.get(_KEYS, params=params)).status_code == 400


async def test_a_page_token_of_another_list_is_refused(client: httpx.AsyncClient) -> None:
    for _ in range(2):
        await client.post("/memories", json={"fact": "I like tea.", "scope": {"user_id": "42"}})
    token = ok(await client.get("/memories", params={"pageSize": 1}))["nextPageToken"]
    answer = await client.get(_KEYS, params={"pageToken": token})
    assert refusal(answer)[2] is Reason.PAGE_TOKEN_INVALID


_ROLES = "must be one of viewer, user, editor, admin"
_SIZE = "must have at least 1 item; got 0."
_VALUE = "must have 1 to 1024 characters, without *"


@in_one_test(
    ("fields", "field", "description"),
    [
        ({"displayName": None}, "displayName", "must be a string."),
        ({"displayName": ""}, "displayName", "must have at least 1 character."),
        ({"displayName": " "}, "displayName", "must be printable, and not blank"),
        ({"displayName": "a\x1b[2Jb"}, "displayName", "must be printable, and not blank"),
        ({"displayName": "x" * 257}, "displayName", "must have at most 256 characters."),
        ({"roles": []}, "roles", _SIZE),
        ({"roles": ["owner"]}, "roles[0]", _ROLES),
        ({"roles": ["user", 0]}, "roles[1]", _ROLES),
        ({"roles": ["USER"]}, "roles[0]", _ROLES),
        ({"roles": "user"}, "roles", "must be a list."),
        ({"roles": None}, "body", "must have at least one of roles and permissions"),
        ({"permissions": []}, "permissions", _SIZE),
        ({"projects": []}, "projects", _SIZE),
        ({"projects": ["-"]}, "projects[0]", "must be the id of a project, without a slash"),
        ({"projects": ["a/b"]}, "projects[0]", "must be the id of a project, without a slash"),
        ({"projects": [""]}, "projects[0]", "must be the id of a project, without a slash"),
        ({"engines": []}, "engines", _SIZE),
        ({"engines": ["01"]}, "engines[0]", "must be the id or the name of an engine"),
        ({"engines": ["-"]}, "engines[0]", "must be the id or the name of an engine"),
        ({"engines": ["1", True]}, "engines[1]", "must be the id or the name of an engine"),
        ({"engines": [2**63]}, "engines[0]", "must be the id or the name of an engine"),
        ({"engines": ["memories/1"]}, "engines[0]", "must be the id or the name of an engine"),
        ({"scopeConditions": {}}, "scopeConditions", "must have 1 to 5 keys"),
        (
            {"scopeConditions": {str(n): "x" for n in range(6)}},
            "scopeConditions",
            "must have 1 to 5 keys",
        ),
        (
            {"scopeConditions": {"": "x"}},
            "scopeConditions",
            "must have keys of 1 to 256 characters",
        ),
        ({"scopeConditions": {"user_id": []}}, "scopeConditions.user_id", _SIZE),
        ({"scopeConditions": {"user_id": ""}}, "scopeConditions.user_id[0]", _VALUE),
        ({"scopeConditions": {"user_id": ["4", "4*"]}}, "scopeConditions.user_id[1]", _VALUE),
        ({"scopeConditions": {"user_id": "x" * 1025}}, "scopeConditions.user_id[0]", _VALUE),
        (
            {"scopeConditions": {"user_id": 42}},
            "scopeConditions.user_id",
            "must be a list.",
        ),
        (
            {"scopeConditions": {"user_id": [str(n) for n in range(101)]}},
            "scopeConditions.user_id",
            "must have at most 100 items; got 101.",
        ),
        ({"ttl": "0s"}, "ttl", 'must be longer than "0s"'),
        ({"ttl": "315576000000s"}, "ttl", "must be a duration that ends before the year 10000."),
        ({"expireTime": NOW}, "expireTime", "must lie in the future."),
        (
            {"ttl": "1s", "expireTime": "2030-01-01T00:00:00Z"},
            "body",
            "must have at most one of ttl and expireTime",
        ),
        (
            {"secret": "omb_mine"},
            "secret",
            (
                "is not a field of this message; it has displayName, engines, expireTime,"
                " permissions, projects, roles, scopeConditions, ttl."
            ),
        ),
    ],
)
async def test_what_no_key_can_be_is_refused_by_its_field(
    client: httpx.AsyncClient, fields: dict[str, Any], field: str, description: str
) -> None:
    body = {"displayName": "one", "roles": ["user"], **fields}
    answer = await client.post(_KEYS, json=body)
    assert refusal(answer) == BAD_FIELD
    assert violations(answer) == {field: description}
    assert len(ok(await client.get(_KEYS))["keys"]) == 1


async def test_an_unknown_permission_is_told_those_that_exist(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        _KEYS, json={"displayName": "one", "permissions": ["memories.get", "memories.read"]}
    )
    (description,) = violations(answer).values()
    assert violations(answer).keys() == {"permissions[1]"}
    assert all(permission.value in description for permission in Permission)


async def test_every_role_and_permission_can_be_given(client: httpx.AsyncClient) -> None:
    roles, permissions = list(map(str, Role)), list(map(str, Permission))
    made = await _create(client, roles=roles, permissions=permissions)
    assert (made["roles"], made["permissions"]) == (roles, permissions)


@in_one_test("verb", ["", ":revoke", ":rotate"])
@in_one_test("key_id", ["1", "UPPER", "a_b", "x" * 64])
async def test_a_key_that_does_not_exist_is_not_found(
    client: httpx.AsyncClient, verb: str, key_id: str
) -> None:
    method = "POST" if verb else "GET"
    assert refusal(await client.request(method, f"{_KEYS}/{key_id}{verb}")) == NOT_FOUND


async def test_a_key_is_neither_changed_nor_deleted(client: httpx.AsyncClient) -> None:
    made = await _create(client)
    for method in ("DELETE", "PATCH", "PUT"):
        answer = await client.request(method, f"http://test/v1/{made['name']}", json={})
        assert refusal(answer)[2] is Reason.METHOD_NOT_ALLOWED
        assert answer.headers["allow"] == "GET"


async def test_keys_lie_in_no_project(client: httpx.AsyncClient) -> None:
    answer = await client.get("http://test/v1/projects/default/locations/local/keys")
    assert refusal(answer) == NO_PATH


@in_one_test(
    "fields",
    [
        {"roles": ["editor"]},
        {"roles": ["admin"], "projects": ["default"]},
        {"roles": ["admin"], "engines": ["1"]},
        {"roles": ["admin"], "scopeConditions": {"user_id": "42"}},
    ],
)
async def test_only_an_unbound_administrator_manages_keys(
    client: httpx.AsyncClient, app: FastAPI, fields: dict[str, Any]
) -> None:
    made = await _create(client, **fields)
    one = f"http://test/v1/{made['name']}"
    async with client_with(app, made["secret"]) as holder:
        for method, url in (
            ("POST", _KEYS),
            ("GET", _KEYS),
            ("GET", one),
            ("POST", f"{one}:revoke"),
            ("POST", f"{one}:rotate"),
        ):
            answer = await holder.request(method, url, json={} if method == "POST" else None)
            assert refusal(answer)[2] is Reason.PERMISSION_MISSING, (method, url)
    assert "revokeTime" not in ok(await client.get(one))


async def test_a_key_that_manages_keys_needs_no_role(
    client: httpx.AsyncClient, app: FastAPI
) -> None:
    made = await _create(client, roles=None, permissions=["keys.manage"])
    async with client_with(app, made["secret"]) as manager:
        assert len(ok(await manager.get(_KEYS))["keys"]) == 2
        assert refusal(await manager.get("/memories"))[2] is Reason.PERMISSION_MISSING


async def test_keys_are_found_by_their_ids(client: httpx.AsyncClient) -> None:
    body = {"displayName": "one", "roles": ["viewer"]}
    one, two = [ok(await client.post(_KEYS, json=body))["name"] for _ in range(2)]
    chosen = " OR ".join(f'key_id="{id_of({"name": name})}"' for name in (one, two, "keys/none"))
    listed = ok(await client.get(_KEYS, params={"filter": chosen}))["keys"]
    assert [key["name"] for key in listed] == [two, one]
