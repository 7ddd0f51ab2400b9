"""Signing in and out of the console: cookies, forms, ends of sessions, and what is refused."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from time import monotonic

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from app.adapters.db.engine import open_engine
from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.kernel.clock import FixedClock
from app.platform.audit.store import ServiceEventRow
from app.process.main import create_app
from app.surfaces.console import sessions
from app.surfaces.console.store import ConsoleSessionRow
from tests.api.console.conftest import SignedIn
from tests.conftest import ADMIN_KEY
from tests.support.bank import count, ok
from tests.support.cases import in_one_test
from tests.support.console import MEMORIES, Page, browser, page, sign_in, submit
from tests.support.keys import client_with, id_of, make_key
from tests.support.operations import create_memory
from tests.support.sweeping import sweep
from tests.support.tokens import claims, publish, sign, token_app

SIGN_IN = "/console/sign-in"
TO_MEMORIES = f"{SIGN_IN}?next=%2Fconsole%2Fe%2F1%2Fmemories"
COOKIE = "memory-bank-console"


async def test_a_key_opens_a_session_that_signing_out_ends(
    visitor: httpx.AsyncClient, database: Database
) -> None:
    answer = await visitor.post(SIGN_IN, data={"key": f" {ADMIN_KEY}\r\n"})
    cookie = answer.headers["set-cookie"]
    assert answer.status_code == 303
    assert cookie.startswith(f"{COOKIE}=")
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    async with database.snapshot() as session:
        [row] = (await session.scalars(select(ConsoleSessionRow))).all()
    assert ADMIN_KEY not in repr(vars(row))
    assert visitor.cookies[COOKIE] not in repr(vars(row))
    left = await submit(visitor, "/console", "/console/sign-out")
    assert (left.status_code, left.headers["location"]) == (303, SIGN_IN)
    assert await count(database, ConsoleSessionRow) == (0,)
    assert (await visitor.get("/console")).headers["location"] == SIGN_IN


async def test_signing_out_everywhere_ends_every_session_of_the_key_alone(
    app: FastAPI, database: Database, clock: FixedClock, signed_in: SignedIn
) -> None:
    other = await signed_in("viewer")
    secret = await make_key(database, clock.now(), "viewer")
    async with browser(app) as first, browser(app) as second:
        await sign_in(first, secret)
        await sign_in(second, secret)
        form = (await page(first, "/console")).forms["/console/sign-out"]
        await first.post("/console/sign-out", data={**form, "everywhere": "true"})
        assert (await second.get("/console")).status_code == 303
    await page(other, "/console")


async def test_a_wrong_key_is_told_so_without_a_hint_and_leaves_nothing(
    visitor: httpx.AsyncClient, database: Database
) -> None:
    shown = set()
    for key in ("", "omb_x", "x" * 50_000, "a.b.c", ADMIN_KEY[:-1]):
        answer = await visitor.post(SIGN_IN, data={"key": key})
        assert (answer.status_code, "www-authenticate" in answer.headers) == (403, False)
        assert "set-cookie" not in answer.headers
        shown.add(Page(answer).text)
    assert len(shown) == 1
    assert await count(database, ConsoleSessionRow) == (0,)
    async with database.snapshot() as session:
        statement = select(ServiceEventRow.method, ServiceEventRow.caller, ServiceEventRow.result)
        logged = [tuple(row) for row in await session.execute(statement)]
    # The first alone.
    assert [row for row in logged if row[0] == sessions.SIGN_IN] == [
        (sessions.SIGN_IN, sessions.UNKNOWN, "UNAUTHENTICATED")
    ]


@pytest.mark.alone
async def test_after_five_wrong_keys_each_answer_waits_but_not_that_to_a_right_one(
    app: FastAPI, visitor: httpx.AsyncClient
) -> None:
    wrong = partial(visitor.post, SIGN_IN, data={"key": "omb_x"})
    began = monotonic()
    for _ in range(5):
        assert (await wrong()).status_code == 403
    assert monotonic() - began < 1
    began = monotonic()
    waiting = asyncio.gather(*(wrong() for _ in range(10)))
    await asyncio.sleep(0.3)
    await sign_in(visitor, ADMIN_KEY)
    async with browser(app, client=("192.0.2.7", 1)) as elsewhere:
        assert (await elsewhere.post(SIGN_IN, data={"key": "omb_x"})).status_code == 403
    assert not waiting.done()
    answers = await waiting
    assert monotonic() - began >= 1
    assert sorted(answer.status_code for answer in answers) == [403] * 8 + [429] * 2
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert "too many wrong keys arrive at once" in Page(refused).text


async def test_after_the_sign_in_one_is_where_one_wanted_to_be(visitor: httpx.AsyncClient) -> None:
    wanted = f"{MEMORIES}?text=a%20b&page=x%2Fy"
    asked = await visitor.get(wanted)
    form = (await page(visitor, asked.headers["location"])).forms[SIGN_IN]
    failed = Page(await visitor.post(SIGN_IN, data={**form, "key": "omb_x"})).forms[SIGN_IN]
    answer = await visitor.post(SIGN_IN, data={**failed, "key": ADMIN_KEY})
    assert (answer.status_code, answer.headers["location"]) == (303, wanted)
    again = await visitor.get(asked.headers["location"])
    assert again.headers["location"] == wanted


@in_one_test(
    "wanted",
    [
        "https://attacker.example/console",
        "//attacker.example/console",
        "/\\attacker.example",
        "/console\\..\\",
        "/console.attacker.example",
        "/consoles",
        "/console/\r\nSet-Cookie: a=b",
        "/console/ä",
        "/v1/keys",
        "/console/sign-out",
        "javascript:alert(1)",
        f"/console/{'x' * 9_000}",
    ],
)
async def test_a_sign_in_leads_nowhere_but_to_pages_of_the_console(
    app: FastAPI, wanted: str
) -> None:
    async with browser(app) as visitor:
        answer = await visitor.post(SIGN_IN, data={"key": ADMIN_KEY, "next": wanted})
        assert (answer.status_code, answer.headers["location"]) == (303, "/console")
        again = await visitor.get(SIGN_IN, params={"next": wanted})
        assert again.headers["location"] == "/console"


async def test_a_part_of_a_page_leads_back_to_the_whole_page(visitor: httpx.AsyncClient) -> None:
    current = {"HX-Request": "true", "HX-Current-URL": f"http://127.0.0.1:8000{MEMORIES}?text=a"}
    answer = await visitor.get("/console/e/1/counts", headers=current)
    assert answer.headers["hx-redirect"] == f"{TO_MEMORIES}%3Ftext%3Da"


async def test_a_revoked_key_ends_its_session_at_the_next_request(
    app: FastAPI, database: Database, clock: FixedClock
) -> None:
    secret = await make_key(database, clock.now(), "admin")
    async with browser(app) as open_one, client_with(app, ADMIN_KEY, "http://test") as admin:
        await sign_in(open_one, secret)
        ok(await admin.post(f"/v1/keys/{id_of(secret)}:revoke", json={}))
        clock.advance(timedelta(seconds=1))
        answer = await open_one.get(MEMORIES)
        part = await open_one.get(MEMORIES, headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers["location"]) == (303, TO_MEMORIES)
    assert (part.headers["hx-redirect"], part.text) == (SIGN_IN, "")
    assert await count(database, ConsoleSessionRow) == (0,)


async def test_a_session_ends_when_it_is_idle_and_at_the_end_of_its_life(
    app: FastAPI, visitor: httpx.AsyncClient, clock: FixedClock, resources: Resources
) -> None:
    await sign_in(visitor, ADMIN_KEY)
    for _ in range(7):
        clock.advance(timedelta(minutes=59))
        await page(visitor, "/console")
    clock.advance(timedelta(minutes=59))
    await page(visitor, "/console")
    clock.advance(timedelta(minutes=10))
    assert (await visitor.get("/console")).status_code == 303, "eight hours have passed"
    async with browser(app) as idle:
        await sign_in(idle, ADMIN_KEY)
        clock.advance(timedelta(minutes=60))
        assert (await idle.get("/console")).status_code == 303
    assert await sweep(resources, "ended sessions of the console") == 2


async def test_the_cookie_is_secure_wherever_others_could_read_it(
    resources: Resources,
) -> None:
    plain = _with(resources, console_plain_http=True)
    secure = ("__Host-memory-bank", True)
    for resource, address, expected, words in (
        (resources, "http://localhost", (COOKIE, False), ""),
        (resources, "http://[::1]:8000", (COOKIE, False), ""),
        (resources, "https://memory.example.com", secure, ""),
        (resources, "http://192.168.1.5:8000", secure, "HTTPS, or the loopback address"),
        (plain, "http://192.168.1.5:8000", (COOKIE, False), "Without TLS"),
        (plain, "https://memory.example.com", secure, ""),
    ):
        async with browser(create_app(resource), address) as client:
            told = (await page(client, SIGN_IN)).text
            cookie = (await client.post(SIGN_IN, data={"key": ADMIN_KEY})).headers["set-cookie"]
        assert (cookie.partition("=")[0], "Secure" in cookie) == expected, address
        assert words in told
        assert ("TLS" in told or "HTTPS" in told) == bool(words), address


async def test_only_the_cookie_that_the_request_may_bear_is_read(
    app: FastAPI, visitor: httpx.AsyncClient
) -> None:
    """One without the prefix may have been set by another host of the domain."""
    await sign_in(visitor, ADMIN_KEY)
    value = visitor.cookies[COOKIE]
    async with browser(app, "https://memory.example.com") as remote:
        remote.cookies.set(COOKIE, value)
        assert (await remote.get("/console")).status_code == 303
        remote.cookies.set("__Host-memory-bank", value)
        await page(remote, "/console")


async def test_commands_send_the_key_no_other_way_than_the_browser(
    app: FastAPI, visitor: httpx.AsyncClient
) -> None:
    await sign_in(visitor, ADMIN_KEY)
    assert "http://127.0.0.1:8000/v1beta1/" in (await page(visitor, MEMORIES)).text
    # In the second, a proxy in front has ended TLS.
    for address in ("https://memory.example.com", "http://memory.example.com"):
        async with browser(app, address) as remote:
            remote.cookies.set("__Host-memory-bank", visitor.cookies[COOKIE])
            told = (await page(remote, MEMORIES)).text
        assert "https://memory.example.com/v1beta1/" in told
        assert "http://" not in told


async def test_a_link_of_another_site_does_not_sign_out(visitor: httpx.AsyncClient) -> None:
    """The browser follows it without the cookie, and keeps the cookie."""
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    answer = await visitor.get(MEMORIES, headers={**followed, "Sec-Fetch-Dest": "document"})
    assert (answer.status_code, "set-cookie" in answer.headers) == (303, False)


async def test_a_header_with_a_key_is_no_session(visitor: httpx.AsyncClient) -> None:
    for headers in (
        {"Authorization": f"Bearer {ADMIN_KEY}"},
        {"x-goog-api-key": ADMIN_KEY},
    ):
        answer = await visitor.get(MEMORIES, headers=headers)
        assert (answer.status_code, answer.headers["location"]) == (303, TO_MEMORIES)
    answer = await visitor.get(MEMORIES, auth=("any", ADMIN_KEY))
    assert answer.status_code == 303


async def test_a_form_of_no_session_changes_nothing(
    visitor: httpx.AsyncClient, client: httpx.AsyncClient, database: Database
) -> None:
    memory = await create_memory(client, "I like tea.")
    await sign_in(visitor, ADMIN_KEY)
    one = f"{MEMORIES}/{memory['name'].rpartition('/')[2]}"
    for url in (f"{one}/edit", f"{one}/rollback", "/console/sign-out"):
        for token in ({}, {"token": "x"}, {"token": "ä"}):
            form = {**token, "requestId": "1", "etag": "1", "fact": "x", "revision": "1"}
            answer = await visitor.post(url, data=form)
            assert answer.status_code == 403, (url, token)
    foreign = {"Origin": "http://attacker.example"}
    assert (
        await visitor.post(SIGN_IN, data={"key": ADMIN_KEY}, headers=foreign)
    ).status_code == 403
    assert ok(await client.get(f"memories/{one.rpartition('/')[2]}")) == memory
    assert await count(database, ConsoleSessionRow) == (1,)


async def test_the_audit_log_names_the_console(
    visitor: httpx.AsyncClient, client: httpx.AsyncClient, app: FastAPI
) -> None:
    memory = await create_memory(client, "I like tea.")
    await sign_in(visitor, ADMIN_KEY)
    one = f"{MEMORIES}/{memory['name'].rpartition('/')[2]}"
    answer = await submit(visitor, f"{one}/edit", f"{one}/edit", fact="I like coffee.")
    assert answer.status_code == 303, answer.text
    async with client_with(app, ADMIN_KEY, "http://test") as admin:
        events = ok(await admin.get("/v1/auditEvents"))["auditEvents"][:3]
    assert [(one["method"], one.get("surface")) for one in events] == [
        ("updateMemory", "console"),
        ("signIn", "console"),
        ("createMemory", None),
    ]
    assert {one.get("address") for one in events} == {"127.0.0.1"}
    assert events[0]["requestId"] == answer.headers["x-request-id"]


async def test_the_console_is_served_unless_a_setting_says_otherwise(
    resources: Resources,
) -> None:
    for is_served, expected in ((True, [303, 303, 200]), (False, [200, 404, 404])):
        other = _with(resources, console=is_served)
        async with browser(create_app(other)) as client:
            statuses = [(await client.get(path)).status_code for path in ("/", "/console", SIGN_IN)]
            told = (await client.get("/", headers={"accept": "application/json"})).json()
        assert statuses == expected
        assert ("console" in told) == is_served
        assert await sweep(other, "ended sessions of the console") == 0


def _with(resources: Resources, **settings: bool) -> Resources:
    return replace(resources, settings=resources.settings.model_copy(update=settings))


async def test_a_token_opens_a_session_that_ends_with_it(
    resources: Resources, tmp_path: Path, clock: FixedClock, client: httpx.AsyncClient
) -> None:
    await create_memory(client, "mine", {"user_id": "42"})
    await create_memory(client, "of somebody else", {"user_id": "7"})
    app = token_app(
        resources, publish(tmp_path / "jwks.json"), jwt_condition_claims={"user_id": "uid"}
    )
    token = sign(claims(clock.now(), uid="42"), "rsa", "RS256")
    async with browser(app) as client_of_token:
        await sign_in(client_of_token, token)
        shown = await page(client_of_token, MEMORIES)
        assert "mine" in shown.text
        assert "somebody else" not in shown.text
        for minutes, status in ((4, 200), (4, 303)):
            clock.advance(timedelta(minutes=minutes))
            assert (await client_of_token.get(MEMORIES)).status_code == status
    async with resources.db.snapshot() as session:
        [row] = (await session.scalars(select(ConsoleSessionRow))).all()
    assert token not in repr(vars(row))


async def test_without_a_database_every_page_says_so_with_the_request_id(
    resources: Resources,
) -> None:
    nowhere = Database(open_engine("postgresql://127.0.0.1:1/nowhere", resources.settings))
    async with browser(create_app(replace(resources, db=nowhere))) as client:
        client.cookies.set(COOKIE, "a-session")
        for url in ("/console", MEMORIES, SIGN_IN):
            answer = await client.get(url)
            assert answer.status_code == 503
            assert answer.headers["x-request-id"] in answer.text
            assert "cannot answer now" in answer.text
        assert (await client.get("/console", headers={"x-request-id": "mine"})).status_code == 503
    await nowhere.close()
