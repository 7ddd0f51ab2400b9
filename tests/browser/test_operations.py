"""Operations: undo a generation as its preview said; retry one that failed, once."""

from playwright.sync_api import expect

from tests.browser.hands import Pointer
from tests.browser.service import Bank, Service

_TEXT = "I like green tea."
_FACTS = {"facts": [{"fact": _TEXT, "quote": _TEXT, "line": 0, "topics": ["USER_PREFERENCES"]}]}
_VERDICT = {"fact": 0, "holds": True, "action": "add", "memory": "", "text": ""}
_ANSWERS = (_FACTS, {"verdicts": [_VERDICT]})
_SAID = {
    "scope": {"user_id": "42"},
    "directContentsSource": {"events": [{"content": {"role": "user", "parts": [{"text": _TEXT}]}}]},
}


def test_a_generation_is_undone_as_its_preview_said(
    bank: Bank, service: Service, hand: Pointer
) -> None:
    service.model_says(*_ANSWERS)
    operation = bank.generate(_SAID)
    assert "response" in operation, operation
    page = hand.page
    page.goto(f"/console/e/{bank.engine}/operations")
    hand.press(page.locator(f"a[href*='{operation['name'].rpartition('/')[2]}']").first)
    hand.press(page.get_by_role("link", name="Undo", exact=True))
    hand.press(page.get_by_role("button", name="Show what it would do"))
    preview = page.locator("#preview")
    hand.await_text(preview, "Changed back (1)")
    expect(preview).to_contain_text(_TEXT)
    hand.press(preview.get_by_role("button", name="Undo"))
    hand.await_text(page.get_by_role("main"), "Succeeded")
    page.goto(f"/console/e/{bank.engine}/memories")
    expect(page.locator(".empty")).to_be_visible()


def test_a_failed_generation_is_tried_again_and_remembers_once(
    bank: Bank, service: Service, hand: Pointer
) -> None:
    service.model_says(*[400] * 20)
    failed = bank.generate(_SAID)
    assert "error" in failed, failed
    service.model_says(*_ANSWERS)
    page = hand.page
    page.goto(f"/console/e/{bank.engine}/operations/{failed['name'].rpartition('/')[2]}")
    expect(page.get_by_role("main")).to_contain_text("Failed")
    hand.press(page.get_by_role("button", name="Run it again"))
    hand.await_text(page.get_by_role("main"), "Succeeded")
    expect(page.locator("#changed")).to_contain_text(_TEXT)
    page.goto(f"/console/e/{bank.engine}/memories")
    expect(page.locator("tr[data-row]")).to_have_count(1)
