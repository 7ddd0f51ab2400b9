"""Operations: undo a generation as its preview said; retry one that failed, once."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import SignIn
from tests.browser.service import Bank, Service

_SAID = {
    "scope": {"user_id": "42"},
    "directContentsSource": {
        "events": [{"content": {"role": "user", "parts": [{"text": "I like green tea."}]}}]
    },
}
_FACT = {"facts": [{"fact": "I like green tea.", "quote": "I like green tea.", "line": 0}]}


def test_a_generation_is_undone_as_its_preview_said(
    bank: Bank, service: Service, open_page: SignIn
) -> None:
    service.model_says(_FACT, _FACT)
    operation = bank.generate(_SAID)
    assert "response" in operation, operation
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/operations")
    page.locator(f"a[href*='{operation['name'].rpartition('/')[2]}']").first.click()
    page.get_by_role("link", name=re.compile("^undo", re.IGNORECASE)).first.click()
    expect(page.get_by_role("main")).to_contain_text("I like green tea.")
    page.get_by_role("button", name=re.compile("^undo", re.IGNORECASE)).click()
    page.goto(f"/console/e/{bank.engine}/memories")
    expect(page.locator(".empty")).to_be_visible()


def test_a_failed_generation_is_tried_again_and_remembers_once(
    bank: Bank, service: Service, open_page: SignIn
) -> None:
    service.model_says(*[400] * 20)
    failed = bank.generate(_SAID)
    assert "error" in failed, failed
    service.model_says(_FACT, _FACT)
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/operations/{failed['name'].rpartition('/')[2]}")
    expect(page.get_by_role("main")).to_contain_text("FAILED")
    page.get_by_role("button", name=re.compile("again|retry", re.IGNORECASE)).click()
    expect(page.get_by_role("main")).to_contain_text("SUCCEEDED")
    page.goto(f"/console/e/{bank.engine}/memories")
    expect(page.locator("tr[data-row]")).to_have_count(1)
