"""API keys, whose secret is shown once, and the audit log."""

import json
import re
from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from tests.api.console.conftest import SignedIn
from tests.conftest import ADMIN_KEY
from tests.support.bank import id_of, ok
from tests.support.cases import in_one_test
from tests.support.console import Page, page, sign_in, submit
from tests.support.keys import client_with
from tests.support.operations import create_memory, path_of
from tests.support.queue import overwrite

KEYS = "/console/keys"
NEW = f"{KEYS}/new"
AUDIT = "/console/audit"
OF_ENGINE = "/console/e/1/audit"
_SECRET = re.compile(r"omb_\w+")


@pytest.fixture
async def admin(visitor: httpx.AsyncClient) -> httpx.AsyncClient:
    """A browser of an administrator."""
    await sign_in(visitor, ADMIN_KEY)
    return visitor


async def _listed(app: FastAPI) -> list[dict[str, Any]]:
    async with client_with(app, ADMIN_KEY, "http://test") as caller:
        found: list[dict[str, Any]] = ok(await caller.get("/v1/keys"))["keys"]
    return found


async def test_a_new_key_shows_its_secret_once_and_a_reload_makes_no_second(
    admin: httpx.AsyncClient, app: FastAPI
) -> None:
    form = (await page(admin, NEW)).forms[NEW]
    wanted = {
        **form,
        "displayName": "<b>travel</b> agent",
        "role": "editor",
        "projects": "default",
        "engines": ["1"],
        "key": ["user_id", " user_id ", "", "app"],
        "value": ["42", "43", "", " x"],
        "ends": "at",
        "expireTime": "2027-01-15T12:00",
    }
    made = await admin.post(NEW, data=wanted)
    assert made.status_code == 200, Page(made).text
    [secret] = set(_SECRET.findall(made.text))
    assert (made.status_code, made.headers["cache-control"]) == (200, "no-store")
    assert 'data-copy="secret"' in made.text
    again = await admin.post(NEW, data=wanted)
    assert (again.status_code, _SECRET.findall(again.text)) == (409, [])
    assert "has done its work" in again.text
    keys = await _listed(app)
    assert [key["displayName"] for key in keys].count(wanted["displayName"]) == 1
    key = keys[0]
    assert key["roles"] == ["editor"]
    assert (key["projects"], key["engines"]) == (["default"], ["1"])
    assert key["scopeConditions"] == {"user_id": ["42", "43"], "app": ["x"]}
    assert key["expireTime"] == "2027-01-15T12:00:00Z"
    async with client_with(app, secret) as holder:
        ok(await holder.get("/memories"))
    listed = await admin.get(KEYS)
    assert secret not in listed.text
    assert "<b>travel" not in listed.text
    assert 'title="looks, creates, edits, deletes and rolls back"' in listed.text
    words = Page(listed).text
    for expected in (
        "<b>travel</b> agent",
        "projects default",
        "engines 1",
        "only where user_id is 42 or 43",
        "Works",
    ):
        assert expected in words, expected


async def test_a_refused_form_keeps_what_was_typed_and_may_be_sent_again(
    admin: httpx.AsyncClient,
) -> None:
    form = (await page(admin, NEW)).forms[NEW]
    typed = {
        **form,
        "displayName": "x",
        "role": "viewer",
        "projects": "a b",
        "key": "user_id",
        "value": "v" * 5_000,
    }
    refused = await admin.post(NEW, data=typed)
    assert refused.status_code == 400
    assert Page(refused).forms[NEW].items() >= {"projects": "a b", "role": "viewer"}.items()
    assert 'name="key" dir="auto" placeholder="user_id" value="user_id"' in refused.text
    assert "Scope: must" in Page(refused).text
    assert "scopeConditions" not in Page(refused).text
    corrected = {**typed, "value": "42"}
    assert (await admin.post(NEW, data=corrected)).status_code == 200


