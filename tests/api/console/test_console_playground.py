"""The playground: a dry run, what is kept and found, its emptying, and what is refused."""

import asyncio
import json
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest

from app.platform.operations.services.runner import Runner
from tests.api.console.conftest import SignedIn
from tests.support.bank import ok
from tests.support.console import ADDRESS, MEMORIES, Page, page
from tests.support.operations import create_memory

TRY = "/console/e/1/try"
_TALK = f"{TRY}#results"
_TEA = "User: I like green tea.\nAssistant: Noted.\nUser: I live in Oslo."
Json = dict[str, Any]


async def _sent(
    browser: httpx.AsyncClient, runner: Runner, form: dict[str, str], **fields: str
) -> Page:
    """Send a form while a worker runs, again if that is slow, and return the page."""
    sending = asyncio.create_task(browser.post(TRY, data={**form, **fields}))
    while not sending.done():
        await runner.run_pending()
        await asyncio.sleep(0.02)
    answer = await sending
    assert answer.status_code == 200, answer.text
    if "It is not ready yet" in answer.text:
        return await _sent(browser, runner, Page(answer).forms[_TALK], do=fields["do"])
    return Page(answer)


async def _tried(browser: httpx.AsyncClient, runner: Runner, **fields: str) -> Page:
    """Fill in the form of the first visit, look at the estimate if there is one, and send it."""
    form = (await page(browser, TRY)).forms[_TALK]
    if form["estimated"]:
        form = Page(await browser.post(TRY, data={**form, **fields, "do": ""})).forms[_TALK]
    return await _sent(browser, runner, form, **fields)


async def _listed(client: httpx.AsyncClient, what: str = "memories") -> list[Json]:
    found: list[Json] = ok(await client.get(what)).get(what, [])
    return found


async def test_one_press_shows_what_the_example_would_write_and_writes_nothing(
    signed_in: SignedIn, client: httpx.AsyncClient, runner: Runner
) -> None:
    admin = await signed_in("admin")
    assert TRY in (await page(admin, MEMORIES)).links
    first = await page(admin, TRY)
    assert "Nothing is sent anywhere" in first.text
    form = first.forms[_TALK]
    assert "I prefer window seats" in form["talk"]
    shown = await _sent(admin, runner, form, do="preview")
    assert "I prefer window seats." in shown.text
    for words in ("Created", "Written by built-in rules", "memories:generate", "validateOnly"):
        assert words in shown.text, words
    assert shown.forms[_TALK]["talk"] == form["talk"]
    assert shown.forms[_TALK]["requestId"] != form["requestId"]
    for what in ("memories", "sessions"):
        assert await _listed(client, what) == []
    assert ok(await client.get("memories/-/revisions")) == {"memoryRevisions": []}
    german = await page(admin, f"{TRY}?example=Ein+Umzug")
    assert "Kassel" in german.forms[_TALK]["talk"]


async def test_a_bound_key_keeps_within_its_reach_finds_it_and_empties_it(
    signed_in: SignedIn, client: httpx.AsyncClient, runner: Runner
) -> None:
    real = await create_memory(client, "I like coffee.", {"user_id": "42"})
    bound = await signed_in("admin", scope_conditions={"user_id": ["43", "42"]})
    shown = await _tried(
        bound, runner, do="keep", talk=_TEA, question="Which tea do I like?", scope="user_id=7"
    )
    kept = {one["fact"]: one["scope"] for one in await _listed(client) if one != real}
    own = kept["I like green tea."]
    assert kept["I live in Oslo."] == own
    assert own == {"user_id": "42", "playground": own["playground"]}
    for words in ("Kept", "Created 2", "Hybrid", "Vector", "Words", "You are a helpful assistant."):
        assert words in shown.text, words
    assert "coffee" not in shown.text
    (session,) = await _listed(client, "sessions")
    assert (session["userId"], session["displayName"]) == ("42", "Try it")
    events = f"sessions/{session['name'].rpartition('/')[2]}/events"
    assert ok(await client.get(events)) == {"sessionEvents": []}
    asked = await _sent(bound, runner, shown.forms[_TALK], do="ask", question="Where do I live?")
    assert asked.forms[_TALK]["talk"] == _TEA
    assert asked.text.index("I live in Oslo.") < asked.text.index("I like green tea.")
    other = await create_memory(client, "Other.", {"user_id": "42", "playground": "another"})
    (clear,) = (link for link in asked.links if "/deletion?" in link)
    answer = await bound.get(clear)
    assert "Memories to delete: 2" in Page(answer).text
    (action,) = (one for one in Page(answer).forms if one.endswith("/deletion"))
    done = await bound.post(urljoin(ADDRESS, action), data=Page(answer).forms[action])
    assert done.status_code == 303, done.text
    left = {one["name"] for one in await _listed(client)}
    assert left == {real["name"], other["name"]}


