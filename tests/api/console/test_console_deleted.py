"""The bin: what can be brought back, by whom; and what is erased for good."""

import re
from datetime import timedelta

import httpx

from app.kernel.clock import FixedClock
from tests.api.console.conftest import SignedIn
from tests.conftest import ADMIN_KEY
from tests.support.bank import Json, history, id_of, listed, ok
from tests.support.console import MEMORIES, Page, page, sign_in, submit
from tests.support.operations import create_memories, create_memory, path_of

DELETED = MEMORIES.replace("memories", "deleted")
RECOVERY = MEMORIES.replace("memories", "recovery")
_HOSTILE = "<b>\u202ex</b> {{ 7 * 191 }}"


async def _deleted(client: httpx.AsyncClient, *facts: str, **fields: dict[str, str]) -> list[Json]:
    """Create memories and delete them, one by one."""
    memories = await create_memories(client, *facts, **fields)
    for memory in memories:
        ok(await client.delete(path_of(memory["name"])))
    return memories


def _form(shown: Page, action: str, **fields: str | list[str]) -> dict[str, str | list[str]]:
    return {**shown.forms[action.partition("?")[0]], **fields}


async def test_the_bin_tells_what_it_said_whose_by_whom_and_how_long_it_stays(
    client: httpx.AsyncClient, clock: FixedClock, visitor: httpx.AsyncClient
) -> None:
    await sign_in(visitor, ADMIN_KEY)
    assert "Nothing can be brought back" in (await page(visitor, DELETED)).text
    await _deleted(client, "I like tea.", _HOSTILE)
    await create_memory(client, "still here")
    clock.advance(timedelta(hours=6, minutes=48))
    await sign_in(visitor, ADMIN_KEY)
    shown = await page(visitor, DELETED)
    for text in ("I like tea.", "user_id=42", "6 h ago", "41 h 12 min left"):
        assert text in shown.text
    assert "still here" not in shown.text
    assert "<b>[U+202E]x</b> {{ 7 * 191 }}" in shown.text
    operations = {
        one["operation"] for one in await history(client, "/memories/-") if "operation" in one
    }
    undo = [link for link in shown.links if link.endswith("/undo")]
    assert len(undo) == 2
    assert all(any(link.split("/")[-2] in name for name in operations) for link in undo)
    clock.advance(timedelta(hours=40, minutes=30))
    await sign_in(visitor, ADMIN_KEY)
    assert "42 min left" in (await page(visitor, DELETED)).text
    clock.advance(timedelta(minutes=42))
    assert "Nothing can be brought back" in (await page(visitor, DELETED)).text


async def test_filters_and_pages_of_the_bin_are_in_its_url(
    client: httpx.AsyncClient, clock: FixedClock, signed_in: SignedIn
) -> None:
    viewer = await signed_in("viewer")
    await _deleted(client, "of seven", scope={"user_id": "7"})
    clock.advance(timedelta(minutes=1))
    await _deleted(client, *(f"fact {number:02}" for number in range(52)))
    for query, has, has_not in (
        ("scope=user_id%3D7", "of seven", "fact 01"),
        ("text=FACT+17", "fact 17", "fact 18"),
        ("deleted_before=2026-01-15T12:01", "of seven", "fact 01"),
        ("deleted_after=2026-01-15T12:01", "fact 51", "of seven"),
    ):
        shown = await page(viewer, f"{DELETED}?{query}")
        assert (has in shown.text, has_not in shown.text) == (True, False), query
    assert "must be" in (await page(viewer, f"{DELETED}?deleted_after=soon", 400)).text
    first = await page(viewer, DELETED)
    [older] = [link for link in first.links if "page=" in link]
    rest = await page(viewer, older)
    assert "of seven" in rest.text
    assert "of seven" not in first.text
    assert len(set(re.findall(r"fact \d\d", first.text + rest.text))) == 52


