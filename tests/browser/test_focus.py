"""Parts that htmx replaces: the focus stays with people, and a fault marks its field."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import SignIn, Watch
from tests.browser.service import Bank

_FILTERED = "document.querySelector('form.filter').requestSubmit()"


def _filter(page: Page, text: str) -> None:
    """Have the rows replaced while the focus is on one of them."""
    page.evaluate("(text) => { document.querySelector('#text').value = text; }", text)
    page.evaluate(_FILTERED)
    page.wait_for_url(re.compile(f"text={text}"))


def test_the_focus_stays_on_a_row_or_goes_to_what_took_its_place(
    bank: Bank, open_page: SignIn
) -> None:
    bank.remember("I like green tea.")
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/memories")
    link = page.get_by_role("link", name="I like green tea.")
    link.focus()
    _filter(page, "green")
    expect(link).to_be_focused()
    _filter(page, "nothing")
    expect(link).to_have_count(0)
    expect(page.locator("#results")).to_be_focused()
    page.keyboard.press("?")
    page.keyboard.press("Escape")
    expect(page.locator("#results")).to_be_focused()


def test_a_fault_that_arrives_marks_its_field(bank: Bank, open_page: SignIn, watch: Watch) -> None:
    watch.refused.append("after=soon")
    page = open_page()
    page.goto(f"/console/e/{bank.engine}/settings")
    field = page.locator("#ttl")
    for written, is_wrong in (("a day", True), ("86400s", False)):
        field.fill(written)
        page.keyboard.press("Tab")
        fault = page.locator("#fault-ttl")
        expect(fault).to_be_visible(visible=is_wrong)
        expect(page.locator("#ttl[aria-invalid=true]")).to_have_count(int(is_wrong))
        expect(field).to_have_attribute("aria-describedby", re.compile("fault-ttl"))
        expect(field).not_to_be_focused()
    page.goto(f"/console/e/{bank.engine}/revisions")
    label = page.locator("#label")
    page.evaluate("document.querySelector('#after').type = 'text'")
    page.evaluate("document.querySelector('#after').value = 'soon'")
    page.evaluate(_FILTERED)
    expect(page.locator("#fault")).to_be_visible()
    expect(label).to_have_attribute("aria-invalid", "true")
    expect(label).to_have_attribute("aria-describedby", "fault")
