"""What the claims of a token grant: roles and permissions, engines and projects, users."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.adapters.resources import Resources
from app.kernel.errors import Reason
from tests.support.bank import GONE, ok, refusal, retrieved
from tests.support.cases import in_one_test
from tests.support.engines import API, COLLECTION, create_engine
from tests.support.errors import refusal as full_refusal
from tests.support.keys import client_with
from tests.support.tokens import ABSENT, SUBJECT, claims, publish, sign, token_app

_INVALID = (401, "UNAUTHENTICATED", Reason.CREDENTIAL_INVALID)
_MISSING = (403, "PERMISSION_DENIED", Reason.PERMISSION_MISSING)

Opened = Callable[..., httpx.AsyncClient]


@pytest.fixture
async def opened(resources: Resources, tmp_path: Path) -> AsyncIterator[Opened]:
    """Opens a client with a token of these claims; `settings` are those of tokens."""
    file = publish(tmp_path / "jwks.json")
    clients: list[httpx.AsyncClient] = []

    def build(settings: dict[str, Any] | None = None, **given: object) -> httpx.AsyncClient:
        app = token_app(resources, file, **(settings or {}))
        clients.append(client_with(app, sign(claims(resources.clock.now(), **given))))
        return clients[-1]

    yield build
    for client in clients:
        await client.aclose()


async def status(client: httpx.AsyncClient) -> int:
    return (await client.get("/memories")).status_code


@in_one_test(
    ("roles", "can"),
    [
        (["viewer"], [True, False, False, False]),
        (["user"], [True, True, False, False]),
        (["editor"], [True, True, True, False]),
        (["admin"], [True, True, True, True]),
        ("viewer editor", [True, True, True, False]),
        (["Viewer"], [False] * 4),
        (["root"], [False] * 4),
        ([], [False] * 4),
        (ABSENT, [False] * 4),
    ],
)
async def test_a_role_allows_as_much_as_that_of_a_key(
    opened: Opened, roles: object, can: list[bool]
) -> None:
    client = opened(roles=roles)
    answers = [
        await client.get("/memories"),
        await client.post("/memories", json={"fact": "I like tea.", "scope": {"user_id": "1"}}),
        await client.delete("/memories/none"),
        await client.post(COLLECTION, json={}),
    ]
    for answer, is_allowed in zip(answers, can, strict=True):
        assert (answer.status_code == 403) is not is_allowed
        if not is_allowed:
            assert full_refusal(answer) == _MISSING


async def test_a_token_may_hold_single_permissions(opened: Opened) -> None:
    client = opened(roles=ABSENT, permissions=["memories.list", "memories.fly"])
    assert await status(client) == 200
    assert full_refusal(await client.get("/sessions")) == _MISSING


@pytest.mark.parametrize(
    ("claim", "given"),
    [
        ("realm_access.roles", {"realm_access": {"roles": ["viewer"]}}),
        ("a.b.c", {"a": {"b": {"c": ["viewer"]}}}),
        ("https://example.com/roles", {"https://example.com/roles": ["viewer"]}),
    ],
)
async def test_the_claim_of_the_roles_can_lie_anywhere(
    opened: Opened, claim: str, given: dict[str, Any]
) -> None:
    settings = {"jwt_roles_claim": claim}
    assert await status(opened(settings, roles=["admin"], **given)) == 200
    assert await status(opened(settings, roles=["admin"])) == 403


async def test_a_text_where_an_object_should_be_refuses_the_token(opened: Opened) -> None:
    client = opened({"jwt_roles_claim": "a.roles"}, a="roles")
    assert full_refusal(await client.get("/memories")) == _INVALID


async def test_only_mapped_values_are_roles_where_there_is_a_map(opened: Opened) -> None:
    settings = {"jwt_role_map": {"Memory Readers": "viewer", "ops": "admin"}}
    assert await status(opened(settings, roles=["x", "Memory Readers"])) == 200
    assert await status(opened(settings, roles=["admin"])) == 403
    assert await status(opened(settings, roles="ops")) == 200


async def test_a_token_reaches_the_engines_that_it_names(opened: Opened) -> None:
    made = await create_engine(opened())
    second = f"{API}/{made['name']}"
    second_id = second.rpartition("/")[2]
    for engines in ([second_id], [int(second_id)], f"99 {second_id}"):
        client = opened(engines=engines)
        assert refusal(await client.get("/memories")) == GONE
        assert (await client.get(f"{second}/memories")).status_code == 200
    assert refusal(await opened(engines=[]).get("/memories")) == GONE
    assert refusal(await opened(engines=["9" * 19]).get("/memories")) == GONE


async def test_a_token_reaches_the_projects_that_it_names(opened: Opened) -> None:
    assert await status(opened(projects=["default", "other"])) == 200
    assert await status(opened(projects="default")) == 200
    assert refusal(await opened(projects=["other"]).get("/memories")) == GONE
    assert refusal(await opened(projects=[]).get("/memories")) == GONE


_MINE, _YOURS = {"user_id": SUBJECT}, {"user_id": "43"}


async def _write(client: httpx.AsyncClient) -> None:
    for fact, scope in (("I like tea.", _MINE), ("I like milk.", _YOURS)):
        ok(await client.post("/memories", json={"fact": fact, "scope": scope}))


@pytest.mark.parametrize(
    ("own", "given"),
    [
        ({"jwt_condition_claims": {"user_id": "sub"}}, {}),
        ({"jwt_condition_claims": {"user_id": "who.id"}}, {"who": {"id": [SUBJECT, "x"]}}),
        ({}, {"scope_conditions": {"user_id": SUBJECT}}),
        ({}, {"scope_conditions": {"user_id": ["1", SUBJECT]}}),
        ({"jwt_conditions_claim": "bound"}, {"bound": {"user_id": SUBJECT}}),
        (
            {"jwt_condition_claims": {"user_id": "sub"}},
            {"scope_conditions": {"user_id": ["43", SUBJECT]}},
        ),
    ],
)
async def test_a_bound_token_sees_and_writes_its_user_only(
    opened: Opened, own: dict[str, Any], given: dict[str, Any]
) -> None:
    await _write(opened())
    client = opened(own, roles=["editor"], **given)
    listed = ok(await client.get("/memories"))["memories"]
    assert [memory["fact"] for memory in listed] == ["I like tea."]
    assert await retrieved(client, scope=_MINE) == ["I like tea."]
    assert await retrieved(client, scope=_YOURS) == []
    answer = await client.post("/memories", json={"fact": "x", "scope": _YOURS})
    assert refusal(answer) == GONE


async def test_a_number_is_a_value_of_a_scope(opened: Opened) -> None:
    await _write(opened())
    client = opened({"jwt_condition_claims": {"user_id": "number"}}, number=43)
    listed = ok(await client.get("/memories"))["memories"]
    assert [memory["fact"] for memory in listed] == ["I like milk."]


@in_one_test(
    ("claim", "value"),
    [
        ("roles", 7),
        ("permissions", {"memories.list": True}),
        ("projects", None),
        ("engines", "first"),
        ("scope_conditions", {}),
    ],
)
async def test_a_claim_that_cannot_be_read_refuses_the_token(
    opened: Opened, claim: str, value: Any
) -> None:
    client = opened(**{claim: value})
    assert full_refusal(await client.get("/memories")) == _INVALID


@in_one_test(
    ("own", "given"),
    [
        ({"jwt_condition_claims": {"user_id": "uid"}}, {}),
        ({"jwt_condition_claims": {"user_id": "uid"}}, {"uid": []}),
        ({"jwt_condition_claims": {"user_id": "sub"}}, {"sub": "a*"}),
        (
            {"jwt_condition_claims": {"user_id": "sub"}},
            {"scope_conditions": {"user_id": "43"}},
        ),
        ({"jwt_required_claims": ["engines"]}, {}),
        ({"jwt_required_claims": ["engines", "a.b"]}, {"engines": ["1"]}),
    ],
)
async def test_a_token_without_what_must_bind_it_is_refused(
    opened: Opened, own: dict[str, Any], given: dict[str, Any]
) -> None:
    client = opened(own, **given)
    assert full_refusal(await client.get("/memories")) == _INVALID


async def test_a_required_claim_lets_in_whoever_has_it(opened: Opened) -> None:
    settings = {"jwt_required_claims": ["engines", "a.b"]}
    assert await status(opened(settings, engines=["1"], a={"b": 0})) == 200
