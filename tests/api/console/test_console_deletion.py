"""Deletions from the list and of one memory: a preview first, and a way back."""

from datetime import timedelta

import httpx

from app.kernel.clock import FixedClock
from tests.api.console.conftest import SignedIn
from tests.conftest import ADMIN_KEY
from tests.support.bank import history, id_of, listed, ok
from tests.support.console import MEMORIES, Page, page, sign_in, submit
from tests.support.operations import create_memories, create_memory, path_of

DELETION = MEMORIES.replace("memories", "deletion")
SCOPES = MEMORIES.replace("memories", "scopes")
DELETED = MEMORIES.replace("memories", "deleted")


async def test_chosen_rows_are_deleted_after_a_preview_unless_they_changed(
    client: httpx.AsyncClient, visitor: httpx.AsyncClient
) -> None:
    await sign_in(visitor, ADMIN_KEY)
    one, two, _ = await create_memories(client, "one", "two", "three")
    unticked = await visitor.get(f"{DELETION}?which=chosen&text=o")
    assert (unticked.status_code, "text=o" in unticked.headers["location"]) == (303, True)
    assert "Nothing was ticked." in (await page(visitor, unticked.headers["location"])).text
    chosen = f"{DELETION}?which=chosen&memory={id_of(one)}&memory={id_of(two)}&memory=x"
    shown = await page(visitor, chosen)
    assert "Memories to delete: 2" in shown.text
    assert "No longer on that page of the list, and left out: 1" in shown.text
    assert "three" not in shown.text
    form = {**shown.forms[DELETION], "memory": [f"1 {id_of(each)}" for each in (one, two)]}
    assert (await visitor.post(DELETION, data={**form, "token": ""})).status_code == 403
    assert len(await listed(client)) == 3
    ok(await client.patch(path_of(two["name"]), json={"fact": "two, changed"}))
    for _ in range(2):
        answer = await visitor.post(DELETION, data=form)
        assert (answer.status_code, id_of(two) in answer.text) == (409, True)
        assert f"{MEMORIES}/{id_of(one)}" not in Page(answer).links
    assert sorted(await listed(client)) == ["three", "two, changed"]
    assert "one" in (await page(visitor, DELETED)).text
    # All of a page, and nobody asks twice.
    shown = await page(visitor, f"{DELETION}?which=page&text=three")
    answer = await visitor.post(DELETION, data=shown.forms[DELETION])
    assert answer.headers["location"] == DELETED
    assert await listed(client) == ["two, changed"]
    assert "None of them" in (await page(visitor, f"{DELETION}?which=page&text=three")).text


async def test_all_that_match_are_counted_shown_and_deleted_but_for_what_comes_later(
    client: httpx.AsyncClient, clock: FixedClock, visitor: httpx.AsyncClient
) -> None:
    await sign_in(visitor, ADMIN_KEY)
    await create_memories(client, *(f"fact <{number:02}>" for number in range(25)))
    await create_memory(client, "of seven", {"user_id": "7"})
    query = "scope=user_id%3D42"
    shown = await page(visitor, f"{DELETION}?which=filter&{query}")
    assert "Memories to delete: 25" in shown.text
    assert "Shown: 20" in shown.text
    assert shown.text.count("fact <") == 20
    assert "memories:purge" in shown.text, "what is seen can be asked for by curl"
    assert "of seven" not in shown.text
    assert f"{MEMORIES}?{query}" in shown.links
    assert len(await listed(client)) == 26, "a count deletes nothing"
    clock.advance(timedelta(seconds=1))
    await create_memory(client, "later")
    for _ in range(2):
        answer = await visitor.post(DELETION, data=shown.forms[DELETION])
        assert (answer.status_code, answer.headers["location"]) == (303, DELETED)
    assert sorted(await listed(client)) == ["later", "of seven"]
    assert (await page(visitor, DELETED)).text.count("fact <") == 25
    for query in ("which=filter", "which=filter&changed_after=soon", "which=page&changed_after=x"):
        assert DELETION not in (await page(visitor, f"{DELETION}?{query}", 400)).forms


