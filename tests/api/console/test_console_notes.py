"""Notes after deeds: what was done, in words, with what takes it back; none can be planted."""

import re

import httpx
import pytest
from fastapi import FastAPI

from tests.api.console.conftest import SignedIn
from tests.conftest import ADMIN_KEY
from tests.support.bank import history, id_of, listed, ok
from tests.support.console import MEMORIES, Page, browser, page, sign_in, submit
from tests.support.operations import create_memories, create_memory, path_of

ENGINE = MEMORIES.removesuffix("/memories")
RECOVERY = f"{ENGINE}/recovery"
COOKIE = "memory-bank-console-note"
_NOTE = re.compile(r'<div class="note good flash" role="status">.*?</div>', re.DOTALL)


@pytest.fixture
async def admin(visitor: httpx.AsyncClient) -> httpx.AsyncClient:
    """A browser of the administrator."""
    await sign_in(visitor, ADMIN_KEY)
    return visitor


async def _followed(client: httpx.AsyncClient, answer: httpx.Response) -> tuple[str, Page]:
    """Return the note on the page to which an answer redirects, and the page."""
    assert answer.status_code == 303, answer.text
    shown = await client.get(answer.headers["location"])
    assert shown.status_code == 200, shown.text
    found = _NOTE.search(shown.text)
    return found[0] if found else "", Page(shown)


async def test_an_edit_and_a_rollback_say_so_once_and_lead_to_their_undo(
    client: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    memory = await create_memory(client, "I like tea.")
    one = f"{MEMORIES}/{id_of(memory)}"
    answer = await submit(admin, f"{one}/edit", f"{one}/edit", fact="I like <coffee>.")
    note, _ = await _followed(admin, answer)
    assert "The memory is changed." in note
    assert "coffee" not in note + answer.headers["set-cookie"]
    [undo] = re.findall(r'href="([^"]+/undo)"', note)
    assert "Show what it would do" in (await page(admin, undo)).text
    assert "changed." not in (await page(admin, one)).text, "a note is shown once"
    first = (await history(client, f"/memories/{id_of(memory)}"))[-1]["name"].rpartition("/")[2]
    answer = await submit(admin, f"{one}/rollback?revision={first}", f"{one}/rollback")
    note, shown = await _followed(admin, answer)
    assert f"Rolled back to revision …{first[-6:]}." in note
    assert any(link.endswith("/undo") for link in shown.links)


async def test_deletions_are_brought_back_by_one_press(
    client: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    memories = await create_memories(client, "one", "two", "three", "four")
    one, two, three, _ = (id_of(memory) for memory in memories)
    deletion = f"{ENGINE}/deletion"
    chosen = f"{deletion}?which=chosen&memory={one}&memory={two}"
    form = (await page(admin, chosen)).forms[deletion]
    answer = await admin.post(deletion, data={**form, "memory": [f"1 {one}", f"1 {two}"]})
    note, shown = await _followed(admin, answer)
    assert re.search(r"Deleted: 2\. .* until 20\d\d-\d\d-\d\d \d\d:\d\d UTC\.", note)
    form = {name: shown.forms[RECOVERY][name] for name in ("token", "requestId")}
    answer = await admin.post(RECOVERY, data={**form, "memory": [one, two]})
    note, _ = await _followed(admin, answer)
    assert "Brought back: 2." in note
    assert len(await listed(client)) == 4
    delete = f"{MEMORIES}/{three}/delete"
    note, shown = await _followed(admin, await submit(admin, delete, delete))
    undelete = f"{MEMORIES}/{three}/undelete"
    assert "Deleted: 1." in note
    assert undelete in note
    answer = await admin.post(undelete, data=shown.forms[undelete])
    note, _ = await _followed(admin, answer)
    assert "Brought back: 1." in note
    assert "/undo" in note
    form = (await page(admin, f"{deletion}?which=filter&text=o")).forms[deletion]
    note, _ = await _followed(admin, await admin.post(deletion, data=form))
    assert "Deleted: 3." in note
    assert "/undo" in note


async def test_what_nothing_takes_back_says_so(
    client: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    memory = id_of(await create_memory(client, "I like tea."))
    erase = f"{MEMORIES}/{memory}/erase"
    note, _ = await _followed(admin, await submit(admin, erase, erase, typed=memory))
    assert "Nothing brings it back." in note
    made = await submit(admin, "/console/keys/new", "/console/keys/new", displayName="a")
    assert made.status_code == 400, "a role is missing"
    form = {**Page(made).forms["/console/keys/new"], "role": "viewer", "ends": "90"}
    [key] = re.findall(
        r'data-text="([^"]+)"', (await admin.post("/console/keys/new", data=form)).text
    )[:1]
    revoke = f"/console/keys/{key}/revoke"
    note, _ = await _followed(admin, await submit(admin, revoke, revoke))
    assert f"The key {key} is revoked." in note
    settings = f"{ENGINE}/settings"
    answer = await submit(admin, settings, settings, displayName="travel")
    note, _ = await _followed(admin, answer)
    assert "The settings are saved." in note


async def test_who_may_not_take_it_back_is_not_offered_to(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    memory = await create_memory(client, "I like tea.")
    one = f"{MEMORIES}/{id_of(memory)}"
    blind = await signed_in(
        permissions=["memories.get", "memories.list", "memories.update", "memories.delete"]
    )
    note, _ = await _followed(blind, await submit(blind, f"{one}/edit", f"{one}/edit", fact="x"))
    assert "The memory is changed." in note
    assert "href" not in note.partition("</p>")[2].replace("icons.svg", "").replace(
        '<use href="', ""
    )
    note, _ = await _followed(blind, await submit(blind, f"{one}/delete", f"{one}/delete"))
    assert "Deleted: 1." in note
    assert "form" not in note


async def test_no_note_is_planted(
    client: httpx.AsyncClient, app: FastAPI, admin: httpx.AsyncClient
) -> None:
    """Not by an address, by another host of the domain, by another session, or for another page."""
    memory = await create_memory(client, "I like tea.")
    one = f"{MEMORIES}/{id_of(memory)}"
    answer = await submit(admin, f"{one}/edit", f"{one}/edit", fact="I like coffee.")
    real = admin.cookies[COOKIE]
    assert {"HttpOnly", "SameSite=strict", "Max-Age=60"} <= set(
        re.split("; *", answer.headers["set-cookie"])
    )
    packed, _, signed = real.partition(".")
    for forged in (
        packed,
        f"{packed}.",
        f"{packed}.{'0' * len(signed)}",
        f"{packed[:-2]}AA.{signed}",
        ".",
    ):
        admin.cookies.delete(COOKIE)
        headers = {"cookie": f"memory-bank-console={admin.cookies['memory-bank-console']};"}
        headers["cookie"] += f" {COOKIE}={forged}"
        shown = await admin.get(one, headers=headers)
        assert (shown.status_code, _NOTE.search(shown.text)) == (200, None), forged
    for url in (f"{one}?did=edited&note=edited", f"{one}?x=1", MEMORIES):
        admin.cookies.set(COOKIE, real)
        assert _NOTE.search((await admin.get(url)).text) is None, url
    async with browser(app) as other:
        await sign_in(other, ADMIN_KEY)
        other.cookies.set(COOKIE, real)
        assert _NOTE.search((await other.get(one)).text) is None
    admin.cookies.set(COOKIE, real)
    assert _NOTE.search((await admin.get(one)).text)
    ok(await client.get(path_of(memory["name"])))
