"""Task memory: what is stored, who sees its text, questions, and policies of tools."""

import json
import re

import httpx
import pytest

from app.platform.operations.services.runner import Runner
from app.surfaces.console.pages.tasks import MAX_CHARS, passages
from tests.api.console.conftest import SignedIn
from tests.conftest import ADMIN_KEY
from tests.support.bank import ok
from tests.support.console import Page, page, sign_in, submit
from tests.support.pdfs import PDF, of_pages, scanned
from tests.support.readers import FACT, QUESTION
from tests.support.tasks import MEMORY, store, text_output, upload

TASKS = "/console/e/1/tasks"
TOOLS = f"{TASKS}/tools"
NAMESPACE = f"{TOOLS}/n"
_HOSTILE = "<script>alert(1)</script> \u202eevil."


@pytest.fixture
async def filled(client: httpx.AsyncClient) -> None:
    """A namespace of the user 42 with a text, a JSON and a blob."""
    ok(await store(client, {"name": "a", "kind": "text", "text": "x"}, userId="42"))
    path = f"{MEMORY}/namespaces/n/artifacts"
    said = f"{_HOSTILE}\r\n\r\n{FACT}\r\n"
    ok(await upload(client, said.encode(), f"{path}/prices", "text/plain"))
    ok(await upload(client, b'{"a": 1}', f"{path}/data", "application/json"))
    ok(await upload(client, b"\x89PNG\r\n", f"{path}/picture", "image/png"))
    activities = {"read": {}, "delete": {"deny": True}}
    policy = {"allowedModels": ["desk"], "readers": ["query"], "activities": activities}
    flags = {"sensitive": True, "localOnly": True}
    path = f"{MEMORY}/toolPolicies/mail"
    ok(await client.put(path, json={**policy, **flags, "ttl": "60s"}))


async def test_memories_lead_to_namespaces_artifacts_and_policies(
    filled: None, signed_in: SignedIn
) -> None:
    del filled
    viewer = await signed_in("viewer")
    assert TOOLS in (await page(viewer, TASKS)).links
    shown = await page(viewer, TOOLS)
    assert NAMESPACE in shown.links
    rules = ("Local models only desk query", "read, delete (denied)")
    for words in ("24 h 0 min left", "mail", "60s", *rules):
        assert words in shown.text
    shown = await page(viewer, NAMESPACE)
    assert "image/png" in shown.text
    assert NAMESPACE not in shown.forms, "asking needs a permission"
    shown = await page(viewer, f"{NAMESPACE}/prices")
    assert "may not see what artifacts hold" in shown.text
    assert FACT not in shown.text
    for gone in (f"{TASKS}/tools/m", f"{NAMESPACE}/b"):
        assert "Not found" in (await page(viewer, gone, 404)).text
    blind = await signed_in(permissions=["memories.get"])
    assert "No permission" in (await page(blind, TASKS, 403)).text


async def test_an_engine_without_artifacts_says_so(signed_in: SignedIn) -> None:
    assert "Nothing is stored here yet" in (await page(await signed_in("viewer"), TASKS)).text


async def test_text_is_shown_to_those_who_may_see_it_and_stays_text(
    filled: None, visitor: httpx.AsyncClient
) -> None:
    del filled
    await sign_in(visitor, ADMIN_KEY)
    answer = await visitor.get(f"{NAMESPACE}/prices")
    assert FACT in Page(answer).text
    assert "<script>alert" not in answer.text
    assert "[U+202E]evil" in answer.text
    assert "<img " in (await visitor.get(f"{NAMESPACE}/picture")).text
    assert '{"a": 1}' in (await page(visitor, f"{NAMESPACE}/data")).text


