"""Who gets in. The check stands before every route, so the walk below is over all of them."""

import re
from base64 import b64encode
from collections.abc import AsyncIterator
from datetime import timedelta
from hashlib import sha256

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client import REGISTRY
from sqlalchemy import select, text
from starlette.routing import Mount

from app.adapters.db.session import Database
from app.kernel.auth import Caller
from app.kernel.clock import FixedClock
from app.kernel.errors import Reason, Unauthenticated
from app.platform.access.services.access import AccessService
from app.platform.access.store import ApiKeyRow, ApiKeySecretRow
from app.web.auth import PUBLIC_PATHS
from tests.conftest import ADMIN_KEY
from tests.support.cases import in_one_test
from tests.support.engines import FIRST
from tests.support.errors import refusal

_MISSING = (401, "UNAUTHENTICATED", Reason.CREDENTIAL_MISSING)
_INVALID = (401, "UNAUTHENTICATED", Reason.CREDENTIAL_INVALID)
_PARAMETER = re.compile(r"\{[a-z]+\}")


@pytest.fixture
async def stranger(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client without a key."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as found:
        yield found


def _routes(app: FastAPI) -> set[tuple[str, str]]:
    """Return method and path of everything that the application can be asked for."""
    found = {
        (method, _PARAMETER.sub("1", route.path))
        for route in app.state.routes
        for method in route.methods
    }
    mounts = [f"{route.path}/x" for route in app.routes if isinstance(route, Mount)]
    paths = [getattr(route, "path", "") for route in app.routes if not isinstance(route, Mount)]
    return found | {("GET", path) for path in [*mounts, *paths] if path}


async def test_no_route_answers_without_a_key(app: FastAPI, stranger: httpx.AsyncClient) -> None:
    routes = _routes(app)
    asked = {path for _, path in routes}
    assert {"/docs", "/openapi.json", "/metrics", "/docs/assets/x"} <= asked
    assert len(routes) > 35
    for method, path in routes:
        if path in PUBLIC_PATHS:
            continue
        answer = await stranger.request(method, path, json={})
        assert refusal(answer) == _MISSING, (method, path)
        assert answer.headers["www-authenticate"].startswith("Bearer")
        answer = await stranger.request(method, path, headers={"Authorization": "Bearer wrong"})
        assert refusal(answer) == _INVALID, (method, path)


async def test_only_the_front_page_and_the_probes_are_public(stranger: httpx.AsyncClient) -> None:
    assert {"/", "/healthz", "/readyz"} == PUBLIC_PATHS
    for path in PUBLIC_PATHS:
        assert (await stranger.get(path)).status_code == 200


@in_one_test(
    "path", ["/healthz//", "/healthz/x", "/readyz/../metrics", "//healthz", "/HEALTHZ", "/x"]
)
async def test_no_spelling_of_a_public_path_opens_another(
    stranger: httpx.AsyncClient, path: str
) -> None:
    assert refusal(await stranger.get(f"http://test{path}")) == _MISSING


async def test_a_route_that_is_added_later_is_protected_too(
    app: FastAPI, stranger: httpx.AsyncClient
) -> None:
    @app.get("/forgotten")
    async def forgotten() -> str:
        return "secret"

    assert refusal(await stranger.get("/forgotten")) == _MISSING
    answer = await stranger.get("/forgotten", headers={"x-goog-api-key": ADMIN_KEY})
    assert answer.json() == "secret"


async def test_a_path_and_a_method_that_are_not_served_need_a_key_too(
    stranger: httpx.AsyncClient,
) -> None:
    assert refusal(await stranger.get("/nothing")) == _MISSING
    assert refusal(await stranger.put(FIRST)) == _MISSING


async def test_a_bad_body_is_not_even_read_without_a_key(stranger: httpx.AsyncClient) -> None:
    assert refusal(await stranger.post(f"{FIRST}/memories", content=b"{")) == _MISSING


def _basic(credentials: str) -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(credentials.encode()).decode()}"}


