"""One memory: its timeline, differences, edits with two tabs, rollback, and who may do what."""

import json
import re
from datetime import timedelta

import httpx

from app.kernel.clock import FixedClock
from tests.api.console.conftest import SignedIn
from tests.conftest import ADMIN_KEY
from tests.support.bank import ok
from tests.support.console import MEMORIES, page, sign_in, submit
from tests.support.operations import create_memory, path_of

_OF_ANOTHER = "a secret of seven"


async def _changed(client: httpx.AsyncClient, clock: FixedClock, *facts: str) -> str:
    """Create a memory, edit it, and return its path in the console."""
    memory = await create_memory(client, facts[0], revisionLabels={"data_source": "321"})
    for fact in facts[1:]:
        clock.advance(timedelta(minutes=1))
        ok(await client.patch(path_of(memory["name"]), json={"fact": fact}))
    return f"{MEMORIES}/{memory['name'].rpartition('/')[2]}"


async def _revisions(client: httpx.AsyncClient, one: str) -> list[dict[str, str]]:
    found = ok(await client.get(f"memories/{one.rpartition('/')[2]}/revisions"))
    revisions: list[dict[str, str]] = found["memoryRevisions"]
    return revisions


async def test_any_two_revisions_are_compared_and_an_old_one_is_made_again(
    client: httpx.AsyncClient, clock: FixedClock, visitor: httpx.AsyncClient
) -> None:
    one = await _changed(client, clock, "I like green tea.", "I like black tea.", "I like coffee.")
    await sign_in(visitor, ADMIN_KEY)
    shown = await page(visitor, one)
    assert "data_source=321" in shown.text
    assert shown.text.count("Updated") == 2
    third, second, first = (
        each["name"].rpartition("/")[2] for each in await _revisions(client, one)
    )
    assert (shown.forms[one]["from"], shown.forms[one]["to"]) == (second, third)
    answer = await visitor.get(one, params={"from": first, "to": second})
    assert re.search(r"I like <del>green</del> <ins>black</ins> tea", answer.text)
    assert f"{one}/rollback?revision={first}" in shown.links
    rollback = f"{one}/rollback"
    done = await submit(visitor, f"{rollback}?revision={first}", rollback)
    assert (done.status_code, done.headers["location"]) == (303, one)
    actions = [each["action"] for each in await _revisions(client, one)]
    assert actions == ["ROLLED_BACK", "UPDATED", "UPDATED", "CREATED"]
    assert "says this already" in (await page(visitor, f"{rollback}?revision={first}")).text


async def test_revisions_of_different_pages_are_compared(
    client: httpx.AsyncClient, clock: FixedClock, visitor: httpx.AsyncClient
) -> None:
    """The choice stays as one turns pages, and the form of each page sends it again."""
    one = await _changed(client, clock, *(f"version {number:02}" for number in range(60)))
    await sign_in(visitor, ADMIN_KEY)
    newest = (await page(visitor, one)).forms[one]["to"]
    shown = await page(visitor, f"{one}?from={newest}&to={newest}")
    [older] = [link for link in shown.links if "page=" in link]
    second = await page(visitor, older)
    assert "From: the revision of another page" in second.text
    form = second.forms[one]
    assert (form["from"], form["to"]) == (newest, newest)
    oldest = (await _revisions(client, one))[-1]["name"].rpartition("/")[2]
    compared = await visitor.get(one, params={**form, "from": oldest})
    assert re.search(r"version <del>00</del> <ins>59</ins>", compared.text)
    assert "To: the revision of another page" in type(shown)(compared).text
    assert "From: the revision of another page" not in compared.text


async def test_a_form_sent_twice_changes_once(
    client: httpx.AsyncClient, clock: FixedClock, visitor: httpx.AsyncClient
) -> None:
    one = await _changed(client, clock, "I like tea.", "I like milk.")
    await sign_in(visitor, ADMIN_KEY)
    form = (await page(visitor, f"{one}/edit")).forms[f"{one}/edit"]
    for _ in range(2):
        sent = {**form, "fact": "I like\r\ncoffee.", "description": "new"}
        assert (await visitor.post(f"{one}/edit", data=sent)).status_code == 303
    revisions = await _revisions(client, one)
    assert [each["fact"] for each in revisions] == [
        "I like\ncoffee.",
        "I like milk.",
        "I like tea.",
    ]
    cleared = await submit(visitor, f"{one}/edit", f"{one}/edit", description="")
    assert cleared.status_code == 303
    assert "description" not in ok(await client.get(f"memories/{one.rpartition('/')[2]}"))