async def test_cited_passages_are_marked_in_the_text(
    filled: None, signed_in: SignedIn, visitor: httpx.AsyncClient
) -> None:
    del filled
    await sign_in(visitor, ADMIN_KEY)
    form = (await page(visitor, NAMESPACE)).forms[NAMESPACE]
    for _ in range(2):
        answer = await visitor.post(NAMESPACE, data={**form, "question": QUESTION})
        assert (answer.status_code, f"<mark>{FACT}</mark>" in answer.text) == (200, True)
    user = await signed_in("user")
    answer = await submit(user, NAMESPACE, NAMESPACE, question=QUESTION)
    assert (FACT in answer.text, "<mark>" in answer.text) == (True, False)
    answer = await submit(user, NAMESPACE, NAMESPACE, question=" ")
    assert answer.status_code == 400
    assert "query: must match" in Page(answer).text
    viewer = await signed_in("viewer")
    token = (await page(viewer, TASKS)).forms["/console/sign-out"]["token"]
    sent = {"requestId": "1", "question": QUESTION}
    for fields in (sent, {**sent, "token": token}):
        assert (await viewer.post(NAMESPACE, data=fields)).status_code == 403


_DOCUMENTS = {
    "application/json": json.dumps({"prices": [{"note": FACT}], "x": "y\r\n\u00e9"}),
    "text/csv": f"name,note\r\nkettle,{FACT}\r\n",
    "text/html": f"<html><h1>Prices</h1><p>&eacute;</p><p>{FACT}</p></html>",
    "text/plain; charset=latin-1": f"\u00e9\r\n\r\n{FACT}",
}


async def test_passages_are_marked_in_the_text_that_readers_get(
    client: httpx.AsyncClient, visitor: httpx.AsyncClient
) -> None:
    await sign_in(visitor, ADMIN_KEY)
    for number, (media_type, content) in enumerate(_DOCUMENTS.items()):
        encoded = content.encode("latin-1" if "latin-1" in media_type else "utf-8")
        path = f"{MEMORY}/namespaces/n{number}/artifacts/prices"
        ok(await upload(client, encoded, path, media_type))
        here = f"{NAMESPACE}{number}"
        answer = await submit(visitor, here, here, question=QUESTION)
        assert re.search(f"<mark>[^<]*{FACT}", answer.text), (media_type, answer.text)
        # What is seen can be asked for again, as a question of its own.
        assert f"namespaces/n{number}:query" in Page(answer).text
        assert "requestId=" not in Page(answer).text
        stored = (await page(visitor, f"{here}/prices")).text
        assert (FACT in stored, "\ufffd" in answer.text + stored) == (True, False), media_type


