"""Settings of an engine: fields, JSON, and two tabs."""

import json
from typing import Any

import httpx
import pytest

from tests.api.console.conftest import SignedIn
from tests.conftest import ADMIN_KEY
from tests.support.bank import ok
from tests.support.console import Page, page, sign_in, submit

SETTINGS = "/console/e/1/settings"
AS_JSON = f"{SETTINGS}/json"
TRY = "/console/e/1/try"
_TOPICS = "USER_PREFERENCES\r\nfood: what the user eats\r\nother"


@pytest.fixture
async def admin(visitor: httpx.AsyncClient) -> httpx.AsyncClient:
    """A browser of an administrator."""
    await sign_in(visitor, ADMIN_KEY)
    return visitor


async def _engine(client: httpx.AsyncClient) -> dict[str, Any]:
    found: dict[str, Any] = ok(await client.get(""))
    return found


async def test_the_common_settings_change_and_all_others_stay(
    admin: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    config: dict[str, Any] = {
        "generationConfig": {"generationTriggerConfig": {"generationRule": {"eventCount": 3}}},
        "customizationConfigs": [{"scopeKeys": ["app"], "enableThirdPersonMemories": True}],
    }
    ok(await client.patch("", json={"contextSpec": {"memoryBankConfig": config}}))
    form = (await page(admin, SETTINGS)).forms[SETTINGS]
    wanted = {
        **form,
        "displayName": "<b>mine</b>",
        "ranking": "vector",
        "ttl": "86400s",
        "topics": _TOPICS,
    }
    for _ in range(2):
        done = await admin.post(SETTINGS, data=wanted)
        assert (done.status_code, done.headers["location"]) == (303, SETTINGS)
    engine = await _engine(client)
    bank = engine["contextSpec"]["memoryBankConfig"]
    assert engine["displayName"] == "<b>mine</b>"
    assert bank["generationConfig"] == config["generationConfig"]
    assert bank["similaritySearchConfig"]["ranking"] == "vector"
    assert bank["ttlConfig"]["defaultTtl"] == "86400s"
    former, general = bank["customizationConfigs"]
    assert former == config["customizationConfigs"][0]
    own = [topic.get("customMemoryTopic") for topic in general["memoryTopics"]]
    assert own == [None, {"label": "food", "description": "what the user eats"}, {"label": "other"}]
    answer = await admin.get(SETTINGS)
    assert "<b>mine" not in answer.text
    assert Page(answer).forms[SETTINGS]["topics"] == _TOPICS.replace("\r", "")
    cleared = await submit(admin, SETTINGS, SETTINGS, ttl="", displayName="", topics="")
    assert cleared.status_code == 303
    engine = await _engine(client)
    assert "displayName" not in engine
    assert "86400s" not in json.dumps(engine)


async def test_the_title_at_the_side_is_kept_until_the_console_changes_it(
    admin: httpx.AsyncClient, client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    """Another session shows what it may see itself."""

    async def title_for(browser: httpx.AsyncClient) -> str:
        side = (await browser.get(SETTINGS)).text.partition('<small dir="auto">')[2]
        return side.partition("<")[0]

    assert await title_for(admin) == "Engine 1"
    ok(await client.patch("", json={"displayName": "by the API"}))
    assert await title_for(admin) == "Engine 1"
    assert await title_for(await signed_in("admin")) == "by the API"
    await submit(admin, SETTINGS, SETTINGS, displayName="by the console")
    assert await title_for(admin) == "by the console"


async def test_topics_that_nobody_touched_stay_as_they_are_written(
    admin: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    own = {"label": "food: and drink", "description": "two\n  lines"}
    topics = [{"customMemoryTopic": own}]
    config = {"customizationConfigs": [{"memoryTopics": topics}]}
    ok(await client.patch("", json={"contextSpec": {"memoryBankConfig": config}}))
    shown = (await page(admin, SETTINGS)).forms[SETTINGS]["topics"]
    assert (await submit(admin, SETTINGS, SETTINGS, topics=f"{shown}\nother")).status_code == 303
    bank = (await _engine(client))["contextSpec"]["memoryBankConfig"]
    (general,) = bank["customizationConfigs"]
    assert general["memoryTopics"] == [*topics, {"customMemoryTopic": {"label": "other"}}]


@pytest.mark.parametrize(
    "was",
    [
        '{"contextSpec": {"memoryBankConfig": {"customizationConfigs": 5}}}',
        '{"displayName": NaN, "contextSpec": {"memoryBankConfig": {"customizationConfigs": [5]}}}',
        "[" * 100_000,
    ],
)
async def test_what_no_form_held_is_refused(admin: httpx.AsyncClient, was: str) -> None:
    answer = await submit(admin, SETTINGS, SETTINGS, was=was, displayName="x")
    assert (answer.status_code, "was: is missing from the form" in answer.text) == (400, True)


async def test_what_the_api_says_of_a_setting_stands_beside_its_field(
    admin: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    before = await _engine(client)
    refused = await submit(admin, SETTINGS, SETTINGS, ttl="a day", displayName="kept")
    shown = Page(refused)
    assert refused.status_code == 400
    assert 'id="fault-ttl"' in refused.text
    fields = shown.forms[SETTINGS]
    assert (fields["ttl"], fields["displayName"]) == ("a day", "kept")
    for document, words in (
        ("{", "not a JSON object"),
        ("[]", "not a JSON object"),
        ('{"unknown": 1}', "is not a field"),
        ('{"contextSpec": {"memoryBankConfig": {"similaritySearchConfig": 1}}}', "similarity"),
    ):
        refused = await submit(admin, SETTINGS, AS_JSON, document=document)
        assert (refused.status_code, words in refused.text) == (400, True), document
    same = await submit(admin, SETTINGS, AS_JSON)
    assert (same.status_code, "Change a field" in same.text) == (400, True)
    assert await _engine(client) == before


async def test_a_field_is_checked_when_it_is_left(
    admin: httpx.AsyncClient, client: httpx.AsyncClient, signed_in: SignedIn
) -> None:
    before = await _engine(client)
    assert "10 M" in (await page(admin, SETTINGS)).text
    for url, field, wrong, right, words in (
        (f"{SETTINGS}/check/ttl", "ttl", "a <b>day", "86400s", "ttl"),
        (f"{SETTINGS}/check/ranking", "ranking", "best", "", "vector"),
        (f"{AS_JSON}/check", "document", "{", "{}", "not a JSON object"),
        (f"{AS_JSON}/check", "document", '{"unknown": 1}', "{}", "is not a field"),
    ):
        shown = await page(admin, SETTINGS)
        form = shown.forms[AS_JSON if field == "document" else SETTINGS]
        said = await admin.post(url, data={**form, field: wrong})
        assert f'id="fault-{field}"' in said.text
        assert (" hidden>" in said.text, words in said.text, "<b>" in said.text) == (
            *(False, True, False),
        ), (field, wrong, said.text)
        assert " hidden>" in (await admin.post(url, data={**form, field: right})).text
        assert (await admin.post(url, data={**form, "token": "x"})).status_code == 403
    assert await _engine(client) == before
    viewer = await signed_in("viewer")
    sent = {"requestId": "1", "etag": "1", "was": "{}", "ttl": "x"}
    token = (await page(viewer, SETTINGS)).forms["/console/sign-out"]["token"]
    denied = await viewer.post(f"{SETTINGS}/check/ttl", data={**sent, "token": token})
    assert denied.status_code == 403


async def test_two_tabs_see_both_versions_and_what_it_was(
    admin: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    ok(await client.patch("", json={"displayName": "at first"}))
    first, second = [(await page(admin, SETTINGS)).forms[SETTINGS] for _ in range(2)]
    assert (await admin.post(SETTINGS, data={**first, "displayName": "one"})).status_code == 303
    late = await admin.post(SETTINGS, data={**second, "displayName": "two"})
    shown = Page(late)
    assert late.status_code == 409
    for text in ("Yourstwo", "Theirsone", "Beforeat first"):
        assert text in shown.text, text
    assert (await _engine(client))["displayName"] == "one"
    settled = await admin.post(AS_JSON, data=shown.forms[AS_JSON])
    assert settled.status_code == 303, settled.text
    assert (await _engine(client))["displayName"] == "two"


async def test_who_may_not_change_settings_looks_at_them(
    signed_in: SignedIn, client: httpx.AsyncClient
) -> None:
    before = await _engine(client)
    for browser in (
        await signed_in("editor"),
        await signed_in("admin", scope_conditions={"user_id": ["42"]}),
    ):
        shown = await page(browser, SETTINGS)
        assert "not change them" in shown.text
        assert SETTINGS not in shown.forms
        form = (await page(browser, TRY)).forms[f"{TRY}#results"]
        sent = {**form, "etag": before["etag"], "was": "{}", "document": '{"displayName": "x"}'}
        assert (await browser.post(AS_JSON, data=sent)).status_code == 403
        for url in (SETTINGS, AS_JSON, TRY):
            assert (await browser.post(url, data={**sent, "token": "x"})).status_code == 403
    viewer = await signed_in("viewer")
    assert TRY not in (await page(viewer, SETTINGS)).links
    assert await _engine(client) == before
