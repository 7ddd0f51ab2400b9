"""The page of a user: the way to the conversation, and an erasure in four clicks."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SignIn, judge
from tests.browser.hands import Pointer
from tests.browser.service import Bank

_USER = "user-0042"
_WIDE, _PHONE = 1440, 390


def test_four_clicks_erase_a_person(bank: Bank, hand: Pointer) -> None:
    for fact in ("I like tea.", "I like milk."):
        bank.remember(fact, {"user_id": _USER})
    other = bank.remember("I like rum.", {"user_id": "7"})
    page = hand.page
    page.goto(f"/console/e/{bank.engine}")
    hand.write(page.get_by_label("Find by id, user or words"), _USER)
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Timeline")).to_contain_text("I like tea.")
    hand.press(page.get_by_role("link", name="Erase this person"), leaves=False)
    expect(page.get_by_role("region", name="Rows", exact=True)).to_contain_text("memories 2")
    hand.write(page.get_by_label("To confirm"), f"user_id={_USER}")
    hand.press(page.get_by_role("button", name="Erase"))
    hand.await_text(page.locator("main"), "Certificate of the erasure")
    expect(page.get_by_role("region", name="Certificate")).to_contain_text("hmac-sha256:")
    assert _USER not in page.url
    left = bank.call("GET", "memories")["memories"]
    assert [memory["name"].rpartition("/")[2] for memory in left] == [other]


@pytest.mark.parametrize("width", [_WIDE, _PHONE])
def test_long_and_foreign_scopes_fit(bank: Bank, open_page: SignIn, width: int) -> None:
    scope = {"user_id": "عميل-٤٢"}
    bank.remember("word" * 200, {**scope, "tenant": "x" * 180})
    memory = bank.remember("word" * 200, scope)
    bank.change(memory, "يفضّل القهوة.")
    bank.call("DELETE", f"memories/{bank.remember('It is deleted.', scope)}")
    bank.call("POST", "sessions", {"userId": "عميل-٤٢"})
    page = open_page(viewport={"width": width, "height": 844})
    page.goto(f"/console/e/{bank.engine}/memories?scope=عميل-٤٢")
    page.get_by_role("link", name="user_id=عميل-٤٢").click()
    page.locator("main").get_by_role("link", name="عميل-٤٢").first.click()
    for url in (page.url, f"{page.url}/erase"):
        page.goto(url)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert judge(page) == []
