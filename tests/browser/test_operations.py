"""Operations: undone as the preview said; failed ones retried, one or many; a list that renews."""

from playwright.sync_api import expect

from tests.browser.conftest import SignIn, judge
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


_ROWS = "tr[data-row]"


def test_210_failures_run_again_in_three_clicks(
    bank: Bank, service: Service, open_page: SignIn
) -> None:
    service.insert_failures(bank.engine, 210)
    page = open_page()
    page.goto(f"/console/e/{bank.engine}")
    page.locator("main a[href$='operations?state=FAILED']").click()
    expect(page.locator("#live")).to_contain_text("Run all 210 again")
    assert judge(page) == []
    page.emulate_media(color_scheme="light")
    page.get_by_role("link", name="Run all 210 again").click()
    expect(page.get_by_role("main")).to_contain_text("Operations that would run again: 210.")
    assert judge(page) == []
    page.get_by_role("button", name="Run all 210 again").click()
    expect(page.locator(".tally")).to_contain_text("run again 210", timeout=90_000)
    page.goto(f"/console/e/{bank.engine}/operations?state=FAILED")
    expect(page.locator(".empty")).to_be_visible(timeout=90_000)


def test_ticked_failures_run_again(bank: Bank, service: Service, hand: Pointer) -> None:
    service.insert_failures(bank.engine, 3)
    page = hand.page
    page.goto(f"/console/e/{bank.engine}/operations?state=FAILED")
    for box in page.locator("[name=operation]").all()[:2]:
        hand.tick(box)
    hand.press(page.get_by_role("button", name="Run these again"))
    hand.await_text(page.get_by_role("main"), "Succeeded")
    expect(page.locator(".tally")).to_contain_text("run again 2")


def test_a_failed_generation_is_tried_without_writing(
    bank: Bank, service: Service, hand: Pointer
) -> None:
    service.insert_failures(bank.engine, 1)
    page = hand.page
    page.goto(f"/console/e/{bank.engine}/operations?state=FAILED")
    hand.press(page.locator(f"{_ROWS} a").first)
    hand.press(page.get_by_role("button", name="Try again without writing"))
    hand.await_text(page.get_by_role("main"), "I like tea number 1")
    page.goto(f"/console/e/{bank.engine}/memories")
    expect(page.locator(".empty")).to_be_visible()


def test_new_operations_appear_unless_a_row_is_chosen(
    bank: Bank, service: Service, open_page: SignIn
) -> None:
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/operations")
    rows = page.locator(_ROWS)
    before = rows.count()
    bank.remember("I like green tea.")
    expect(rows).to_have_count(before + 1)
    service.insert_failures(bank.engine, 1)
    page.goto(f"/console/e/{bank.engine}/operations?state=FAILED")
    box = page.locator("[name=operation]")
    box.check()
    bank.call("DELETE", "operations/200000000000000001")
    page.wait_for_timeout(6_000)
    expect(box).to_be_checked()
    box.uncheck()
    expect(page.locator(".empty")).to_be_visible()