async def test_one_memory_is_deleted_with_labels_and_can_be_brought_back(
    client: httpx.AsyncClient, visitor: httpx.AsyncClient
) -> None:
    await sign_in(visitor, ADMIN_KEY)
    memory = await create_memory(client, "I like <tea>.")
    one = f"{MEMORIES}/{id_of(memory)}"
    delete = f"{one}/delete"
    assert delete in (await page(visitor, one)).links
    refused = await submit(visitor, delete, delete, labels=f"{'k' * 65}=x\n")
    assert (refused.status_code, "64" in refused.text) == (400, True)
    assert Page(refused).forms[delete]["labels"].strip() == f"{'k' * 65}=x"
    stale = (await page(visitor, delete)).forms[delete]
    ok(await client.patch(path_of(memory["name"]), json={"fact": "I like <coffee>."}))
    answer = await visitor.post(delete, data={**stale, "labels": "ticket=4711"})
    assert (answer.status_code, "look at it again" in answer.text) == (409, True)
    form = Page(answer).forms[delete]
    assert form["labels"].strip() == "ticket=4711"
    for _ in range(2):
        answer = await visitor.post(delete, data=form)
        assert (answer.status_code, answer.headers["location"]) == (303, one)
    newest, *older = await history(client, f"/memories/{id_of(memory)}")
    assert (newest["action"], newest["labels"]) == ("DELETED", {"ticket": "4711"})
    assert len(older) == 2
    undelete = f"{one}/undelete"
    assert (await submit(visitor, one, undelete)).status_code == 303
    assert await listed(client) == ["I like <coffee>."]


async def test_who_may_delete_what_is_offered_that_alone(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    memory = await create_memory(client, "my own")
    other = await create_memory(client, "a secret of seven", {"user_id": "7", "team": "x"})
    one = f"{MEMORIES}/{id_of(memory)}"
    bound = {"scope_conditions": {"user_id": ["42"]}}
    for role, reach, row, whole in (
        ("viewer", {}, False, False),
        ("editor", bound, True, False),
        ("admin", bound, True, True),
    ):
        client_of_role = await signed_in(role, **reach)
        shown = await page(client_of_role, f"{MEMORIES}?text=o")
        assert ("Delete the chosen" in shown.text) == row
        assert ("Delete all that match" in shown.text) == whole
        assert (f"{one}/delete" in (await page(client_of_role, one)).links) == row
        form = {"token": shown.forms["/console/sign-out"]["token"], "requestId": role, "etag": "1"}
        foreign = f"{MEMORIES}/{id_of(other)}/delete"
        assert (await client_of_role.post(foreign, data=form)).status_code == (404 if row else 403)
        answer = await client_of_role.post(DELETION, data={**form, "filter": 'fact:"secret"'})
        assert answer.status_code == (303 if whole else 403)
        answer = await client_of_role.post(DELETION, data={**form, "memory": f"1 {id_of(other)}"})
        assert answer.status_code == (409 if row else 403)
        if reach:
            for url in (
                f"{MEMORIES}?scope=user_id",
                f"{DELETION}?which=filter&text=o",
                f"{DELETION}?which=page&scope=user_id%3D7",
                foreign,
            ):
                answer = await client_of_role.get(url)
                assert "secret" not in answer.text
                assert "team" not in answer.text, "nor is a scope suggested"
    assert len(await listed(client)) == 2
    viewer = await signed_in("viewer")
    wide = (await viewer.get(SCOPES)).text
    for pair in ("user_id=42", "user_id=7", "team=x"):
        assert f'<option value="{pair}">' in wide
    narrow = (await viewer.get(f"{SCOPES}?scope=team%3Dx&scope=")).text
    assert '<option value="user_id=42">' not in narrow


async def test_a_memory_that_is_deleted_already_can_be_brought_back_there(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    memory = f"{MEMORIES}/{id_of(await create_memory(client, 'I like tea.'))}"
    admin = await signed_in("admin")
    form = (await page(admin, f"{memory}/delete")).forms[f"{memory}/delete"]
    await submit(admin, f"{memory}/delete", f"{memory}/delete")
    again = await admin.post(f"{memory}/delete", data={**form, "requestId": "another"})
    assert again.status_code == 409
    for shown in (Page(again), await page(admin, f"{memory}/delete")):
        assert "This memory is deleted already" in shown.text
        assert "Recoverable: " in shown.text
        assert f"{memory}/undelete" in shown.forms
    await submit(admin, f"{memory}/delete", f"{memory}/undelete")
    assert await listed(client) == ["I like tea."]
