"""All data of an engine in the console: new, deleted, archived, restored, imported, scanned."""

import gzip
import json
from urllib.parse import quote

import httpx
import pytest

from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.api.console.conftest import SignedIn
from tests.support.archives import export
from tests.support.audit import events
from tests.support.bank import ENGINE_URL, Json, listed, ok
from tests.support.console import Page, page, submit
from tests.support.operations import USER, create_memory

HERE = "/console/e/1"
NEW = "/console/engines/new"
_HOSTILE = "<script>alert(1)</script> \u202e 東京 😀"
_ACTS = (f"{HERE}/archive", f"{HERE}/reembed", f"{HERE}/scan", f"{HERE}/import", f"{HERE}/delete")


def _lines(*facts: str, **fields: object) -> bytes:
    memories = ({"fact": fact, "scope": USER, **fields} for fact in facts)
    return "\n".join(map(json.dumps, memories)).encode()


async def send_file(
    client: httpx.AsyncClient,
    url: str,
    file: bytes,
    form: dict[str, str] | None = None,
    **fields: str,
) -> httpx.Response:
    """Choose a file in the form of a page, and send it."""
    form = form or (await page(client, url)).forms[url]
    form.pop("file", None)
    return await client.post(url, data={**form, **fields}, files={"file": ("a file", file)})


async def _named(admin: httpx.AsyncClient, name: str) -> str:
    """Create an engine; return the path of its page."""
    answer = await submit(admin, NEW, NEW, displayName=name)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


