"""Keys: one is made, opens the console in another browser, and is revoked beside it."""

import re
import time

from playwright.sync_api import expect

from tests.browser.conftest import SignIn
from tests.browser.service import Bank

_SECONDS = 2
"""After the revocation, with the time that a busy machine takes for pages."""


def test_a_new_key_opens_the_console_until_it_is_revoked(bank: Bank, open_page: SignIn) -> None:
    bank.remember("I like green tea.")
    page = open_page()
    page.goto("/console/keys")
    page.get_by_role("link", name="New key").click()
    page.get_by_label("Display name").fill("a browser's new one")
    page.get_by_role("radio", name="viewer").check()
    everything = page.get_by_text("This key reaches every scope of all engines")
    endless = page.get_by_text("This key never ends")
    expect(everything).to_be_visible()
    expect(endless).to_be_hidden()
    page.get_by_label("never").check()
    expect(endless).to_be_visible()
    page.get_by_label("in 30 days").check()
    page.get_by_label("Value 1").fill("42")
    expect(everything).to_be_hidden()
    page.get_by_label("Value 1").fill("")
    page.locator("[name=engines]").first.check()
    expect(everything).to_be_hidden()
    page.locator("[name=engines]").first.uncheck()
    page.get_by_role("button", name="Create the key").click()
    secret = page.locator("#secret").inner_text()
    other = open_page(secret)
    other.goto(f"/console/e/{bank.engine}/memories")
    expect(other.get_by_role("link", name="I like green tea.")).to_be_visible()
    page.goto("/console/keys")
    row = page.locator("tr[data-row]", has_text="a browser's new one")
    row.get_by_role("link", name="Revoke").click()
    page.get_by_role("button", name="Revoke").click()
    expect(row).to_contain_text("Revoked")
    # Asked beside the page: a part of it that is refused would leave it in the middle of a reload.
    deadline = time.monotonic() + _SECONDS
    while other.request.get(other.url, max_redirects=0).ok:
        assert time.monotonic() < deadline
    other.reload()
    expect(other).to_have_url(re.compile("/console/sign-in"))