async def test_a_second_talk_is_compared_with_what_is_kept(
    signed_in: SignedIn, client: httpx.AsyncClient, runner: Runner
) -> None:
    user = await signed_in("user")
    kept = await _tried(user, runner, do="keep")
    assert "/deletion?" not in "".join(kept.links), "its emptying needs a permission"
    before = await _listed(client)
    later = await page(user, f"{TRY}?example=A+change+of+mind")
    shown = await _sent(user, runner, later.forms[_TALK], do="preview")
    for words in ("Updated", "Deleted", "aisle seats", "1500 euros"):
        assert words in shown.text, words
    assert await _listed(client) == before


async def test_a_preview_may_look_at_another_scope_and_keeping_may_not(
    signed_in: SignedIn, client: httpx.AsyncClient, runner: Runner
) -> None:
    await create_memory(client, "I prefer window seats.", {"user_id": "42"})
    admin = await signed_in("admin")
    asked = {"talk": "Actually, I now prefer aisle seats.", "scope": "user_id=42"}
    assert "Updated" in (await _tried(admin, runner, do="preview", **asked)).text
    await _tried(admin, runner, do="keep", **asked)
    kept = {one["fact"]: one["scope"] for one in await _listed(client)}
    assert kept.pop("I prefer window seats.") == {"user_id": "42"}
    assert ["playground" in scope for scope in kept.values()] == [True]


@pytest.mark.parametrize(
    "talk",
    [
        "I like green tea,\nwith milk.\nAssistant: Noted.\nI said so.\nhuman : I live in Oslo.",
        json.dumps([{"role": "user", "content": "I like green tea."}]),
        json.dumps({"messages": [{"role": "assistant", "content": "I like rum."}]}),
        '{"events": [{"content": {"role": "user", "parts": [{"text": "I live in Oslo."}]}}]}',
    ],
)
async def test_talks_of_many_forms_are_read(signed_in: SignedIn, runner: Runner, talk: str) -> None:
    admin = await signed_in("admin")
    shown = await _tried(admin, runner, do="preview", talk=talk)
    planned = shown.text.partition("What would be remembered")[2].partition("Written by")[0]
    for fact in ("green tea", "I live in Oslo."):
        assert (fact in planned) == (fact in talk)
    assert "rum" not in planned
    assert "I said so" not in planned, "it continues the assistant's turn"


async def test_a_refused_form_says_why_and_keeps_what_was_typed(
    signed_in: SignedIn, client: httpx.AsyncClient
) -> None:
    admin = await signed_in("admin")
    form = (await page(admin, TRY)).forms[_TALK]
    event = '{"content": {"role": "user", "parts": [{"text": "x"}]}}'
    for fields, words in (
        ({"talk": '[{"role": '}, "Talk: this begins like JSON"),
        ({"talk": f'[{event}, {{"content": 7}}]'}, "Turn 2: "),
        ({"talk": "{}"}, "Turn 1: "),
        ({"talk": "User: x\n" * 2_001}, "Talk: "),
        ({"talk": "x", "scope": "a=1\nb=2\nc=3\nd=4\ne=5\nf=6"}, "scope"),
    ):
        answer = await admin.post(TRY, data={**form, "do": "preview", **fields})
        assert answer.status_code == 400, (fields, answer.text)
        assert words in Page(answer).text, words
        kept = Page(answer).forms[_TALK]
        assert {name: kept[name] for name in fields} == fields
    assert (await admin.post(TRY, data={**form, "do": "erase"})).status_code == 400
    assert (await admin.post(TRY, data={**form, "token": "x"})).status_code == 403
    assert await _listed(client, "operations") == []