async def test_of_two_tabs_the_second_sees_all_versions_and_can_save_again(
    client: httpx.AsyncClient, clock: FixedClock, visitor: httpx.AsyncClient
) -> None:
    one = await _changed(client, clock, "was this")
    await sign_in(visitor, ADMIN_KEY)
    edit = f"{one}/edit"
    second = (await page(visitor, edit)).forms[edit]
    assert (await submit(visitor, edit, edit, fact="theirs")).status_code == 303
    answer = await visitor.post(edit, data={**second, "fact": "mine"})
    assert answer.status_code == 409
    for text in ("Somebody changed", "was this", "theirs", "mine"):
        assert text in answer.text
    again = type(await page(visitor, edit))(answer).forms[edit]
    assert again["fact"] == "mine"
    assert (await visitor.post(edit, data=again)).status_code == 303
    assert [each["fact"] for each in await _revisions(client, one)] == [
        "mine",
        "theirs",
        "was this",
    ]
    stale = {**second, "revision": "1"}
    assert (await visitor.post(f"{one}/rollback", data=stale)).status_code in {400, 404, 409}


async def test_all_that_a_memory_has_is_edited(
    client: httpx.AsyncClient, clock: FixedClock, visitor: httpx.AsyncClient
) -> None:
    one = await _changed(client, clock, "I like tea.")
    path = f"memories/{one.rpartition('/')[2]}"
    await sign_in(visitor, ADMIN_KEY)
    edit = f"{one}/edit"
    assert "structuredContent" not in (await page(visitor, edit)).forms[edit]
    metadata = {"source": {"stringValue": "chat"}, "page": {"doubleValue": 2.0}}
    wanted = {
        "context": "Said at breakfast.",
        "topics": "USER_PREFERENCES\r\n\r\nhot drinks",
        "metadata": json.dumps(metadata),
        "expireTime": "2026-02-01T08:30:00Z",
    }
    assert (await submit(visitor, edit, edit, **wanted)).status_code == 303
    memory = ok(await client.get(path))
    topics = [{"managedMemoryTopic": "USER_PREFERENCES"}, {"customMemoryTopicLabel": "hot drinks"}]
    assert {name: memory[name] for name in wanted} == {
        **wanted,
        "topics": topics,
        "metadata": metadata,
    }
    shown = (await page(visitor, edit)).forms[edit]
    assert shown["topics"] == "USER_PREFERENCES\nhot drinks"
    assert (await submit(visitor, edit, edit, description="new")).status_code == 303
    same = {name: ok(await client.get(path))[name] for name in wanted}
    assert same == {name: memory[name] for name in wanted}, "what nobody touched stays"
    assert (await submit(visitor, edit, edit, **dict.fromkeys(wanted, ""))).status_code == 303
    assert not wanted.keys() & ok(await client.get(path)).keys()


async def test_the_content_of_a_profile_is_edited(
    client: httpx.AsyncClient, visitor: httpx.AsyncClient
) -> None:
    profile = {"schemaId": "person", "data": {"city": "Oslo"}}
    body = {
        "scope": {"user_id": "42"},
        "memoryType": "STRUCTURED_PROFILE",
        "structuredContent": profile,
    }
    made = ok(await client.post("/memories", json=body))["response"]
    edit = f"{MEMORIES}/{made['name'].rpartition('/')[2]}/edit"
    await sign_in(visitor, ADMIN_KEY)
    moved = json.dumps({**profile, "data": {"city": "Bergen"}})
    assert (await submit(visitor, edit, edit, structuredContent=moved)).status_code == 303
    changed = ok(await client.get(f"memories/{made['name'].rpartition('/')[2]}"))
    assert changed["structuredContent"]["data"] == {"city": "Bergen"}


async def test_what_is_wrong_with_a_field_is_told_at_the_field(
    client: httpx.AsyncClient, clock: FixedClock, visitor: httpx.AsyncClient
) -> None:
    one = await _changed(client, clock, "I like tea.")
    await sign_in(visitor, ADMIN_KEY)
    edit = f"{one}/edit"
    for field, value, words in (
        ("fact", " ", "blank"),
        ("displayName", "x" * 5_000, "4096"),
        ("fact", "I like tea.", "Change a field"),
        ("metadata", "[]", "not a JSON object"),
        ("metadata", '{"a": 1}', "metadata.a"),
        ("expireTime", "soon", "must be"),
        ("topics", "x" * 300, "256"),
    ):
        answer = await submit(visitor, edit, edit, **{field: value})
        assert answer.status_code == 400
        assert words in answer.text
        assert f"fault-{field}" in answer.text
    form = (await page(visitor, edit)).forms[edit]
    for broken in ({"etag": ""}, {"requestId": ""}):
        answer = await visitor.post(edit, data={**form, "fact": "x", **broken})
        assert answer.status_code == 400
    answer = await visitor.post(edit, json=form)
    assert answer.status_code == 415
    assert (await visitor.post(edit, data={"fact": "x" * 9_000_000})).status_code == 413
    assert (await visitor.put(edit)).status_code == 405