async def test_an_engine_is_created_and_shown_by_its_name(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    admin = await signed_in("admin")
    shown = await page(admin, "/console")
    assert NEW in shown.links
    here = await _named(admin, _HOSTILE)
    answer = await admin.get(here)
    assert "<script>alert" not in answer.text
    # At the side, in the path above the page, and as its title.
    assert Page(answer).text.count("alert(1)</script> [U+202E]") >= 3
    assert f"{here}/data" in Page(answer).links
    memories = await page(admin, f"{here}/memories")
    assert "Engine " + here.rpartition("/")[2] not in memories.text
    assert await _surface_of(client, "createReasoningEngine") == "console"


async def _surface_of(client: httpx.AsyncClient, method: str) -> str:
    """Return the surface in the only audit event of a method."""
    events: list[Json] = ok(await client.get("http://test/v1/auditEvents"))["auditEvents"]
    (event,) = [one for one in events if one["method"] == method]
    return str(event["surface"])


async def test_a_form_sent_twice_creates_one_engine(signed_in: SignedIn) -> None:
    admin = await signed_in("admin")
    form = {**(await page(admin, NEW)).forms[NEW], "displayName": "Twice"}
    places = {(await admin.post(NEW, data=form)).headers["location"] for _ in range(2)}
    assert len(places) == 1
    assert (await page(admin, "/console")).text.count("Twice") >= 1


async def test_a_new_name_is_shown_at_once(signed_in: SignedIn) -> None:
    admin = await signed_in("admin")
    here = await _named(admin, "Before")
    assert "Before" in (await page(admin, f"{here}/memories")).text
    answer = await submit(admin, f"{here}/settings", f"{here}/settings", displayName="After")
    assert answer.status_code == 303
    shown = (await page(admin, f"{here}/memories")).text
    assert "After" in shown
    assert "Before" not in shown


async def test_a_deletion_asks_for_the_name_and_counts_first(
    client: httpx.AsyncClient, runner: Runner, signed_in: SignedIn
) -> None:
    admin = await signed_in("admin")
    here = await _named(admin, "Travel \u200bagent")
    api = f"http://test/v1/reasoningEngines/{here.rpartition('/')[2]}"
    ok(await client.post(f"{api}/memories", json={"fact": "I like tea.", "scope": USER}))
    url = f"{here}/delete"
    shown = await page(admin, url)
    for words in ("Delete this engine?", "Travel [U+200B]agent", "Nothing brings it back", "1"):
        assert words in shown.text, words
    assert f"{here}/data" in shown.links
    for typed in ("", "Travel", here.rpartition("/")[2]):
        answer = await submit(admin, url, url, typed=typed)
        assert answer.status_code == 400
        assert "This is not the name of the engine." in answer.text
    ok(await client.get(api))
    answer = await submit(admin, url, url, typed=" Travel [U+200B]agent ")
    assert (answer.status_code, answer.headers["location"]) == (303, "/console")
    assert (await client.get(api)).status_code == 404
    await runner.run_pending()
    assert "Travel" not in (await page(admin, "/console")).text
    assert await _surface_of(client, "deleteReasoningEngine") == "console"


async def test_an_engine_without_a_name_is_deleted_by_its_id(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    admin = await signed_in("admin")
    answer = await submit(admin, f"{HERE}/delete", f"{HERE}/delete", typed="1")
    assert answer.status_code == 303
    assert (await client.get(ENGINE_URL)).status_code == 404


async def test_an_archive_goes_into_a_new_engine(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    ok(await client.patch(ENGINE_URL, json={"displayName": "Travel"}))
    await create_memory(client, "I like tea.")
    admin = await signed_in("admin")
    archive = await admin.get(f"{HERE}/archive", params={"sessions": "true", "vectors": "true"})
    assert archive.status_code == 200
    named = archive.headers["content-disposition"]
    assert named == 'attachment; filename="1-20260115T120000Z.omb.gz"'
    head = json.loads(gzip.decompress(archive.content).partition(b"\n")[0])
    assert head["options"] == {"vectors": True, "artifacts": False, "sessions": True}
    form = (await page(admin, NEW)).forms[NEW]
    answer = await admin.post(NEW, data={**form, "displayName": "For now", "then": "restore"})
    url = answer.headers["location"]
    assert url.endswith("/restore")
    restored = await send_file(admin, url, archive.content)
    assert restored.status_code == 200, restored.text
    shown = Page(restored)
    assert "The archive is restored." in shown.text
    here = url.removesuffix("/restore")
    assert here in shown.links
    opened = await page(admin, f"{here}/memories")
    assert "I like tea." in opened.text
    # The name comes from the archive.
    assert "Open Memory BankTravel, choose" in opened.text


@pytest.mark.parametrize("file", [b"", b"no archive", gzip.compress(b"{}\n", mtime=0)])
async def test_what_is_no_archive_is_refused_in_words(file: bytes, signed_in: SignedIn) -> None:
    admin = await signed_in("admin")
    url = f"{await _named(admin, 'New')}/restore"
    answer = await send_file(admin, url, file, extendRecovery="true")
    assert answer.status_code == 400, answer.text
    shown = Page(answer)
    assert "The archive is restored" not in shown.text
    assert shown.forms[url]["extendRecovery"] == "true"
    assert f"{url.removesuffix('restore')}delete" in shown.links


async def test_a_restore_that_breaks_off_goes_on(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await create_memory(client, "I like tea.")
    archive = await export(client)
    admin = await signed_in("admin")
    url = f"{await _named(admin, 'New')}/restore"
    for file, status in ((archive[:-20], 400), (archive, 200)):
        answer = await send_file(admin, url, file)
        assert answer.status_code == status, answer.text
    assert "I like tea." in (await page(admin, url.replace("restore", "memories"))).text


async def test_an_engine_in_use_takes_no_archive(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await create_memory(client, "I like tea.")
    admin = await signed_in("admin")
    answer = await send_file(admin, f"{HERE}/restore", await export(client))
    assert answer.status_code == 400
    assert "not empty" in Page(answer).text
    assert await listed(client) == ["I like tea."]


async def test_a_dry_run_comes_before_an_import(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    admin = await signed_in("admin")
    url = f"{HERE}/import"
    file = _lines("I like tea.", "I like milk.") + b"\n{\n" + _lines("I like rum.", ttl="x")
    tried = await send_file(admin, url, file)
    shown = Page(tried)
    assert tried.status_code == 200, tried.text
    for words in ("What an import would do", "New2", "Failed2", "Line 3", "Line 4ttl:", "Import 2"):
        assert words.replace(" ", "") in shown.text.replace(" ", ""), (words, shown.text)
    assert await listed(client) == []
    done = await send_file(admin, url, file, shown.forms[url])
    shown = Page(done)
    assert "What the import did" in shown.text
    assert sorted(await listed(client)) == ["I like milk.", "I like tea."]
    (operation,) = [link for link in shown.links if "/operations/" in link]
    assert f"{operation}/undo" in (await page(admin, operation)).links
    methods = [one["method"] for one in await events(client) if one["method"] == "importMemories"]
    assert methods == ["importMemories"] * 2


async def test_a_file_that_is_sent_twice_is_imported_once(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    admin = await signed_in("admin")
    url = f"{HERE}/import"
    form = Page(await send_file(admin, url, _lines("I like tea."))).forms[url]
    answers = [await send_file(admin, url, _lines("I like tea."), dict(form)) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 409]
    assert "was sent before" in answers[1].text
    assert await listed(client) == ["I like tea."]


async def test_memories_are_overwritten_if_it_is_said(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    admin = await signed_in("admin")
    await _import(client, _lines("I like tea.", memoryId="drink"))
    url = f"{HERE}/import"
    file = _lines("I like milk.", memoryId="drink")
    shown = Page(await send_file(admin, url, file))
    assert "The file would change nothing." in shown.text
    assert shown.forms[url]["validateOnly"] == "true"
    shown = Page(await send_file(admin, url, file, overwrite="true"))
    assert shown.forms[url]["overwrite"] == "true"
    await send_file(admin, url, file, shown.forms[url])
    assert await listed(client) == ["I like milk."]


async def _import(client: httpx.AsyncClient, file: bytes) -> None:
    headers = {"content-type": "application/x-ndjson"}
    ok(await client.post("/memories:import", content=file, headers=headers))


async def test_a_file_may_be_longer_than_any_other_form(
    client: httpx.AsyncClient, settings: Settings, signed_in: SignedIn
) -> None:
    admin = await signed_in("admin")
    padding = (b" " * 1_000_000 + b"\n") * (settings.max_body_bytes // 1_000_000 + 1)
    url = f"{HERE}/import"
    file = padding + _lines("I like tea.")
    form = Page(await send_file(admin, url, file)).forms[url]
    assert (await send_file(admin, url, file, form)).status_code == 200
    assert await listed(client) == ["I like tea."]


async def test_a_form_of_another_session_is_refused_before_its_file(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    admin, other = await signed_in("admin"), await signed_in("admin")
    for url in (f"{HERE}/import", f"{HERE}/restore"):
        form = (await page(other, url)).forms[url]
        answer = await send_file(
            admin, url, _lines("I like tea."), {**form, "validateOnly": "false"}
        )
        assert answer.status_code == 403
    assert await listed(client) == []


async def test_vectors_are_made_and_values_found(
    client: httpx.AsyncClient, runner: Runner, signed_in: SignedIn
) -> None:
    memory = (await create_memory(client, "Write to anna.k@example.com."))["name"].rpartition("/")[
        2
    ]
    admin = await signed_in("admin")
    shown = await page(admin, f"{HERE}/data")
    for words in (
        "Vectors now",
        "Vectors then",
        "Memories to embed",
        "E-mail addresses",
        "Storage",
    ):
        assert words in shown.text, words
    answer = await submit(admin, f"{HERE}/data", f"{HERE}/reembed")
    assert "Make vectors" in (await page(admin, answer.headers["location"])).text
    form = (await page(admin, f"{HERE}/data")).forms[f"{HERE}/scan"]
    answer = await admin.post(f"{HERE}/scan", data={**form, "kinds": ["EMAIL", "PHONE"]})
    assert answer.status_code == 303, answer.text
    await runner.run_pending()
    found = await page(admin, answer.headers["location"])
    assert "E-mail addresses, memories" in found.text
    assert f"{HERE}/memories/{memory}" in found.links
    assert "anna.k" not in found.text


@pytest.mark.parametrize(
    ("roles", "reach", "offered"),
    [
        (("viewer",), {}, set()),
        (("user",), {}, {"import"}),
        (("editor",), {}, {"import"}),
        (("admin",), {"engines": ["1"]}, {"import", "delete", "archive", "reembed", "scan"}),
        (("admin",), {"scope_conditions": {"user_id": ["42"]}}, {"import"}),
    ],
)
async def test_only_what_a_key_may_do_is_offered(
    client: httpx.AsyncClient,
    signed_in: SignedIn,
    roles: tuple[str, ...],
    reach: dict[str, object],
    offered: set[str],
) -> None:
    await create_memory(client, "I like tea.")
    reader = await signed_in(*roles, **reach)
    shown = await page(reader, f"{HERE}/data")
    found = {url.rpartition("/")[2] for url in (*shown.links, *shown.forms) if url in _ACTS}
    assert found == offered
    listed_ = await page(reader, "/console")
    assert NEW not in listed_.links
    assert (f"{HERE}/delete" in listed_.links) == ("delete" in offered)
    token = shown.forms.get(f"{HERE}/sign-out", {}) or (await _token(reader))
    for act in sorted({"reembed", "scan", "delete"} - offered):
        answer = await reader.post(f"{HERE}/{act}", data={**token, "requestId": "x", "typed": "1"})
        # A bound key may scan, but only by the API, where it names one of its scopes.
        assert answer.status_code == (400 if act == "scan" and reach else 403), act
    if "archive" not in offered:
        assert (await reader.get(f"{HERE}/archive")).status_code == 403
        answer = await send_file(reader, f"{HERE}/restore", b"x", {**token, "requestId": "y"})
        assert answer.status_code == 403
    if "import" not in offered:
        answer = await send_file(reader, f"{HERE}/import", b"{}", {**token, "requestId": "z"})
        assert answer.status_code == 403
    answer = await reader.post(NEW, data={**token, "requestId": "n", "displayName": "Mine"})
    assert answer.status_code == 403


async def _token(client: httpx.AsyncClient) -> dict[str, str]:
    return {"token": (await page(client, "/console")).forms["/console/sign-out"]["token"]}


async def test_an_engine_out_of_reach_is_not_there(signed_in: SignedIn) -> None:
    admin = await signed_in("admin")
    here = await _named(admin, "A canary")
    bound = await signed_in("admin", engines=["1"])
    token = await _token(bound)
    for url in ("data", "delete", "import", "restore", "archive", "memories"):
        answer = await bound.get(f"{here}/{url}")
        assert answer.status_code == 404, url
        assert "A canary" not in answer.text, url
    for url in ("delete", "reembed", "scan"):
        answer = await bound.post(
            f"{here}/{url}", data={**token, "requestId": url, "typed": "A canary"}
        )
        assert answer.status_code == 404, url
    for url in ("import", "restore"):
        answer = await send_file(bound, f"{here}/{url}", b"", {**token, "requestId": url})
        assert answer.status_code == 404, url
    assert "A canary" in (await page(admin, here)).text


async def test_a_bound_key_imports_within_its_scopes(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    bound = await signed_in("editor", scope_conditions={"user_id": ["42"]})
    url = f"{HERE}/import"
    theirs = json.dumps({"fact": "x", "scope": {"user_id": "7"}}).encode()
    shown = Page(await send_file(bound, url, _lines("I like tea.") + b"\n" + theirs))
    assert "Import 1 memory" in shown.text
    done = await send_file(bound, url, _lines("I like tea.") + b"\n" + theirs, shown.forms[url])
    assert done.status_code == 200
    assert await listed(client) == ["I like tea."]


async def test_a_file_stays_in_the_browser_between_the_dry_run_and_the_import(
    signed_in: SignedIn,
) -> None:
    """The field of the file is outside the parts that an answer replaces."""
    admin, url = await signed_in("admin"), f"{HERE}/import"
    answer = await send_file(admin, url, _lines("I like tea."))
    whole = answer.text
    replaced = whole.partition('id="sent"')[2].partition('<label for="file">')[0]
    assert 'hx-select-oob="#sent,#answers"' in whole
    assert 'type="file"' in whole
    assert 'type="file"' not in replaced
    assert "hx-retarget" not in answer.headers
    form = Page(answer).forms[url]
    assert "validateOnly" not in form
    done = await send_file(admin, url, _lines("I like tea."), form)
    # The form goes with the last answer.
    assert (done.headers["hx-retarget"], url in Page(done).forms) == ("main", False)


async def test_a_form_that_htmx_sends_whole_is_refused_in_words(signed_in: SignedIn) -> None:
    admin, url = await signed_in("admin"), f"{HERE}/import"
    sent = {"hx-request": "true", "hx-source": "form", "hx-current-url": f"http://test{url}"}
    refused = await admin.post(url, data={"token": "x"}, headers=sent)
    assert (refused.status_code, refused.headers["hx-retarget"]) == (400, "main")
    admin.cookies.clear()
    answer = await admin.post(url, data={"token": "x"}, headers=sent)
    assert answer.headers["hx-redirect"].endswith(f"next={quote(url, safe='')}")


async def test_a_restored_engine_takes_the_name_of_the_form(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    await create_memory(client, "I like tea.")
    archive = await export(client)
    admin = await signed_in("admin")
    url = f"{await _named(admin, 'New')}/restore"
    assert (await page(admin, url)).forms[url]["displayName"] == ""
    restored = await send_file(admin, url, archive, displayName="Copy of 1")
    assert restored.status_code == 200, restored.text
    assert "Copy of 1" in (await page(admin, url.removesuffix("/restore"))).text
    # A name that is refused does not hide that the archive is restored.
    url = f"{await _named(admin, 'Newer')}/restore"
    restored = await send_file(admin, url, archive, displayName="n" * 129)
    assert restored.status_code == 200, restored.text
    assert "The archive is restored" in restored.text
    assert "yours was refused" in restored.text
