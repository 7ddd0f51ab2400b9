"""The frame: a drawer and menus without scripts, a filter that Escape closes, ids that copy."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SignIn, judge
from tests.browser.service import Bank

_PHONE = {"width": 390, "height": 844}


@pytest.mark.parametrize("scripted", [True, False], ids=["scripts", "no scripts"])
def test_on_a_phone_the_navigation_is_a_drawer(
    bank: Bank, open_page: SignIn, *, scripted: bool
) -> None:
    bank.remember("I like green tea.")
    page = open_page(viewport=_PHONE, java_script_enabled=scripted)
    page.goto(f"/console/e/{bank.engine}")
    expect(page.locator("#side")).to_be_hidden()
    page.get_by_role("button", name="Navigation").click()
    expect(page.locator("#side")).to_be_visible()
    if scripted:
        assert judge(page) == []
        page.keyboard.press("Escape")
        expect(page.locator("#side")).to_be_hidden()
        page.get_by_role("button", name="Navigation").click()
    link = page.locator("#side").get_by_role("link", name="Memories", exact=True)
    if scripted:
        # The name is the place's alone; how many it has describes it.
        expect(link).to_have_accessible_description("1")
    link.click()
    page.wait_for_url("**/memories")
    expect(page.locator("#side [aria-current=page]")).to_contain_text("Memories")
    page.get_by_role("button", name="Account").click()
    expect(page.get_by_role("button", name="Sign out", exact=True)).to_be_visible()


def test_open_parts_have_no_fault_and_escape_closes_the_filter(
    bank: Bank, open_page: SignIn
) -> None:
    bank.remember("I like green tea.")
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/memories")
    summary = page.locator(".filter summary")
    summary.click()
    expect(page.get_by_label("Topic")).to_be_visible()
    assert judge(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_label("Topic")).to_be_hidden()
    expect(summary).to_be_focused()
    page.get_by_role("button", name="Account").click()
    assert judge(page) == []
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert judge(page) == []


def test_a_short_id_is_copied_whole(bank: Bank, open_page: SignIn) -> None:
    memory = bank.remember("I like green tea.")
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"/console/e/{bank.engine}/memories/{memory}")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Memory …{memory[-6:]}")
    page.locator("dd .copy").first.click()
    expect(page.locator("#copied")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()").endswith(f"/memories/{memory}")