async def test_a_bound_key_meets_no_artifact_of_somebody_else(
    filled: None, client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    del filled
    other = "/taskMemories/tools/namespaces/secret-of-seven"
    ok(await store(client, {"name": "b", "kind": "text", "text": FACT}, path=other, userId="7"))
    bound = await signed_in(
        "user", permissions=["artifacts.content"], scope_conditions={"user_id": ["42"]}
    )
    token = (await page(bound, NAMESPACE)).forms[NAMESPACE]["token"]
    theirs = f"{TOOLS}/secret-of-seven"
    for url, status in ((TASKS, 200), (TOOLS, 200), (theirs, 404), (f"{theirs}/b", 404)):
        answer = await bound.get(url)
        assert answer.status_code == status, url
        assert FACT not in answer.text
        assert status == 404 or "secret-of-seven" not in answer.text
    fields = {"token": token, "requestId": "1", "question": QUESTION}
    answer = await bound.post(theirs, data=fields)
    assert (answer.status_code, FACT in answer.text) == (404, False)


async def test_every_artifact_is_on_one_page(
    client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    many = [{"name": f"artifact-{number:02}", **text_output("x")} for number in range(60)]
    ok(await store(client, *many))
    viewer, url, seen = await signed_in("viewer"), NAMESPACE, set[str]()
    for _ in range(2):
        shown = await page(viewer, url)
        seen |= {link for link in shown.links if "/artifact-" in link}
        url = shown.next
    assert (len(seen), url) == (60, "")


async def test_who_may_see_contents_downloads_them_and_looks_at_images(
    filled: None, client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    del filled
    svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    path = f"{MEMORY}/namespaces/n/artifacts"
    for name, kind in (("drawing", "image/svg+xml"), ("page.html", "text/html"), ("empty", "a/b")):
        content = b"" if name == "empty" else svg
        ok(await upload(client, content, f"{path}/{name}", kind))
    reader = await signed_in("admin")
    for name, kind, is_image in (
        ("picture", "image/png", True),
        ("drawing", "image/svg+xml", False),
        ("page.html", "text/html", False),
        ("empty", "a/b", False),
    ):
        one = f"{NAMESPACE}/{name}"
        shown = await reader.get(one)
        assert f"{one}/content" in Page(shown).links
        assert (f'<img src="{one}/content"' in shown.text) == is_image, name
        assert "<svg xmlns" not in shown.text
        answer = await reader.get(f"{one}/content")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "img-src 'self';" in answer.headers["content-security-policy"]
    viewer = await signed_in("viewer")
    shown = await viewer.get(f"{NAMESPACE}/picture")
    assert "/content" not in shown.text
    assert "No permission" in (await page(viewer, f"{NAMESPACE}/picture/content", 403)).text
    assert "Not found" in (await page(reader, f"{NAMESPACE}/gone/content", 404)).text


async def test_the_text_that_readers_see_is_shown_page_by_page(
    client: httpx.AsyncClient, runner: Runner, signed_in: SignedIn
) -> None:
    path = f"{MEMORY}/namespaces/n/artifacts"
    ok(await upload(client, of_pages("One", f"Two\n{FACT}", "Three"), f"{path}/book", PDF))
    ok(await upload(client, scanned(), f"{path}/scan", PDF))
    ok(await upload(client, b'{"a": 1}', f"{path}/data", "application/json"))
    reader = await signed_in("admin")
    book = f"{NAMESPACE}/book"
    assert "still being indexed" in (await page(reader, book)).text
    await runner.run_pending()
    shown = await page(reader, book)
    assert ("One" in shown.text, "Page 1 of 3" in shown.text) == (True, True)
    assert f"{book}?page=2" in shown.links
    shown = await page(reader, f"{book}?page=2")
    assert FACT in shown.text
    assert {f"{book}?page={number}" for number in (1, 3)} <= set(shown.links)
    assert "must be from 1 to 3" in (await page(reader, f"{book}?page=4", 400)).text
    assert "no text" in (await page(reader, f"{NAMESPACE}/scan")).text
    assert f"{NAMESPACE}/data?page=1" in (await page(reader, f"{NAMESPACE}/data")).links
    assert "Text that readers see" not in (await page(reader, f"{NAMESPACE}/data?page=1")).text
    answer = await submit(reader, NAMESPACE, NAMESPACE, question=QUESTION)
    assert f"{book}?page=2" in Page(answer).links
    assert re.search(f"<mark>[^<]*{FACT}", answer.text)
    viewer = await signed_in("viewer")
    for url in (book, f"{book}?page=2"):
        shown = await page(viewer, url)
        assert "may not see what artifacts hold" in shown.text
        assert FACT not in shown.text


def test_of_a_long_text_what_stands_around_the_passages_is_shown() -> None:
    text = "".join(f"{number:06} " for number in range(10_000))
    for cited in ([(7, 13)], [(7, 13), (10, 20), (20, 25)], [(0, 6), (60_000, 90_000)]):
        parts = passages(text, cited)
        marked = "".join(part.text for part in parts if part.is_cited)
        assert marked == "".join(
            text[at] for at in range(len(text)) if any(i <= at < j for i, j in cited)
        )
        assert sum(len(part.text) for part in parts) < MAX_CHARS
    assert len(passages(text, [])[0].text) == MAX_CHARS
    assert passages("short", [(9, 12)]) == passages("short", [])
    assert [one.text for one in passages("one two", [(4, 7)])] == ["one ", "two"]