async def test_the_chosen_are_brought_back_once_and_one_by_its_own_button(
    client: httpx.AsyncClient, visitor: httpx.AsyncClient
) -> None:
    await sign_in(visitor, ADMIN_KEY)
    memories = await _deleted(client, "one", "two", "three")
    one, two, three = (id_of(memory) for memory in memories)
    query = "scope=user_id%3D42"
    chosen = f"{RECOVERY}?{query}&memory={one}&memory={two}&memory=x"
    shown = await page(visitor, chosen)
    assert "Memories to bring back: 2" in shown.text
    assert "No longer on that page of the list, and left out: 1" in shown.text
    assert (await listed(client), "three" in shown.text) == ([], False)
    action = f"{RECOVERY}?{query}"
    form = _form(shown, action, memory=[f"1 {one}", f"1 {two}"])
    nobody = await visitor.post(action, data={**form, "token": "x"})
    assert (nobody.status_code, await listed(client)) == (403, [])
    empty = await visitor.post(action, data={**form, "memory": []})
    assert "at least one" in empty.text
    unticked = await visitor.get(RECOVERY)
    assert (unticked.status_code, unticked.headers["location"]) == (303, DELETED)
    assert "Nothing was ticked." in (await page(visitor, DELETED)).text
    for _ in range(2):
        answer = await visitor.post(action, data=form)
        assert answer.headers["location"] == f"{DELETED}?{query}"
    assert sorted(await listed(client)) == ["one", "two"]
    answer = await visitor.post(f"{MEMORIES}/{three}/undelete", data=form)
    assert answer.headers["location"] == f"{MEMORIES}/{three}"
    for memory in (one, three):
        actions = [each["action"] for each in await history(client, f"/memories/{memory}")]
        assert actions == ["UNDELETED", "DELETED", "CREATED"]
    # What is live by now is told, the rest is done.
    ok(await client.delete(f"/memories/{one}"))
    shown = await page(visitor, f"{RECOVERY}?which=page")
    form = _form(shown, RECOVERY, memory=[f"1 {one}", f"1 {two}"])
    answer = await visitor.post(RECOVERY, data=form)
    assert (answer.status_code, f"{MEMORIES}/{two}" in answer.text) == (409, True)
    assert sorted(await listed(client)) == ["one", "three", "two"]


async def test_a_deleted_memory_shows_itself_and_comes_back_from_its_page(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    [memory] = await _deleted(client, "I like tea.")
    one = f"{MEMORIES}/{id_of(memory)}"
    blind = await signed_in(permissions=["memories.get", "memories.list", "memories.rollback"])
    await page(blind, one, 404)
    await page(blind, DELETED, 403)
    for role, offered in (("viewer", False), ("editor", True)):
        client_of_role = await signed_in(role)
        shown = await page(client_of_role, one)
        assert "This memory is deleted. 48 h 0 min left" in shown.text
        assert f"{one}/edit" not in shown.links
        assert (f"{one}/undelete" in shown.forms) == offered
        in_bin = await page(client_of_role, DELETED)
        assert "I like tea." in in_bin.text
        assert ("Bring back" in in_bin.text) == offered
        assert any(link.endswith("/undo") for link in in_bin.links) == offered
        assert f"{one}/erase" not in in_bin.links + shown.links
        form = {"token": in_bin.forms["/console/sign-out"]["token"], "requestId": role}
        for url in (f"{one}/undelete", RECOVERY):
            ticked = f"1 {id_of(memory)}"
            answer = await client_of_role.post(url, data={**form, "memory": ticked})
            assert answer.status_code == (303 if offered else 403), answer.text
    assert "Brought back" in (await page(await signed_in("viewer"), one)).text
    assert await listed(client) == ["I like tea."]


async def test_a_memory_is_erased_only_by_its_typed_id(
    client: httpx.AsyncClient, visitor: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await sign_in(visitor, ADMIN_KEY)
    [memory] = await _deleted(client, _HOSTILE)
    live = await create_memory(client, "live")
    for each, back in ((memory, DELETED), (live, MEMORIES)):
        one = f"{MEMORIES}/{id_of(each)}"
        erase = f"{one}/erase"
        assert erase in (await page(visitor, one)).links
        wrong = await submit(visitor, erase, erase, typed="x")
        assert (wrong.status_code, "not the id" in wrong.text) == (400, True)
        form = _form(await page(visitor, erase), erase, typed=f" {id_of(each)} ")
        editor = await signed_in("editor")
        token = (await page(editor, one)).forms["/console/sign-out"]["token"]
        assert (await editor.post(erase, data={**form, "token": token})).status_code == 403
        assert (await visitor.post(erase, data={**form, "token": ""})).status_code == 403
        await page(visitor, one)
        for _ in range(2):
            answer = await visitor.post(erase, data=form)
            assert (answer.status_code, answer.headers["location"]) == (303, back)
        await page(visitor, one, 404)
    assert await history(client, "/memories/-") == []


async def test_a_bound_key_brings_back_and_sees_its_own_alone(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await _deleted(client, "my own")
    [other] = await _deleted(client, "a secret of seven", scope={"user_id": "7"})
    bound = await signed_in("admin", scope_conditions={"user_id": ["42"]})
    shown = await page(bound, DELETED)
    assert "my own" in shown.text
    foreign = f"{MEMORIES}/{id_of(other)}"
    form = {"token": shown.forms[DELETED]["token"], "requestId": "a", "typed": id_of(other)}
    for url in (DELETED, f"{DELETED}?scope=user_id%3D7", foreign, f"{foreign}/erase"):
        answer = await bound.get(url)
        assert "secret" not in answer.text
        assert id_of(other) not in answer.text or url.startswith(foreign)
    for url in (f"{foreign}/undelete", f"{foreign}/erase"):
        assert (await bound.post(url, data=form)).status_code == 404
    sent = {**form, "memory": f"1 {id_of(other)}"}
    assert (await bound.post(RECOVERY, data=sent)).status_code == 409
    assert await listed(client) == []