async def test_no_model_gets_a_talk_before_its_tokens_are_shown(
    signed_in: SignedIn, client: httpx.AsyncClient, runner: Runner
) -> None:
    """A bound key may not know who writes, so a model may."""
    bound = await signed_in("user", scope_conditions={"user_id": ["42"]})
    form = (await page(bound, TRY)).forms[_TALK]
    typed = {**form, "talk": "User: " + "I like tea. " * 100, "do": "keep"}
    looked = Page(await bound.post(TRY, data=typed))
    assert "about 302 tokens of this talk" in looked.text
    assert "look at the estimate" in looked.text
    assert await _listed(client, "operations") == []
    await _sent(bound, runner, looked.forms[_TALK], do="keep")
    assert [one["fact"] for one in await _listed(client)] == ["I like tea."]


async def test_a_slow_generation_is_asked_for_again_and_runs_once(
    signed_in: SignedIn, client: httpx.AsyncClient, runner: Runner
) -> None:
    admin = await signed_in("admin")
    form = (await page(admin, TRY)).forms[_TALK]
    waiting = await admin.post(TRY, data={**form, "talk": _TEA, "do": "keep"})
    assert 'hx-trigger="every 2s"' in waiting.text
    again = Page(waiting).forms[_TALK]
    assert again["requestId"] == form["requestId"]
    shown = await _sent(admin, runner, again, do="keep")
    assert "Created 2" in shown.text
    generated = [one for one in await _listed(client, "operations") if "generat" in str(one)]
    assert len(generated) == 1


async def test_who_may_not_generate_is_told_so_and_whose_scope_has_no_sessions_gets_no_prompt(
    signed_in: SignedIn, client: httpx.AsyncClient, runner: Runner
) -> None:
    viewer = await signed_in("viewer")
    assert TRY not in (await page(viewer, MEMORIES)).links
    assert "another role" in (await page(viewer, TRY, 403)).text
    team = await signed_in("user", scope_conditions={"team": ["x"]})
    shown = await _tried(team, runner, do="keep", talk=_TEA, question="Which tea?")
    assert "Hybrid" in shown.text
    assert "What the agent gets" not in shown.text
    assert await _listed(client, "sessions") == []
    writer = await signed_in(permissions=["memories.generate", "operations.get"])
    assert "Kept" in (await _tried(writer, runner, do="keep", talk="I like rum.")).text


async def test_the_preview_of_another_scope_is_not_found(
    signed_in: SignedIn, client: httpx.AsyncClient, runner: Runner
) -> None:
    event = {"content": {"role": "user", "parts": [{"text": "I like CANARY tea."}]}}
    source = {"directContentsSource": {"events": [event]}, "validateOnly": True}
    started = ok(await client.post("/memories:generate", json={"scope": {"a": "7"}, **source}))
    await runner.run_pending()
    url = f"{TRY}?operation={started['name'].rpartition('/')[2]}"
    bound = await signed_in("user", scope_conditions={"user_id": ["42"]})
    assert "CANARY" not in (await page(bound, url, 404)).text
    whole = await page(await signed_in("user"), url)
    assert "CANARY" in whole.text
    assert _TALK not in whole.forms


async def test_no_text_of_a_talk_is_in_the_audit(
    signed_in: SignedIn, client: httpx.AsyncClient, runner: Runner
) -> None:
    admin = await signed_in("admin")
    talk = "User: I like CANARY tea."
    await _tried(admin, runner, do="keep", talk=talk, question="CANARY tea?")
    events = ok(await client.get("auditEvents"))["auditEvents"]
    assert "generateMemories" in {event["method"] for event in events}
    assert "CANARY" not in json.dumps(events)
