"""Deeds: questions open as dialogs, notes offer the way back, a form outlives its session."""

from playwright.sync_api import expect

from tests.browser.conftest import SignIn, judge
from tests.browser.hands import Pointer
from tests.browser.service import Bank

_FOCUSED = "document.activeElement.className"


def test_a_question_opens_above_its_page_and_escape_closes_it(
    bank: Bank, open_page: SignIn
) -> None:
    memory = bank.remember("I like green tea.")
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/memories/{memory}")
    here = page.url
    link = page.get_by_role("link", name="Delete", exact=True)
    dialog = page.locator("dialog[open]")
    for name in ("Delete", "Erase for good"):
        page.get_by_role("link", name=name, exact=True).click()
        expect(dialog).to_be_visible()
        assert "danger" not in page.evaluate(_FOCUSED)
        assert judge(page) == []
        page.emulate_media(color_scheme="light")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
    link.click()
    dialog.get_by_role("link", name="Cancel").click()
    expect(dialog).to_have_count(0)
    expect(link).to_be_focused()
    assert page.url == here
    link.click()
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("main")).to_contain_text("This memory is deleted.")
    note = page.locator(".flash")
    expect(note).to_contain_text("Deleted: 1.")
    assert judge(page) == []
    page.emulate_media(color_scheme="light")
    note.get_by_role("button", name="Bring back").click()
    expect(note).to_contain_text("Brought back: 1.")
    note.get_by_role("button", name="Close").click()
    expect(note).to_have_count(0)
    expect(page.locator("p.fact")).to_have_text("I like green tea.")


def test_a_deletion_is_taken_back_by_the_note(bank: Bank, hand: Pointer) -> None:
    memory = bank.remember("I like green tea.")
    page = hand.page
    page.goto(f"/console/e/{bank.engine}/memories/{memory}")
    hand.press(page.get_by_role("link", name="Delete", exact=True), leaves=False)
    hand.press(page.get_by_role("button", name="Delete", exact=True))
    hand.press(page.locator(".flash").get_by_role("button", name="Bring back"))
    expect(page.locator(".flash")).to_contain_text("Brought back: 1.")
    page.reload()
    expect(page.locator(".flash")).to_have_count(0)
    expect(page.locator("p.fact")).to_have_text("I like green tea.")


def test_what_was_typed_is_there_after_the_sign_in(bank: Bank, hand: Pointer) -> None:
    memory = bank.remember("I like green tea.")
    page = hand.page
    page.goto(f"/console/e/{bank.engine}/memories/{memory}/edit")
    key = bank.make_key("editor")
    hand.write(page.get_by_label("Fact", exact=True), "I like coffee.")
    page.context.clear_cookies()
    hand.press(page.get_by_role("button", name="Save"))
    expect(page.get_by_role("main")).to_contain_text("Nothing has been sent")
    hand.write(page.get_by_label("API key or token"), key)
    hand.press(page.get_by_role("button", name="Sign in"))
    expect(page.get_by_role("main")).to_contain_text("Nothing has been sent yet")
    expect(page.get_by_label("Fact", exact=True)).to_have_value("I like coffee.")
    assert len(bank.revisions(memory)) == 1
    hand.press(page.get_by_role("button", name="Save"))
    expect(page.locator("p.fact")).to_have_text("I like coffee.")
    expect(page.locator(".flash")).to_contain_text("The memory is changed.")