@in_one_test(
    "headers",
    [
        {"Authorization": f"Bearer {ADMIN_KEY}"},
        {"Authorization": f"bearer   {ADMIN_KEY} "},
        {"x-goog-api-key": ADMIN_KEY},
        {"X-Goog-Api-Key": ADMIN_KEY, "Authorization": "Bearer of-another-kind"},
        {"X-Goog-Api-Key": ADMIN_KEY, "Authorization": "Basic !!!"},
        {"X-Goog-Api-Key": "", "Authorization": f"Bearer {ADMIN_KEY}"},
        _basic(f"anyone:{ADMIN_KEY}"),
        _basic(f":{ADMIN_KEY}"),
    ],
)
async def test_a_key_is_taken_from_each_of_its_places(
    stranger: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    assert (await stranger.get(FIRST, headers=headers)).status_code == 200


@in_one_test(
    ("headers", "expected"),
    [
        ({"Authorization": ""}, _MISSING),
        ({"Authorization": "Bearer"}, _MISSING),
        ({"Authorization": "Bearer  "}, _MISSING),
        ({"Authorization": ADMIN_KEY}, _MISSING),
        ({"Authorization": f"Digest {ADMIN_KEY}"}, _MISSING),
        ({"x-goog-api-key": ""}, _MISSING),
        ({"x-goog-api-key": ADMIN_KEY + "x"}, _INVALID),
        ({"x-goog-api-key": "k" * 100_000}, _INVALID),
        ({"x-goog-api-key": "wrong", "Authorization": f"Bearer {ADMIN_KEY}"}, _INVALID),
        ({"Authorization": f"Bearer {ADMIN_KEY} {ADMIN_KEY}"}, _INVALID),
        ({"Authorization": "Basic !!!"}, _INVALID),
        ({"Authorization": "Basic /w=="}, _INVALID),
        (_basic(ADMIN_KEY), _INVALID),
        (_basic(f"{ADMIN_KEY}:"), _INVALID),
    ],
)
async def test_what_is_no_key_is_refused(
    stranger: httpx.AsyncClient, headers: dict[str, str], expected: tuple[int, str, Reason]
) -> None:
    assert refusal(await stranger.get(FIRST, headers=headers)) == expected


@pytest.mark.parametrize("name", [b"x-goog-api-key", b"authorization"])
async def test_which_of_several_keys_counts_is_not_guessed(
    stranger: httpx.AsyncClient, name: bytes
) -> None:
    """What stands before this service may have looked at the other one."""
    good = ADMIN_KEY.encode() if name == b"x-goog-api-key" else f"Bearer {ADMIN_KEY}".encode()
    for headers in ([(name, good), (name, b"Bearer other")], [(name, good), (name, good)]):
        assert refusal(await stranger.get(FIRST, headers=headers)) == _INVALID


@pytest.mark.parametrize(("length", "hashed"), [(16 * 1024, 3), (16 * 1024 + 1, 0)])
async def test_a_credential_of_any_length_is_refused_and_an_overlong_one_not_even_hashed(
    app: FastAPI, stranger: httpx.AsyncClient, length: int, hashed: int
) -> None:
    asked: list[str] = []

    class Noting:
        async def authenticate(self, secret: str) -> Caller:
            asked.append(secret)
            raise Unauthenticated("No.", Reason.CREDENTIAL_INVALID)

    app.state.authenticator = Noting()
    for headers in (
        {"x-goog-api-key": "k" * length},
        {"Authorization": "Bearer " + "k" * (length - 7)},
        {"Authorization": "Basic " + "k" * (length - 6)},
    ):
        assert refusal(await stranger.get(FIRST, headers=headers)) == _INVALID
    assert len(asked) == hashed


async def test_a_refusal_says_how_to_authenticate(stranger: httpx.AsyncClient) -> None:
    """Sources: RFC 6750, section 3; RFC 7617, section 2.1."""
    basic = 'Basic realm="Open Memory Bank", charset="UTF-8"'
    answer = await stranger.get(FIRST)
    bearer = 'Bearer realm="Open Memory Bank"'
    assert answer.headers.get_list("www-authenticate") == [bearer, basic]
    answer = await stranger.get(FIRST, headers={"x-goog-api-key": "wrong"})
    invalid = bearer + ', error="invalid_token"'
    assert answer.headers.get_list("www-authenticate") == [invalid, basic]


async def test_failures_are_counted_by_their_reason(stranger: httpx.AsyncClient) -> None:
    def counted(reason: Reason) -> float:
        name = "memory_bank_authentication_failures_total"
        return REGISTRY.get_sample_value(name, {"reason": reason}) or 0

    before = [counted(reason) for reason in (Reason.CREDENTIAL_MISSING, Reason.CREDENTIAL_INVALID)]
    await stranger.get(FIRST)
    for _ in range(2):
        await stranger.get(FIRST, headers={"x-goog-api-key": "wrong"})
    await stranger.get(FIRST, headers={"x-goog-api-key": ADMIN_KEY})
    after = [counted(reason) for reason in (Reason.CREDENTIAL_MISSING, Reason.CREDENTIAL_INVALID)]
    assert [after[0] - before[0], after[1] - before[1]] == [1, 2]


async def test_a_key_of_other_bytes_than_ascii_is_refused(stranger: httpx.AsyncClient) -> None:
    headers = [(b"x-goog-api-key", b"\xff\xfek\xc3\xa9y")]
    assert refusal(await stranger.get(FIRST, headers=headers)) == _INVALID


async def test_a_key_in_the_query_is_no_key(stranger: httpx.AsyncClient) -> None:
    """It would end up in the logs of every proxy on the way."""
    assert refusal(await stranger.get(FIRST, params={"key": ADMIN_KEY})) == _MISSING


async def test_a_revoked_key_stops_working_within_a_second(
    client: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    assert (await client.get(FIRST)).status_code == 200
    async with database.transaction() as session:
        await session.execute(text("delete from api_keys"))
    clock.advance(timedelta(seconds=1))
    assert refusal(await client.get(FIRST)) == _INVALID


async def test_the_first_key_is_made_once_and_kept_as_a_hash_only(
    database: Database, clock: FixedClock
) -> None:
    access = AccessService(database, clock)
    made = await access.ensure_first_key(None)
    assert made is not None
    assert re.fullmatch(r"omb_[0-9A-Za-z]{49}", made)
    assert await access.ensure_first_key(None) is None
    async with database.snapshot() as session:
        (row,) = (await session.execute(select(ApiKeyRow))).scalars()
        (secret,) = (await session.execute(select(ApiKeySecretRow))).scalars()
        dumped = await session.execute(
            text("select k::text || s::text from api_keys k, api_key_secrets s")
        )
        dump = dumped.scalar_one()
    assert secret.secret_hash == sha256(made.encode()).digest()
    assert made not in dump
    assert made.removeprefix("omb_") not in dump
    assert (await access.authenticate(made)).key_id == row.key_id


async def test_a_configured_key_works_beside_the_others(
    database: Database, clock: FixedClock
) -> None:
    access = AccessService(database, clock)
    made = await access.ensure_first_key(None)
    assert made is not None
    assert await access.ensure_first_key("chosen") is None
    assert await access.ensure_first_key("chosen") is None
    known = {(await access.authenticate(key)).key_id for key in (made, "chosen")}
    assert len(known) == 2


async def test_a_new_configured_key_revokes_the_one_before_and_no_other(
    database: Database, clock: FixedClock
) -> None:
    access = AccessService(database, clock)
    made = await access.ensure_first_key(None)
    assert made is not None
    await access.ensure_first_key("leaked")
    await access.authenticate("leaked")
    await access.ensure_first_key("new")
    clock.advance(timedelta(seconds=1))
    with pytest.raises(Unauthenticated):
        await access.authenticate("leaked")
    known = {(await access.authenticate(key)).key_id for key in ("new", made)}
    assert len(known) == 2