@in_one_test(
    ("typed", "fault"),
    [
        ({"key": "user_id"}, "Scope: give a value, such as user_id = 42."),
        ({"value": "42"}, "Scope: give a key, such as user_id = 42."),
        ({"role": ""}, "Role: choose one."),
        ({"ends": "at"}, "Ends: give the time."),
        ({"ends": "at", "expireTime": "soon"}, "Ends: must"),
        ({"moreEngines": "one"}, "Engines: must"),
        ({"key": "k" * 500, "value": "v"}, "Scope: must"),
        ({"displayName": " "}, "Display name: must"),
    ],
)
async def test_faults_are_in_the_words_of_the_form(
    admin: httpx.AsyncClient, typed: dict[str, str], fault: str
) -> None:
    form = (await page(admin, NEW)).forms[NEW]
    refused = await admin.post(
        NEW, data={**form, "displayName": "x", "role": "viewer", "key": "", "value": "", **typed}
    )
    assert (refused.status_code, fault in Page(refused).text) == (400, True), Page(refused).text


async def test_the_form_names_the_engines_and_a_key_ends_unless_it_is_told_not_to(
    admin: httpx.AsyncClient, app: FastAPI, client: httpx.AsyncClient
) -> None:
    ok(await client.patch("", json={"displayName": "<i>travel</i>"}))
    shown = await page(admin, NEW)
    assert "<i>travel</i>" in shown.text
    assert "This key reaches every scope of all engines" in shown.text
    form = {**shown.forms[NEW], "displayName": "x", "role": "viewer"}
    await admin.post(NEW, data=form)
    form = (await page(admin, NEW)).forms[NEW]
    await admin.post(NEW, data={**form, "displayName": "y", "role": "user", "ends": "never"})
    endless, ending = (await _listed(app))[:2]
    assert "expireTime" not in endless
    assert ending["expireTime"] == "2026-04-15T12:00:00Z"
    assert {"engines", "scopeConditions", "projects"}.isdisjoint(ending)


async def test_a_key_is_rotated_and_revoked_after_a_question(
    admin: httpx.AsyncClient, app: FastAPI, clock: FixedClock
) -> None:
    form = (await page(admin, NEW)).forms[NEW]
    made = await admin.post(NEW, data={**form, "displayName": "x", "role": "viewer"})
    [first] = set(_SECRET.findall(made.text))
    one = f"{KEYS}/{(await _listed(app))[0]['name'].rpartition('/')[2]}"
    rotate, revoke = f"{one}/rotate", f"{one}/revoke"
    links = (await page(admin, KEYS)).links
    assert {rotate, revoke} <= set(links)
    for hours in ("soon", "9" * 12):
        refused = await submit(admin, rotate, rotate, hours=hours)
        assert (refused.status_code, Page(refused).forms[rotate]["hours"]) == (400, hours)
    asked = (await page(admin, rotate)).forms[rotate]
    rotated = await admin.post(rotate, data={**asked, "hours": "2"})
    [second] = set(_SECRET.findall(rotated.text))
    assert (await admin.post(rotate, data=asked)).status_code == 409
    assert second != first
    async with client_with(app, first) as former, client_with(app, second) as latter:
        assert (await former.get("/memories")).status_code == 200, "within its grace"
        ok(await latter.get("/memories"))
        for form in ({"requestId": "1"}, {"requestId": "1", "token": "x"}):
            assert (await admin.post(revoke, data=form)).status_code == 403
        ok(await latter.get("/memories"))
        asked = (await page(admin, revoke)).forms[revoke]
        for _ in range(2):
            done = await admin.post(revoke, data=asked)
            assert (done.status_code, done.headers["location"]) == (303, KEYS)
        clock.advance(timedelta(seconds=1))
        assert (await latter.get("/memories")).status_code == 401
    shown = await page(admin, KEYS)
    assert "Revoked" in shown.text
    assert revoke not in shown.links


async def test_a_form_without_a_token_makes_no_key(admin: httpx.AsyncClient, app: FastAPI) -> None:
    before = await _listed(app)
    for token in ({}, {"token": "x"}):
        form = {**token, "requestId": "1", "displayName": "x", "role": "admin"}
        assert (await admin.post(NEW, data=form)).status_code == 403
    form = (await page(admin, NEW)).forms[NEW]
    nothing = {**form, "requestId": "\0", "displayName": "x", "role": "admin"}
    assert "U+0000" in Page(await admin.post(NEW, data=nothing)).text
    assert await _listed(app) == before


