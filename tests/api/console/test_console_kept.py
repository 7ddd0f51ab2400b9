"""Forms that are sent without a session are shown again, filled; no other site plants one."""

from functools import partial

import httpx
import pytest
from fastapi import FastAPI

from app.adapters.db.session import Database
from app.kernel.clock import FixedClock
from app.surfaces.console.carried import MOST_CHARS, Carried
from app.surfaces.console.pages import ROUTES
from tests.conftest import ADMIN_KEY
from tests.support.bank import id_of, ok
from tests.support.cases import in_one_test
from tests.support.console import MEMORIES, Page, browser, page, sign_in
from tests.support.keys import make_key
from tests.support.operations import create_memory, path_of

SIGN_IN = "/console/sign-in"
ENGINE = MEMORIES.removesuffix("/memories")
COOKIE = "memory-bank-console-form"
OWN = {"Sec-Fetch-Site": "same-origin"}
_UNSENT = "Nothing has been sent yet"


@pytest.fixture
async def admin(visitor: httpx.AsyncClient) -> httpx.AsyncClient:
    """A browser of the administrator."""
    await sign_in(visitor, ADMIN_KEY)
    return visitor


async def _sent_late(
    client: httpx.AsyncClient, url: str, fields: dict[str, str], key: str = ADMIN_KEY
) -> httpx.Response:
    """Send a form after the session has ended, sign in, and return the page that follows."""
    client.cookies.delete("memory-bank-console")
    asked = await client.post(url, data=fields, headers=OWN)
    assert asked.status_code == 200, asked.text
    form = Page(asked).forms[SIGN_IN]
    failed = await client.post(SIGN_IN, data={**form, "key": "omb_x"}, headers=OWN)
    form = Page(failed).forms[SIGN_IN]
    opened = await client.post(SIGN_IN, data={**form, "key": key}, headers=OWN)
    assert opened.status_code == 303, opened.text
    return await client.get(opened.headers["location"])