async def test_who_may_not_change_is_not_offered_it_and_is_refused(
    client: httpx.AsyncClient, clock: FixedClock, signed_in: SignedIn
) -> None:
    one = await _changed(client, clock, "I like tea.", "I like coffee.")
    first = (await _revisions(client, one))[-1]["name"].rpartition("/")[2]
    for role, offered in (("viewer", False), ("user", False), ("editor", True), ("admin", True)):
        client_of_role = await signed_in(role)
        shown = await page(client_of_role, one)
        assert (f"{one}/edit" in shown.links) == offered, role
        assert any("rollback" in link for link in shown.links) == offered
        for url, form in (
            (f"{one}/edit", {"fact": "I like water.", "was": '{"fact": "I like coffee."}'}),
            (f"{one}/rollback", {"revision": first}),
        ):
            token = shown.forms["/console/sign-out"]["token"]
            made = {"token": token, "requestId": f"{role}{url}", "etag": "1", **form}
            answer = await client_of_role.post(url, data=made)
            assert answer.status_code == (409 if offered else 403), (role, answer.text)
            assert ("No permission" in answer.text) != offered
    blind = await signed_in(permissions=["memories.get"])
    assert "may not see revisions" in (await page(blind, one)).text
    assert "No permission" in (await page(blind, MEMORIES, 403)).text


async def test_a_bound_key_meets_nobody_else_whatever_its_url(
    client: httpx.AsyncClient, clock: FixedClock, signed_in: SignedIn
) -> None:
    mine = await _changed(client, clock, "my own")
    made = await create_memory(client, _OF_ANOTHER, {"user_id": "7"})
    ok(await client.patch(path_of(made["name"]), json={"fact": f"{_OF_ANOTHER}, changed"}))
    other = f"{MEMORIES}/{made['name'].rpartition('/')[2]}"
    revision = (await _revisions(client, other))[-1]["name"].rpartition("/")[2]
    bound = await signed_in("editor", scope_conditions={"user_id": ["42"]})
    shown = await page(bound, MEMORIES)
    assert "my own" in shown.text
    assert "user_id=42" in shown.text
    token = shown.forms["/console/sign-out"]["token"]
    for url in (
        MEMORIES,
        f"{MEMORIES}?scope=user_id%3D7",
        f"{MEMORIES}?text=secret",
        f"{MEMORIES}?topic=x%22+OR+fact%3A*",
        "/console",
        other,
        f"{other}/edit",
        f"{other}?from={revision}&to={revision}",
        f"{other}/rollback?revision={revision}",
        f"{mine}?from={revision}&to={revision}",
        f"{mine}/rollback?revision={revision}",
        f"{mine}%2F..%2F{other.rpartition('/')[2]}",
        f"/console/e/1%2Fmemories%2F{other.rpartition('/')[2]}%3F/memories",
    ):
        answer = await bound.get(url)
        assert _OF_ANOTHER not in answer.text, url
        if other.rpartition("/")[2] in url:
            assert answer.status_code == 404, url
    form = {"token": token, "requestId": "a", "etag": "2", "fact": "x", "revision": revision}
    for url in (f"{other}/edit", f"{other}/rollback"):
        answer = await bound.post(url, data=form)
        assert (answer.status_code, _OF_ANOTHER in answer.text) == (404, False)
    assert len(await _revisions(client, other)) == 2


async def test_every_page_has_the_headers_and_its_own_request_id(
    client: httpx.AsyncClient, clock: FixedClock, visitor: httpx.AsyncClient
) -> None:
    one = await _changed(client, clock, "I like tea.")
    await sign_in(visitor, ADMIN_KEY)
    for url, status in (
        ("/console", 200),
        ("/console/", 200),
        (MEMORIES, 200),
        (one, 200),
        (f"{one}x", 404),
        ("/console/nowhere", 404),
        ("/console/e/2/memories", 404),
        ("/console/e/x/memories", 404),
        ("/console/sign-in", 303),
        ("/console/static/0/console.css", 404),
    ):
        answer = await visitor.get(url)
        headers = answer.headers
        assert answer.status_code == status, url
        assert headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'self';"
        )
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff"
        assert "camera=()" in headers["permissions-policy"]
        if status == 404:
            assert headers["x-request-id"] in answer.text