async def test_only_who_manages_keys_or_sees_the_audit_meets_these_screens(
    signed_in: SignedIn, admin: httpx.AsyncClient
) -> None:
    assert {KEYS, AUDIT} <= set((await page(admin, "/console")).links)
    assert OF_ENGINE in (await page(admin, "/console/e/1/memories")).links
    for browser in (
        await signed_in("editor"),
        await signed_in("admin", scope_conditions={"user_id": ["42"]}),
    ):
        links = {*(await page(browser, "/console/e/1/memories")).links}
        assert not links & {KEYS, AUDIT, OF_ENGINE}
        for url in (KEYS, f"{KEYS}/1/rotate", AUDIT, OF_ENGINE):
            assert "No permission" in (await page(browser, url, 403)).text, url
        for url in (f"{AUDIT}?export=csv", f"{OF_ENGINE}?export=csv"):
            assert (await browser.get(url)).status_code == 403
    of_engine = await signed_in("admin", engines=["1"])
    links = {*(await page(of_engine, OF_ENGINE)).links}
    assert (OF_ENGINE in links, AUDIT in links) == (True, False)


async def test_the_audit_is_filtered_paged_and_downloaded(
    admin: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    names = [(await create_memory(client, f"fact {n}"))["name"] for n in range(55)]
    for here in (AUDIT, OF_ENGINE):
        found: list[str] = []
        url = f"{here}?method=createMemory"
        while url:
            shown = await page(admin, url)
            found += re.findall(r'title="[^"]*/memories/(\d+)"', (await admin.get(url)).text)
            url = shown.next
        assert sorted(found) == sorted(name.rpartition("/")[2] for name in names)
        one = names[7].rpartition("/")[2]
        shown = await page(admin, f"{here}?resource={one}&result=OK&after=2026-01-01T00:00")
        assert shown.text.count("createMemory") == 1
        assert "No event matches" in (await page(admin, f"{here}?caller=nobody")).text
        assert "must be" in (await page(admin, f"{here}?after=soon", 400)).text
        file = await admin.get(f"{here}?resource={one}&export=ndjson")
        [event] = map(json.loads, file.text.splitlines())
        assert event["resource"] == names[7]
        refused = await admin.get(f"{here}?after=soon&export=csv")
        assert (refused.status_code, "content-disposition" in refused.headers) == (400, False)


async def test_callers_are_shown_by_the_names_of_their_keys(
    app: FastAPI,
    client: httpx.AsyncClient,
    database: Database,
    signed_in: SignedIn,
) -> None:
    admin = await signed_in("admin")
    body = {"displayName": "Agent <b>of support</b>", "roles": ["editor"]}
    key = ok(await client.post("http://test/v1/keys", json=body))
    id_ = key["name"].rpartition("/")[2]
    async with client_with(app, key["secret"]) as agent:
        memory = (await create_memory(agent, "I like tea."))["name"]
        ok(await agent.delete(path_of(memory)))
    of_memory = f"/console/e/1/memories/{memory.rpartition('/')[2]}"
    (operation, other) = ok(await client.get("/operations"))["operations"]
    # The subjects of tokens, which name no keys, may be long.
    await overwrite(database, id_of(other), caller=f"jwt:{'s' * 20_000}")
    of_operation = f"/console/e/1/operations/{operation['name'].rpartition('/')[2]}"
    paths = [f"/console/e/1/{name}" for name in ("operations", "revisions", "deleted", "audit")]
    for url in (*paths, of_memory, of_operation):
        shown = (await admin.get(url)).text
        assert f'title="{id_}">Agent &lt;b&gt;of support&lt;/b&gt;</span>' in shown, url
    # Only who may see keys is told their names.
    viewer = await signed_in("viewer")
    for url in (*paths[:3], of_memory, of_operation):
        shown = (await viewer.get(url)).text
        assert id_ in shown, url
        assert "of support" not in shown, url