async def test_an_edit_is_shown_again_filled_and_not_sent(
    client: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    memory = await create_memory(client, "I like tea.")
    edit = f"{MEMORIES}/{id_of(memory)}/edit"
    form = (await page(admin, edit)).forms[edit]
    typed = 'I like <coffee> & "milk".\n日本 🍵'
    answer = await _sent_late(admin, edit, {**form, "fact": typed, "topics": "A TOPIC"})
    shown = Page(answer)
    assert _UNSENT in shown.text
    assert ok(await client.get(path_of(memory["name"]))) == memory, "nothing is executed"
    again = shown.forms[edit]
    assert (again["fact"], again["topics"]) == (typed, "A TOPIC")
    assert again["token"] != form["token"]
    assert again["requestId"] != form["requestId"]
    assert again["etag"] == form["etag"], "a change meanwhile is a conflict"
    assert COOKIE not in admin.cookies, "it is kept for one page"
    assert _UNSENT not in (await page(admin, edit)).text
    assert (await admin.post(edit, data=again)).status_code == 303
    assert ok(await client.get(path_of(memory["name"])))["fact"] == typed


async def test_other_forms_are_shown_again_too(
    client: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    memory = id_of(await create_memory(client, "I like tea."))
    settings = f"{ENGINE}/settings"
    for url, action, fields in (
        ("/console/keys/new", "/console/keys/new", {"displayName": "of 42", "projects": "x"}),
        (settings, settings, {"displayName": "travel", "ttl": "soon"}),
        (settings, f"{settings}/json", {"document": '{"displayName": "x"}'}),
        (f"{ENGINE}/try", f"{ENGINE}/try#results", {"question": "What?", "talk": "I like it."}),
        (f"{MEMORIES}/{memory}/delete", f"{MEMORIES}/{memory}/delete", {"labels": "a=b"}),
    ):
        form = (await page(admin, url)).forms[action]
        shown = Page(await _sent_late(admin, action, {**form, **fields}))
        assert _UNSENT in shown.text, action
        assert fields.items() <= shown.forms[action].items(), action


async def test_a_question_that_was_answered_late_is_asked_again(
    client: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    memory = await create_memory(client, "I like tea.")
    ok(await client.patch(path_of(memory["name"]), json={"fact": "I like coffee."}))
    one = f"{MEMORIES}/{id_of(memory)}"
    revisions = ok(await client.get(f"{path_of(memory['name'])}/revisions"))["memoryRevisions"]
    asked = f"{one}/rollback?revision={revisions[-1]['name'].rpartition('/')[2]}"
    form = (await page(admin, asked)).forms[f"{one}/rollback"]
    admin.cookies.delete("memory-bank-console")
    answer = await admin.post(asked, data=form, headers=OWN)
    wanted = await admin.post(
        SIGN_IN,
        data={**(await _sign_in_form(admin, answer)), "key": ADMIN_KEY},
        headers=OWN,
    )
    assert wanted.headers["location"] == asked
    assert f"{one}/rollback" in (await page(admin, asked)).forms


async def _sign_in_form(client: httpx.AsyncClient, answer: httpx.Response) -> dict[str, str]:
    assert answer.status_code == 303
    return (await page(client, answer.headers["location"])).forms[SIGN_IN]


@in_one_test(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://attacker.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:8000"},
    ],
)
async def test_a_form_of_another_site_is_not_kept(app: FastAPI, headers: dict[str, str]) -> None:
    planted = {"displayName": "PLANTED", "role": "admin"}
    async with browser(app) as victim:
        answer = await victim.post("/console/keys/new", data=planted, headers=headers)
        assert answer.status_code in {303, 403}
        assert "PLANTED" not in answer.text
        assert "kept" not in answer.text
        # Nor with the sign-in.
        kept = Carried(at="/console/keys/new", fields={"displayName": ["PLANTED"]}).packed()
        form = {"key": ADMIN_KEY, "next": "/console/keys/new", "kept": kept}
        answer = await victim.post(SIGN_IN, data=form, headers=headers)
        assert COOKIE not in victim.cookies
        if answer.status_code == 303:
            assert "PLANTED" not in (await victim.get("/console/keys/new")).text


@in_one_test("headers", [{}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}])
async def test_a_wrong_key_of_another_site_keeps_no_form(
    app: FastAPI, headers: dict[str, str]
) -> None:
    kept = Carried(at="/console/keys/new", fields={"displayName": ["PLANTED"]}).packed()
    async with browser(app) as victim:
        form = {"key": "omb_x", "next": "/console/keys/new", "kept": kept}
        answer = await victim.post(SIGN_IN, data=form, headers=headers)
        assert answer.status_code == 403
        assert kept not in answer.text


async def test_a_check_without_a_session_leaves_the_page_as_it_is(
    app: FastAPI, admin: httpx.AsyncClient
) -> None:
    """The form is kept when it is sent; a list leads to the sign-in."""
    asked = {"HX-Request": "true", "HX-Current-URL": f"http://127.0.0.1{MEMORIES}"}
    for path in (f"{ENGINE}/try", f"{ENGINE}/settings/check/ttl"):
        answer = await admin.post(path, data={"token": "x"}, headers=asked)
        assert (answer.status_code, answer.text) == (204, ""), "a refused one, too"
    async with browser(app) as visitor:
        for path in (f"{ENGINE}/try", f"{ENGINE}/settings/check/ttl"):
            answer = await visitor.post(path, data={"talk": "x"}, headers=asked)
            assert (answer.status_code, answer.text) == (204, "")
        answer = await visitor.get(f"{ENGINE}/try?operation=1", headers=asked)
        assert (answer.status_code, answer.text) == (204, "")
        answer = await visitor.get(MEMORIES, headers=asked)
        assert answer.headers["HX-Redirect"].startswith(SIGN_IN)


async def test_no_cookie_plants_a_form(app: FastAPI, admin: httpx.AsyncClient) -> None:
    kept = Carried(at="/console/keys/new", fields={"displayName": ["PLANTED"]}).packed()
    async with browser(app) as attacker:
        form = {"key": ADMIN_KEY, "next": "/console/keys/new", "kept": kept}
        await attacker.post(SIGN_IN, data=form, headers=OWN)
        of_another = attacker.cookies[COOKIE]
        assert "PLANTED" in (await attacker.get("/console/keys/new")).text
    for planted in (kept, f"{kept}.", f"{kept}.{'0' * 64}", of_another, "."):
        admin.cookies.set(COOKIE, planted)
        assert "PLANTED" not in (await admin.get("/console/keys/new")).text, planted


async def test_what_is_kept_names_its_page_and_may_be_anything(admin: httpx.AsyncClient) -> None:
    """The sign-in takes what its own page sent; nothing of it breaks a page or is executed."""
    bomb = Carried(at="/console/keys/new", fields={"displayName": ["x" * 2_000_000]}).packed()
    elsewhere = Carried(at="/console/keys", fields={"displayName": ["PLANTED"]}).packed()
    odd = Carried(at="/console/keys/new", fields={"key": [], "displayName": []}).packed()
    for kept in (bomb, elsewhere, odd, "AAAA", "A", "_-"):
        assert len(kept) <= MOST_CHARS
        admin.cookies.delete("memory-bank-console")
        form = {"key": ADMIN_KEY, "next": "/console/keys/new", "kept": kept}
        opened = await admin.post(SIGN_IN, data=form, headers=OWN)
        assert opened.headers["location"] == "/console/keys/new"
        shown = await page(admin, "/console/keys/new")
        assert "PLANTED" not in shown.text
    for kept in ("x" * (MOST_CHARS + 1), "a.b", "a b", "ä"):
        form = {"key": ADMIN_KEY, "kept": kept}
        assert (await admin.post(SIGN_IN, data=form, headers=OWN)).status_code == 400


async def test_only_the_fields_of_a_form_are_kept_and_never_a_secret(
    visitor: httpx.AsyncClient,
) -> None:
    fields = {"displayName": "a", "secret": "HIDDEN", "token": "HIDDEN", "requestId": "HIDDEN"}
    send = partial(visitor.post, "/console/keys/new", headers=OWN)
    kept = Page(await send(data=fields)).forms[SIGN_IN]["kept"]
    assert kept == Carried(at="/console/keys/new", fields={"displayName": ["a"]}).packed()
    names = {name for route in ROUTES if route.kept for name in route.kept.model_fields}
    assert not any(word in name for name in names for word in ("secret", "password", "token"))


async def test_what_is_too_long_says_so(visitor: httpx.AsyncClient) -> None:
    long = "".join(chr(0x4E00 + number * 7 % 20_000) for number in range(3_000))
    for text in (long, long * 10):
        form = {"displayName": text}
        shown = Page(await visitor.post("/console/keys/new", data=form, headers=OWN))
        assert "too long to be kept" in shown.text
        assert "kept" not in shown.forms[SIGN_IN]


async def test_a_key_that_may_not_see_the_page_does_not_see_the_form(
    client: httpx.AsyncClient, admin: httpx.AsyncClient, database: Database, clock: FixedClock
) -> None:
    memory = await create_memory(client, "of seven", {"user_id": "7"})
    edit = f"{MEMORIES}/{id_of(memory)}/edit"
    form = (await page(admin, edit)).forms[edit]
    bound = {"user_id": ["42"]}
    key = await make_key(database, clock.now(), "editor", scope_conditions=bound)
    answer = await _sent_late(admin, edit, {**form, "fact": "CANARY"}, key)
    assert answer.status_code == 404
    assert "CANARY" not in answer.text
